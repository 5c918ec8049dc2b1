"""A package that stands for one of Conan Center: it has the name, the targets and a version of that, and the
libraries and headers are those of the system. For scripts/check-conan, which has no registry of Conan's.

conan export-pkg tests/package/conan/stub --name libcurl --version 8.10.1
"""
from conan import ConanFile

# The files and targets that the recipes of Conan Center make, and what they stand for.
#   module   CMake has a module of this name, so both kinds of files are made
#   parts    components: name, target, library of the system
PACKAGES = {
    "nlohmann_json": {"file": "nlohmann_json", "target": "nlohmann_json::nlohmann_json"},
    "valijson": {"file": "ValiJSON", "target": "ValiJSON::valijson"},
    "fmt": {"file": "fmt", "parts": [("_fmt", "fmt::fmt", "fmt")]},
    "re2": {"file": "re2", "target": "re2::re2", "library": "re2"},
    "libcurl": {"file": "CURL", "module": True, "parts": [("curl", "CURL::libcurl", "curl")]},
    "simdjson": {"file": "simdjson", "target": "simdjson::simdjson", "library": "simdjson"},
    "sqlite3": {"file": "SQLite3", "module": True, "parts": [("sqlite", "SQLite::SQLite3", "sqlite3")]},
    "openssl": {"file": "OpenSSL", "module": True,
                "parts": [("crypto", "OpenSSL::Crypto", "crypto"), ("ssl", "OpenSSL::SSL", "ssl")]},
    "boost": {"file": "Boost", "module": True, "parts": [("headers", "Boost::headers", None)]},
}


class StubConan(ConanFile):
    package_type = "unknown"

    def package_info(self):
        package = PACKAGES[self.name]
        self.cpp_info.set_property("cmake_file_name", package["file"])
        if package.get("module"):
            self.cpp_info.set_property("cmake_find_mode", "both")
        if "parts" in package:
            for name, target, library in package["parts"]:
                self._fill(self.cpp_info.components[name], target, library)
        else:
            self._fill(self.cpp_info, package["target"], package.get("library"))

    def _fill(self, info, target, library):
        info.set_property("cmake_target_name", target)
        info.includedirs = []  # of the system: the compiler knows them
        info.libdirs = []
        info.bindirs = []
        info.system_libs = [library] if library else []
