// StoreFolder: a folder for the files of a test, removed at its end.
#pragma once

#include "support/catch.hpp"

#include <filesystem>
#include <string>
#include <system_error>

#include <stdlib.h>

namespace agentcore::test {

class StoreFolder {
 public:
  StoreFolder() {
    path_ = (std::filesystem::temp_directory_path() / "agentcore-store-XXXXXX").string();
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
  std::string path_;
};

}  // namespace agentcore::test
