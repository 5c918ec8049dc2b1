#include "tools/text_protocol.hpp"

#include "core/json_depth.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace agentcore::tools {
namespace {

using nlohmann::json;

constexpr std::string_view opening = "<tool_call>";
constexpr std::string_view closing = "</tool_call>";

// In ASCII, whatever locale the host has set.
bool same_name(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// The member of that name, spelled just so if there is one, else in any case; or null.
const json* member(const json& object, const std::string& name) {
  const auto exact = object.find(name);
  if (exact != object.end()) return &*exact;
  for (const auto& [key, value] : object.items())
    if (same_name(key, name)) return &value;
  return nullptr;
}

// The id under that name, without the blanks around it; empty if there is none.
std::string id_of(const json& call, const std::string& name) {
  const json* const value = member(call, name);
  if (!value || !value->is_string()) return {};
  const auto& text = value->get_ref<const std::string&>();
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Why `value` is no call, or nothing; then `call` is filled.
std::string read_call(const json& value, ActionCall& call) {
  if (!value.is_object()) return "is not an object";
  call.window_id = id_of(value, "window_id");
  if (call.window_id.empty()) return "has no window_id, or a blank one";
  call.action_id = id_of(value, "action_id");
  if (call.action_id.empty()) return "has no action_id, or a blank one";
  if (const json* const params = member(value, "params"); params && params->is_object())
    call.params = params->dump();
  return {};
}

ParsedAnswer refused(std::string why) {
  return {{}, "the tool_call block was not understood: " + std::move(why)};
}

ParsedAnswer read_block(const json& block, int turn) {
  if (!block.is_object()) return refused("it holds no JSON object");
  json single;
  const json* calls = member(block, "calls");
  if (!calls) {
    single = json::array({block});
    calls = &single;
  }
  if (!calls->is_array()) return refused("`calls` is not an array");
  if (calls->empty()) return refused("`calls` is empty");
  if (calls->size() > max_calls_per_answer)
    return refused("`calls` has more than " + std::to_string(max_calls_per_answer) + " entries");
  ParsedAnswer parsed;
  for (const json& value : *calls) {
    ActionCall& call = parsed.calls.emplace_back();
    const std::string number = std::to_string(parsed.calls.size());
    const std::string why = read_call(value, call);
    if (!why.empty()) return refused(std::string("call ").append(number).append(" ").append(why));
    call.id = "call_" + std::to_string(turn) + "_" + number;
  }
  return parsed;
}

}  // namespace

ParsedAnswer parse_tool_text(std::string_view answer, int turn) {
  const auto begin = answer.find(opening);
  if (begin == std::string_view::npos) return {};
  std::string_view text = answer.substr(begin + opening.size());
  const auto end = text.find(closing);
  if (end == std::string_view::npos) return refused("it has no end");
  text = text.substr(0, end);
  if (core::json_depth(text) > max_json_depth)
    return refused("it is nested deeper than " + std::to_string(max_json_depth) + " levels");
  const json block = json::parse(text, nullptr, false);
  return block.is_discarded() ? refused("it is not valid JSON") : read_block(block, turn);
}

std::string render_tool_text(const std::vector<ActionCall>& calls) {
  json list = json::array();
  for (const ActionCall& call : calls) {
    json& entry = list.emplace_back(json{{"window_id", call.window_id}, {"action_id", call.action_id}});
    if (!call.params.empty()) entry["params"] = json::parse(call.params, nullptr, false);
  }
  std::string text = json{{"calls", std::move(list)}}.dump(-1, ' ', false, json::error_handler_t::replace);
  // A string in it may hold the words that end the block: JSON lets a slash be escaped.
  for (auto at = text.find(closing); at != std::string::npos; at = text.find(closing, at))
    text.insert(at + 1, 1, '\\');
  return std::string(opening).append(text).append(closing);
}

std::string_view tool_text_instructions() noexcept {
  return R"(To act, end your answer with exactly one block of this form:
<tool_call>{"calls":[{"window_id":"...","action_id":"...","params":{...}}]}</tool_call>

- `calls` is always an array, also for a single call. The calls run in their order.
- `window_id` and `action_id` are required; `params` is an object, and may be left out if the action takes none.
- Do not write ids for the calls: they are given to you with the results.
- Do not say whether a call runs at once or in the background: that is the action's own.
- The window `launcher` is always there. To open an application, call an action of the launcher.
- Without such a block your answer is final.)";
}

}  // namespace agentcore::tools
