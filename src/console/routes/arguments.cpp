#include "console/routes/arguments.hpp"

#include "core/json_depth.hpp"
#include "core/utf8.hpp"

#include <algorithm>
#include <charconv>

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

nlohmann::json parse(const Request& request) {
  if (request.body.empty()) return nlohmann::json::object();
  if (!is_json(request))
    throw Refused(415, "unsupported_media_type", "send the body with Content-Type: application/json");
  if (!core::is_utf8(request.body)) refuse("invalid_utf8", "the body is not UTF-8");
  if (core::json_depth(request.body) > core::max_json_depth)
    refuse("invalid_json", "the body is nested too deep");
  auto value = nlohmann::json::parse(request.body, nullptr, false);
  if (value.is_discarded()) refuse("invalid_json", "the body is not JSON");
  if (!value.is_object()) refuse("invalid_request", "the body must be a JSON object");
  return value;
}

}  // namespace

Arguments::Arguments(const Request& request, std::initializer_list<std::string_view> names)
    : object_(parse(request)) {
  for (const auto& [name, value] : object_.items())
    if (std::find(names.begin(), names.end(), name) == names.end())
      refuse("unknown_field", "the body has an unknown member: " + name);
}

const nlohmann::json* Arguments::find(std::string_view name) const {
  const auto found = object_.find(std::string(name));
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::string Arguments::text(std::string_view name) const {
  std::string result = text_or(name, "");
  if (result.empty()) refuse("invalid_request", std::string(name) + " is missing");
  return result;
}

std::string Arguments::text_or(std::string_view name, std::string_view otherwise) const {
  const nlohmann::json* const member = find(name);
  if (member == nullptr) return std::string(otherwise);
  if (!member->is_string()) refuse("invalid_request", std::string(name) + " must be a string");
  return member->get<std::string>();
}

std::string Arguments::reason_or(std::string_view otherwise) const {
  constexpr std::size_t most = 4096;
  std::string reason = text_or("reason", otherwise);
  if (std::max(reason.size(), otherwise.size()) > most)
    refuse("invalid_request", "reason must have at most 4096 bytes");
  return reason;
}

bool Arguments::flag_or(std::string_view name, bool otherwise) const {
  const nlohmann::json* const member = find(name);
  if (member == nullptr) return otherwise;
  if (!member->is_boolean()) refuse("invalid_request", std::string(name) + " must be true or false");
  return member->get<bool>();
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
