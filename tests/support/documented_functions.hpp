// The functions that the public headers document for the loop thread, for tests whose table must name each of
// them.
#pragma once

#include "support/wire/golden.hpp"

#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace agentcore::test {

// The names of the functions that a header says to be of the loop thread.
inline std::set<std::string> loop_thread_functions_in(const std::string& header) {
  std::istringstream lines(read_golden("../../include/agentcore/" + header));
  std::set<std::string> found;
  bool tagged = false, hidden = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("class", 0) == 0) tagged = hidden = false;
    if (line == " private:" || line == "private:") hidden = true;
    const bool is_comment = std::regex_search(line, std::regex(R"(^\s*///?)"));
    if (is_comment) {
      tagged = tagged || line.find("@loop_thread") != line.npos;
      continue;
    }
    std::smatch name;
    const bool has_name = std::regex_search(line, name, std::regex(R"(\b([a-z_]*[a-z])\()"));
    const bool is_field = line.find("std::function<") != line.npos && line.find(" = {};") != line.npos;
    if (tagged && !hidden && !is_field && has_name && line.find('~') == line.npos) found.insert(name[1]);
    if (has_name || line.find_first_not_of(' ') == line.npos) tagged = false;
  }
  return found;
}

}  // namespace agentcore::test
