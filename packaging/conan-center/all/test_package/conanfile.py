"""Builds and runs a consumer of each component that the package was built with."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class AgentcoreTestConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "VirtualRunEnv"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def _components(self):
        options = self.dependencies["agentcore"].options
        return ["core", "testing"] + [name for name in ("http", "store", "receipts", "console") if options.get_safe(f"with_{name}")]

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["COMPONENTS"] = ";".join(self._components())
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if not can_run(self):
            return
        for name in self._components():
            folder = os.path.join(self.build_folder, f"stored-{name}")  # these consumers want an empty one
            os.makedirs(folder, exist_ok=True)
            for file in os.listdir(folder):
                os.remove(os.path.join(folder, file))
            argument = f' "{folder}"' if name in ("store", "receipts") else ""
            self.run(f'"{os.path.join(self.cpp.build.bindir, f"consumer_{name}")}"{argument}', env="conanrun")
