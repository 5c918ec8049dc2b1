// Settings of agentcore-console top.
#pragma once

#include <string>

namespace console_app::top {

struct Settings {
  std::string url = "http://127.0.0.1:8700";
  std::string token_file = {};  // empty: no token
};

}  // namespace console_app::top
