#include "persist/parsed_record.hpp"

#include "core/json_depth.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::detail::persist {
namespace {

// Leaves no value with members. Texts are nested at most max_json_depth levels.
void take_apart(json& value) noexcept {
  if (!value.is_structured()) return;
  for (json& member : value) take_apart(member);
  value.clear();
}

// Builds a value in place, so that what was read before an error has an owner.
class Builder {
 public:
  explicit Builder(json& root) : next_(&root) { open_.reserve(core::max_json_depth); }

  bool null() { return add(json()); }
  bool boolean(bool value) { return add(json(value)); }
  bool number_integer(std::int64_t value) { return add(json(value)); }
  bool number_unsigned(std::uint64_t value) { return add(json(value)); }
  bool number_float(double value, const std::string&) { return add(json(value)); }
  bool string(std::string& value) { return add(json(std::move(value))); }
  bool binary(json::binary_t&) { return false; }  // never in a text
  bool start_object(std::size_t) { return open(json::object()); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool key(std::string& name) {
    next_ = &(*open_.back())[std::move(name)];
    take_apart(*next_);  // a member that is there twice
    return true;
  }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  template <typename Exception>
  bool parse_error(std::size_t, const std::string&, const Exception& error) {
    throw Exception(error);
  }

 private:
  // `value` has no members.
  json& place(json&& value) {
    if (open_.empty() || open_.back()->is_object()) return *next_ = std::move(value);
    open_.back()->push_back(std::move(value));
    return open_.back()->back();
  }
  bool add(json&& value) {
    place(std::move(value));
    return true;
  }
  bool open(json&& value) {
    open_.push_back(&place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<json*> open_;  // the containers around the next value
  json* next_;               // where it goes, unless it goes into an array
};

[[noreturn]] void refuse_text(const char* why) {
  throw json::other_error::create(501, why, static_cast<const json*>(nullptr));
}

}  // namespace

ParsedRecord::Root::~Root() {
  take_apart(value);
}

ParsedRecord::ParsedRecord(std::string_view text) {
  if (core::json_depth(text) > core::max_json_depth) refuse_text("the record is nested too deep");
  Builder builder(root_.value);
  json::sax_parse(text, &builder);
  if (!root_.value.is_object()) refuse_text("the record is not a JSON object");
}

}  // namespace agentcore::detail::persist
