// Whether each field of a record is written and read: each has, alone, a value that is not its default.
#pragma once

#include "support/catch.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace agentcore::test {

template <typename Record>
struct Field {
  std::string name;  // of the member
  std::function<void(Record&)> set;
};

// Each field is in the text, none as another one, and reading the text and writing it again changes nothing.
// `count`: of the members that a record keeps.
template <typename Record, typename Write, typename Read>
void check_fields(const Record& usual, std::size_t count, const std::vector<Field<Record>>& fields,
                  const Write& write, const Read& read) {
  std::map<std::string, std::string> texts{{write(usual), "none"}};
  std::set<std::string> names;
  for (const Field<Record>& field : fields) {
    CAPTURE(field.name);
    names.insert(field.name);
    Record record = usual;
    field.set(record);
    const std::string text = write(record);
    CAPTURE(text);
    const auto [same, is_new] = texts.emplace(text, field.name);
    CAPTURE(same->second);
    CHECK(is_new);
    CHECK(write(read(text)) == text);
  }
  CHECK(names.size() == count);
}

// The number of members. A member that is added to a record does not fit into a list of names, so it cannot
// be forgotten here.
template <typename... Members>
constexpr std::size_t count_of(const Members&...) {
  return sizeof...(Members);
}

}  // namespace agentcore::test
