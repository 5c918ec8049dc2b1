#include "testing/request_check.hpp"

#include "core/blank.hpp"

#include <algorithm>

namespace agentcore::detail::testing {
namespace {

constexpr std::string_view name_letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view name_digits = "0123456789";

bool is_one_of(char letter, std::string_view list) noexcept {
  return list.find(letter) != std::string_view::npos;
}

bool is_letter_or_digit(char letter) noexcept {
  return is_one_of(letter, name_letters) || is_one_of(letter, name_digits);
}

bool is_tool_name(std::string_view name, const RequestRules& rules) {
  const auto fits = [](char letter) { return is_letter_or_digit(letter) || is_one_of(letter, "_-"); };
  if (name.size() < rules.shortest_name || name.size() > rules.longest_name) return false;
  if (rules.name_begins_with_letter && !is_one_of(name.front(), name_letters) && name.front() != '_')
    return false;
  return std::ranges::all_of(name, fits);
}

bool is_call_id(std::string_view id, const RequestRules& rules) {
  // Anthropic: ^[a-zA-Z0-9_-]+$
  const auto fits = [&rules](char letter) {
    return is_letter_or_digit(letter) || (rules.exact_id == 0 && is_one_of(letter, "_-"));
  };
  if (id.empty()) return false;
  if (rules.exact_id != 0) return id.size() == rules.exact_id && std::ranges::all_of(id, fits);
  if (rules.longest_id != 0 && id.size() > rules.longest_id) return false;
  return rules.form != RequestForm::messages || std::ranges::all_of(id, fits);
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t shown = 80;
  return Json(text.substr(0, shown)).dump(-1, ' ', false, Json::error_handler_t::replace) +
         (text.size() > shown ? "..." : "");
}

bool is_in(std::string_view word, std::string_view list) {
  while (!list.empty()) {
    const auto end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// `type` is a word or a list of words.
bool has_type(const Json& schema, const char* wanted) {
  const Json* const type = member(schema, "type");
  if (type == nullptr) return false;
  return *type == wanted || (type->is_array() && std::ranges::find(*type, wanted) != type->end());
}

void check_number(RequestCheck& check, const Json& body, std::string_view name, double most) {
  const Json* const value = member(body, name);
  if (value != nullptr && (!value->is_number() || value->get<double>() < 0 || value->get<double>() > most))
    check.add(name, "is no number from 0 to " + std::to_string(static_cast<int>(most)));
}

}  // namespace

std::string entry_of(std::string_view list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

const Json* member(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const Json& list_of(const Json& object, std::string_view name) {
  static const Json none = Json::array();
  const Json* const value = member(object, name);
  return value != nullptr && value->is_array() ? *value : none;
}

std::string text_of(const Json& object, std::string_view name) {
  const Json* const value = member(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

void RequestCheck::add(std::string_view place, std::string_view what) {
  problems_.push_back(std::string(place) + ": " + std::string(what));
}

bool RequestCheck::text(const std::string& place, const Json* value, bool may_be_blank) {
  if (value == nullptr || !value->is_string()) {
    add(place, "is no text");
    return false;
  }
  if (may_be_blank || !core::is_blank(value->get_ref<const std::string&>())) return true;
  add(place, "is an empty text");
  return false;
}

void RequestCheck::tool_name(const std::string& place, const Json* name) {
  if (name == nullptr || !name->is_string()) return add(place, "is no text");
  const auto& text = name->get_ref<const std::string&>();
  if (is_tool_name(text, rules_)) return;
  add(place, excerpt(text) + " is no name of a tool: letters, digits, '_' and '-', " +
                 std::to_string(rules_.shortest_name) + " to " + std::to_string(rules_.longest_name) +
                 (rules_.name_begins_with_letter ? ", the first a letter or '_'" : ""));
}

void RequestCheck::arguments(const std::string& place, const Json* text) {
  if (text == nullptr || !text->is_string()) return add(place, "is no text");
  const auto& json = text->get_ref<const std::string&>();
  if (!Json::parse(json, nullptr, false).is_object())
    add(place, excerpt(json) + " is not the text of a JSON object");
}

void RequestCheck::members(const std::string& place, const Json& object, std::string_view known) {
  for (const auto& [name, value] : object.items())
    if (!is_in(name, known))
      add(std::string(place).append(1, '.').append(name), "the provider does not know this member");
}

void RequestCheck::schema(const std::string& place, const Json* schema) {
  if (schema == nullptr || !schema->is_object()) return add(place, "is no object");
  if (text_of(*schema, "type") != "object") return add(place + ".type", "is not \"object\"");
  const Json* const properties = member(*schema, "properties");
  if (properties != nullptr && properties->is_object() && properties->empty() && !rules_.empty_schema)
    return add(place + ".properties", "must not be empty; leave the schema out");
  value_schema(place, *schema);
}

// The schema of a value, and those in it. The depth of the body is limited.
void RequestCheck::value_schema(const std::string& place, const Json& schema) {
  if (!schema.is_object()) return;
  const Json* const properties = member(schema, "properties");
  const bool has_properties = properties != nullptr && properties->is_object();
  const Json* const items = member(schema, "items");
  if (has_type(schema, "object") && !has_properties)
    add(place + ".properties", "an object schema without properties");
  if (has_type(schema, "array") && items == nullptr) add(place + ".items", "an array schema without items");
  if (rules_.known_required) {
    if (has_properties && !has_type(schema, "object"))
      add(place + ".properties", "is only allowed with the type \"object\"");
    for (const Json& name : list_of(schema, "required"))
      if (!has_properties || !name.is_string() || !properties->contains(name.get_ref<const std::string&>()))
        add(place + ".required", "names what is no property");
  }
  for (const char* const name : {"properties", "patternProperties", "$defs", "definitions"})
    if (const Json* const inner = member(schema, name); inner != nullptr && inner->is_object())
      for (const auto& [key, value] : inner->items())
        value_schema(std::string(place).append(1, '.').append(name).append(1, '.').append(key), value);
  for (const char* const name : {"items", "prefixItems", "allOf", "anyOf", "oneOf"}) {
    const Json& list = list_of(schema, name);
    for (std::size_t i = 0; i < list.size(); ++i)
      value_schema(entry_of(std::string(place).append(1, '.').append(name), i), list[i]);
  }
  for (const char* const name : {"items", "additionalProperties"})
    if (const Json* const inner = member(schema, name))
      value_schema(std::string(place).append(1, '.').append(name), *inner);
}

void RequestCheck::tool(const std::string& place, const Json& tool, std::string_view schema_member) {
  tool_name(place + ".name", member(tool, "name"));
  if (!names_.insert(text_of(tool, "name")).second) add(place + ".name", "another tool has this name");
  const Json* const parameters = member(tool, schema_member);
  if (parameters != nullptr || rules_.form == RequestForm::messages)
    schema(place + "." + std::string(schema_member), parameters);
  const Json* const description = member(tool, "description");
  if (description != nullptr) text(place + ".description", description);
}

void RequestCheck::tools(const Json& body, std::string_view chosen) {
  const Json* const tools = member(body, "tools");
  if (tools != nullptr && (!tools->is_array() || tools->empty())) add("tools", "is no list with entries");
  if (names_.size() > rules_.most_tools)
    add("tools", "has more than " + std::to_string(rules_.most_tools) + " entries");
  if (tools == nullptr && member(body, "tool_choice") != nullptr)
    add("tool_choice", "is only allowed with tools");
  if (tools == nullptr && member(body, "parallel_tool_calls") != nullptr)
    add("parallel_tool_calls", "is only allowed with tools");
  if (!chosen.empty() && !names_.contains(std::string(chosen)))
    add("tool_choice", excerpt(chosen) + " is the name of no tool");
}

void RequestCheck::common(const Json& body) {
  text("model", member(body, "model"));
  check_number(*this, body, "temperature", rules_.form == RequestForm::messages ? 1 : 2);
  check_number(*this, body, "top_p", 1);
  const Json* const stream = member(body, "stream");
  if (stream != nullptr && !stream->is_boolean()) add("stream", "is neither true nor false");
  if (const Json* const key = member(body, "prompt_cache_key")) {
    constexpr std::size_t longest_key = 64;
    if (!rules_.cache_key) add("prompt_cache_key", "the provider does not know this member");
    if (!key->is_string() || key->get_ref<const std::string&>().size() > longest_key)
      add("prompt_cache_key", "is no text of at most 64 bytes");
  }
}

void RequestCheck::call(const std::string& place, const Json* id) {
  if (id == nullptr || !id->is_string()) return add(place, "is no text");
  const auto& text = id->get_ref<const std::string&>();
  if (!is_call_id(text, rules_)) add(place, excerpt(text) + " is no id of a call in the provider's form");
  if (!ids_.insert(text).second) add(place, "another call has this id");
  open_.insert(text);
}

void RequestCheck::result(const std::string& place, const Json* id) {
  if (id == nullptr || !id->is_string()) return add(place, "is no text");
  if (open_.erase(id->get_ref<const std::string&>()) == 0)
    add(place, excerpt(id->get_ref<const std::string&>()) + " is the id of no call right before it");
}

void RequestCheck::all_answered(const std::string& place) {
  for (const std::string& id : open_) add(place, "comes before the result of the call " + excerpt(id));
  open_.clear();
}

}  // namespace agentcore::detail::testing
