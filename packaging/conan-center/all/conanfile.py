import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, rmdir

required_conan_version = ">=2.1"


class AgentcoreConan(ConanFile):
    name = "agentcore"
    description = "An embeddable C++20 SDK for LLM agents that stop when told to"
    license = "Apache-2.0"
    url = "https://github.com/conan-io/conan-center-index"
    homepage = "https://example.org/agentcore"
    topics = ("llm", "agents", "event-loop", "cancellation")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "with_http": [True, False],
        "with_store": [True, False],
        "with_receipts": [True, False],
        "with_console": [True, False],
        "with_re2": [True, False],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
        "with_http": True,
        "with_store": False,
        "with_receipts": False,
        "with_console": False,
        "with_re2": True,
    }
    implements = ["auto_shared_fpic"]
    generators = "CMakeDeps"

    def layout(self):
        cmake_layout(self, src_folder="src")

    def requirements(self):
        self.requires("nlohmann_json/[>=3.11 <4]", transitive_headers=True)
        self.requires("valijson/[>=1.0 <2]")
        if self.options.with_re2:
            self.requires("re2/[>=20220601]")
        if self.options.with_http:
            self.requires("libcurl/[>=7.88 <9]")
            self.requires("simdjson/[>=3.0 <4]")
            self.requires("fmt/[>=9.1 <13]")
        if self.options.with_store:
            self.requires("sqlite3/[>=3.38 <4]")
        if self.options.with_receipts:
            self.requires("openssl/[>=1.1.1 <4]")
        if self.options.with_console:
            self.requires("boost/[>=1.74 <2]", libs=False)  # its headers

    def validate(self):
        check_min_cppstd(self, 20)

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "AGENTCORE_BUILD_TESTS": False,
            "AGENTCORE_BUILD_APPS": False,
            "AGENTCORE_BUILD_EXAMPLES": False,
            "AGENTCORE_INSTALL_DOCS": False,
            "CMAKE_UNITY_BUILD": True,  # quick to build from nothing, as the preset release is
            "CMAKE_UNITY_BUILD_BATCH_SIZE": "16",
        })
        for option, what in {"http": "HTTP", "store": "SQLITE", "receipts": "RECEIPTS", "console": "CONSOLE", "re2": "RE2"}.items():
            toolchain.cache_variables[f"AGENTCORE_WITH_{what}"] = (
                "ON" if self.options.get_safe(f"with_{option}") else "OFF")
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))  # Conan makes them

    def package_info(self):
        # CMake uses the package's own files, which know the components. The rest is for other build systems.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.set_property("pkg_config_name", "agentcore")
        self._add_component("core", ["nlohmann_json::nlohmann_json", "valijson::valijson"])
        self.cpp_info.components["core"].builddirs = [os.path.join("lib", "cmake", "agentcore")]
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.components["core"].system_libs = ["pthread"]
        if self.options.with_re2:
            self.cpp_info.components["core"].requires.append("re2::re2")
        self._add_component("testing", ["core"])
        self.cpp_info.components["testing"].libs = []
        if self.options.with_http:
            self._add_component("http", ["core", "libcurl::libcurl", "simdjson::simdjson", "fmt::fmt"])
        if self.options.with_store:
            self._add_component("store", ["core", "sqlite3::sqlite3"])
        if self.options.with_receipts:
            self._add_component("receipts", ["core", "openssl::crypto"])
        if self.options.with_console:
            self._add_component("console", ["core", "boost::headers"])

    def _add_component(self, name, requires):
        component = self.cpp_info.components[name]
        component.set_property("pkg_config_name", f"agentcore-{name}")
        component.libs = [f"agentcore_{name}"]
        component.requires = requires
