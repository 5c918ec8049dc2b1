#include "console/routes/arguments.hpp"

#include "core/json_depth.hpp"
#include "core/utf8.hpp"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

namespace agentcore::detail::console {
namespace {

[[noreturn]] void refuse(std::string_view code, std::string message) {
  throw Refused(400, code, std::move(message));
}

// "application/json; charset=utf-8" is one, too.
bool is_json(const Request& request) {
  const std::string* const type = request.header("content-type");
  if (type == nullptr) return false;
  std::string name = type->substr(0, type->find(';'));
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return lower_case(name) == "application/json";
}

// Throws Refused.
void check_body(const Request& request) {
  if (!is_json(request))
    throw Refused(415, "unsupported_media_type", "send the body with Content-Type: application/json");
  if (!core::is_utf8(request.body)) refuse("invalid_utf8", "the body is not UTF-8");
  if (core::json_depth(request.body) > core::max_json_depth)
    refuse("invalid_json", "the body is nested too deep");
}

}  // namespace

// Keeps the members of the outermost object. The last of two with the same name counts.
struct Arguments::Reader final : nlohmann::json_sax<nlohmann::json> {
  explicit Reader(std::vector<Member>& the_members) : members(the_members) {}

  bool null() override { return take(Kind::null); }
  bool boolean(bool value) override { return take(Kind::flag, value); }
  bool number_integer(number_integer_t /*value*/) override { return take(Kind::other); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return take(Kind::other); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return take(Kind::other); }
  bool string(string_t& value) override { return take(Kind::text, false, &value); }
  bool binary(binary_t& /*value*/) override { return take(Kind::other); }
  bool start_object(std::size_t /*elements*/) override { return open(true); }
  bool key(string_t& name) override {
    if (depth == 1) last = std::move(name);
    return true;
  }
  bool end_object() override { return --depth, true; }
  bool start_array(std::size_t /*elements*/) override { return open(false); }
  bool end_array() override { return --depth, true; }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

  bool open(bool object) {
    if (depth == 0) is_object = object;
    take(Kind::other);
    ++depth;
    return true;
  }
  bool take(Kind kind, bool flag = false, std::string* text = nullptr) {
    if (depth != 1 || !is_object) return true;
    const auto known = std::find_if(members.begin(), members.end(),
                                    [this](const Member& member) { return member.name == last; });
    Member& member = known != members.end() ? *known : members.emplace_back();
    member = {last, kind, flag, text != nullptr ? std::move(*text) : std::string()};
    return true;
  }

  std::vector<Member>& members;
  std::string last;  // the name of the member that is read
  std::size_t depth = 0;
  bool is_object = false;
};

Arguments::Arguments(const Request& request, std::initializer_list<std::string_view> names) {
  if (request.body.empty()) return;
  check_body(request);
  Reader reader(members_);
  if (!nlohmann::json::sax_parse(request.body, &reader)) refuse("invalid_json", "the body is not JSON");
  if (!reader.is_object) refuse("invalid_request", "the body must be a JSON object");
  for (const Member& member : members_)
    if (std::find(names.begin(), names.end(), member.name) == names.end())
      refuse("unknown_field", "the body has an unknown member: " + member.name);
}

const Arguments::Member* Arguments::find(std::string_view name) const noexcept {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [name](const Member& member) { return member.name == name; });
  return found == members_.end() || found->kind == Kind::null ? nullptr : &*found;
}

std::string Arguments::text(std::string_view name) const {
  std::string result = text_or(name, "");
  if (result.empty()) refuse("invalid_request", std::string(name) + " is missing");
  return result;
}

std::string Arguments::text_or(std::string_view name, std::string_view otherwise) const {
  const Member* const member = find(name);
  if (member == nullptr) return std::string(otherwise);
  if (member->kind != Kind::text) refuse("invalid_request", std::string(name) + " must be a string");
  return member->text;
}

std::string Arguments::reason_or(std::string_view otherwise) const {
  constexpr std::size_t most = 4096;
  std::string reason = text_or("reason", otherwise);
  if (std::max(reason.size(), otherwise.size()) > most)
    refuse("invalid_request", "reason must have at most 4096 bytes");
  return reason;
}

bool Arguments::flag_or(std::string_view name, bool otherwise) const {
  const Member* const member = find(name);
  if (member == nullptr) return otherwise;
  if (member->kind != Kind::flag) refuse("invalid_request", std::string(name) + " must be true or false");
  return member->flag;
}

std::optional<std::uint64_t> number_in_query(const Request& request, std::string_view name,
                                             std::uint64_t smallest, std::uint64_t largest) {
  const std::string* const text = request.parameter(name);
  if (text == nullptr) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (failure != std::errc() || end != text->data() + text->size() || number < smallest || number > largest)
    refuse("invalid_request", std::string(name) + " must be a number from " + std::to_string(smallest) +
                                  " to " + std::to_string(largest));
  return number;
}

std::string_view text_in_query(const Request& request, std::string_view name) {
  const std::string* const text = request.parameter(name);
  if (text == nullptr) return {};
  if (!core::is_utf8(*text)) refuse("invalid_utf8", std::string(name) + " is not UTF-8");
  return *text;
}

bool query_is(const Request& request, std::string_view name, std::string_view value) {
  const std::string* const text = request.parameter(name);
  if (text == nullptr) return false;
  if (*text != value) refuse("invalid_request", std::string(name) + " must be " + std::string(value));
  return true;
}

}  // namespace agentcore::detail::console
