// The functions that the public headers document for the loop thread, for tests whose table must name each of
// them.
#pragma once

#include "support/wire/golden.hpp"

#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace agentcore::test {

// The names of the functions that a header says to be of the loop thread. A tag of a class is one of its
// functions, but for those that have a tag of their own, or override one that has.
inline std::set<std::string> loop_thread_functions_in(const std::string& header) {
  std::istringstream lines(read_golden("../../include/agentcore/" + header));
  std::set<std::string> found;
  bool tagged = false, hidden = false, of_class = false, has_other_tag = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("class", 0) == 0) {
      of_class = tagged;
      tagged = hidden = false;
    }
    if (line == "};") of_class = false;
    if (line == " private:" || line == "private:") hidden = true;
    const bool is_comment = std::regex_search(line, std::regex(R"(^\s*///?)"));
    if (is_comment) {
      tagged = tagged || line.find("@loop_thread") != line.npos;
      has_other_tag = has_other_tag || line.find("@threadsafe") != line.npos;
      continue;
    }
    std::smatch name;
    const bool has_name = std::regex_search(line, name, std::regex(R"((?:^|[ *&])([a-z_]*[a-z])\()"));
    const bool is_field = line.find("std::function<") != line.npos && line.find(" = {};") != line.npos;
    const bool is_of_loop = tagged || (of_class && !has_other_tag && line.find(" override") == line.npos &&
                                       line.rfind("  ", 0) == 0 && line[2] != ' ');
    if (is_of_loop && !hidden && !is_field && has_name && line.find('~') == line.npos) found.insert(name[1]);
    if (has_name || line.find_first_not_of(' ') == line.npos) tagged = has_other_tag = false;
  }
  return found;
}

}  // namespace agentcore::test
