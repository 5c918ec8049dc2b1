// StoreFolder: a folder for the files of a test, removed at its end.
#pragma once

#include "support/catch.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include <stdlib.h>
#include <unistd.h>

namespace agentcore::test {

class StoreFolder {
 public:
  StoreFolder() {
    path_ = (parent() / "agentcore-store-XXXXXX").string();
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
  }
  ~StoreFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;

  std::string file(const std::string& name = "agents.db") const { return path_ + "/" + name; }

 private:
  // Memory where there is enough of it. What a store has synced survives the end of a process there, too, and
  // a disk that other programs use made a test of some seconds take minutes.
  static std::filesystem::path parent() {
    constexpr std::uintmax_t enough = 512U << 20U;
    const std::filesystem::path memory = "/dev/shm";
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(memory, error);
    const bool usable = !error && space.available >= enough && ::access(memory.c_str(), W_OK) == 0;
    return usable ? memory : std::filesystem::temp_directory_path();
  }

  std::string path_;
};

}  // namespace agentcore::test
