#include "llm/dialects/request_body.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {

void RequestBody::set(std::string_view name, std::string json) {
  const auto found = std::ranges::find(members_, name, &std::pair<std::string, std::string>::first);
  if (found != members_.end()) {
    found->second = std::move(json);
  } else {
    members_.emplace_back(name, std::move(json));
  }
}

void RequestBody::erase(std::string_view name) noexcept {
  std::erase_if(members_, [name](const auto& member) { return member.first == name; });
}

const std::string* RequestBody::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(members_, name, &std::pair<std::string, std::string>::first);
  return found == members_.end() ? nullptr : &found->second;
}

void RequestBody::set_text(std::string_view name, std::string_view text) {
  set(name, json_quoted(text));
}

void RequestBody::set(std::string_view name, const nlohmann::json& value) {
  set(name, json_text(value));
}

void RequestBody::merge(std::string_view patch) {
  using OrderedJson = nlohmann::ordered_json;
  if (patch.empty()) return;
  const OrderedJson changes = OrderedJson::parse(patch, nullptr, false);
  if (!changes.is_object()) return;
  for (const auto& [name, change] : changes.items()) {
    const auto found = std::ranges::find(members_, name, &std::pair<std::string, std::string>::first);
    if (change.is_null()) {
      if (found != members_.end()) members_.erase(found);
      continue;
    }
    OrderedJson value =
        found == members_.end() ? OrderedJson() : OrderedJson::parse(found->second, nullptr, false);
    value.merge_patch(change);
    set(name, value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
  }
}

std::string RequestBody::text() const {
  std::string text = "{";
  for (const auto& [name, json] : members_) {
    if (text.size() > 1) text += ',';
    text += json_quoted(name);
    text += ':';
    text += json;
  }
  return text + "}";
}

std::string json_quoted(std::string_view text) {
  return json_text(nlohmann::json(text));
}

std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool has_members(std::string_view json) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto brace = json.find_first_not_of(blanks);
  if (brace == std::string_view::npos || json[brace] != '{') return false;
  const auto first = json.find_first_not_of(blanks, brace + 1);
  return first != std::string_view::npos && json[first] != '}' && nlohmann::json::accept(json);
}

bool takes_parameters(std::string_view schema) {
  if (!has_members(schema)) return false;
  const nlohmann::json json = nlohmann::json::parse(schema, nullptr, false);
  if (json.value("type", nlohmann::json()) != "object") return true;
  const auto properties = json.find("properties");
  return properties != json.end() && !properties->empty();
}

std::string parameters_text(std::string_view schema) {
  return has_members(schema) ? std::string(schema) : R"({"type":"object","properties":{}})";
}

std::string answer_schema_text(std::string_view schema) {
  return nlohmann::json::accept(schema) ? std::string(schema) : json_quoted(schema);
}

}  // namespace agentcore::detail::llm
