#include "console/token_file.hpp"

#include <fstream>
#include <stdexcept>

namespace console_app {

std::string read_token(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (file) std::getline(file, line);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.empty()) throw std::runtime_error(path + ": has no token in its first line");
  return line;
}

}  // namespace console_app
