#include "tools/text_protocol.hpp"

#include "core/fence.hpp"
#include "core/json_depth.hpp"
#include "tools/arguments.hpp"
#include "tools/block_filter.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::detail::tools {
namespace {

using nlohmann::json;

// {"calls":[{"params":...}]}
constexpr std::size_t levels_around_params = 3;

// For ASCII only, independent of the host's locale.
bool same_name(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// The member of exactly that name if there is one, else of that name in any case; or null.
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

// The form {"name":...,"arguments":{...}}.
bool is_function_call(const json& value) {
  return value.is_object() && member(value, "name") && !member(value, "action_id");
}

std::string set_params(const json& value, ActionCall& call) {
  call.params = value.dump();
  if (core::json_depth(call.params) <= max_json_depth) return {};
  return "has params nested deeper than " + std::to_string(max_json_depth) + " levels";
}

// Fills `call`. Returns why `value` is not a call, or "". So does read_call().
std::string read_function_call(const json& value, ActionCall& call) {
  call.action_id = id_of(value, "name");
  if (call.action_id.empty()) return "has no name, or a blank one";
  call.window_id = id_of(value, "window_id");
  if (call.window_id.empty()) call.window_id = plain_tools_id;
  const json* arguments = nullptr;
  for (const char* const name : {"arguments", "parameters", "params"})
    if (!arguments) arguments = member(value, name);
  if (!arguments || arguments->is_null()) return {};
  if (arguments->is_object()) return set_params(*arguments, call);
  json object;
  const std::string why = arguments->is_string()
                              ? parse_arguments(arguments->get_ref<const std::string&>(), object)
                              : "the arguments are not a JSON object";
  return why.empty() ? set_params(object, call) : "cannot be made: " + why;
}

std::string read_call(const json& value, ActionCall& call) {
  if (!value.is_object()) return "is not an object";
  if (is_function_call(value)) return read_function_call(value, call);
  call.window_id = id_of(value, "window_id");
  if (call.window_id.empty()) return "has no window_id, or a blank one";
  call.action_id = id_of(value, "action_id");
  if (call.action_id.empty()) return "has no action_id, or a blank one";
  const json* const params = member(value, "params");
  if (!params) return {};
  if (params->is_object()) return set_params(*params, call);
  json object;
  if (params->is_string() && parse_arguments(params->get_ref<const std::string&>(), object).empty())
    return set_params(object, call);
  call.has_odd_params = !params->is_null();
  return {};
}

// Adds the calls of one block. Returns why the block cannot be read, or "".
std::string read_block(const json& block, int turn, std::vector<ActionCall>& all) {
  if (!block.is_structured()) return "it holds no JSON object";
  json single;
  const json* calls = block.is_array() ? &block : member(block, "calls");
  if (!calls) {
    single = json::array({block});
    calls = &single;
  }
  if (!calls->is_array()) return "`calls` is not an array";
  if (calls->empty()) return "`calls` is empty";
  if (all.size() + calls->size() > max_calls_per_answer)
    return "the answer has more than " + std::to_string(max_calls_per_answer) + " calls";
  for (const json& value : *calls) {
    ActionCall& call = all.emplace_back();
    const std::string number = std::to_string(all.size());
    const std::string why = read_call(value, call);
    if (!why.empty()) return std::string("call ").append(number).append(" ").append(why);
    call.id = "call_" + std::to_string(turn) + "_" + number;
  }
  return {};
}

// Models that write function calls may write a block for each call.
bool is_of_function_calls(const json& block) {
  return is_function_call(block) || (block.is_array() && !block.empty() && is_function_call(block.front()));
}

// Reads the block whose content begins at the front of `rest`, and removes that block from `rest`. Clears
// `more` unless the blocks behind this one are to be read, too. Returns why the block cannot be read, or "".
std::string read_next(std::string_view& rest, int turn, std::vector<ActionCall>& all, bool& more) {
  BlockEnd scan;
  const std::size_t end = scan.feed(rest);
  if (end == BlockEnd::not_yet)
    return scan.in_string() && rest.find(block_end) != rest.npos ? "a string in it has no end"
                                                                 : "it has no end";
  const std::string_view text = core::without_fence(rest.substr(0, end - block_end.size()));
  rest.remove_prefix(end);
  if (core::json_depth(text) > max_json_depth + levels_around_params)
    return "it is nested deeper than " + std::to_string(max_json_depth) + " levels";
  const json block = json::parse(text, nullptr, false);
  if (block.is_discarded()) return "it is not valid JSON";
  more = more && is_of_function_calls(block);
  return read_block(block, turn, all);
}

}  // namespace

ParsedAnswer parse_tool_text(std::string_view answer, int turn) {
  std::vector<ActionCall> calls;
  bool more = true;
  for (auto begin = answer.find(block_begin); more && begin != answer.npos;
       begin = answer.find(block_begin)) {
    answer.remove_prefix(begin + block_begin.size());
    const std::string why = read_next(answer, turn, calls, more);
    if (!why.empty()) return {{}, "the tool_call block was not understood: " + why};
  }
  return {std::move(calls), {}};
}

std::string render_tool_text(const std::vector<ActionCall>& calls) {
  json list = json::array();
  for (const ActionCall& call : calls) {
    json& entry = list.emplace_back(json{{"window_id", call.window_id}, {"action_id", call.action_id}});
    if (call.has_odd_params) entry["params"] = false;
    if (call.params.empty()) continue;
    if (json params; parse_arguments(call.params, params).empty())
      entry["params"] = std::move(params);
    else
      entry["invalid_params"] = call.params;
  }
  std::string text = json{{"calls", std::move(list)}}.dump(-1, ' ', false, json::error_handler_t::replace);
  // A string in it may hold the text that ends the block: JSON allows an escaped slash.
  for (auto at = text.find(block_end); at != std::string::npos; at = text.find(block_end, at))
    text.insert(at + 1, 1, '\\');
  return std::string(block_begin).append(text).append(block_end);
}

std::string tool_text_instructions(bool has_launcher) {
  std::string text = R"(To act, end your answer with exactly one block of this form:
<tool_call>{"calls":[{"window_id":"...","action_id":"...","params":{...}}]}</tool_call>

- `calls` is always an array, also for a single call. The calls run in their order.
- `window_id` and `action_id` are required; `params` is an object, and may be left out if the action takes none.
- Do not write ids for the calls: they are given to you with the results.
- Do not say whether a call runs at once or in the background: that is the action's own.)";
  if (has_launcher) text.append("\n- ").append(tool_text_launcher);
  return text + "\n- Without such a block your answer is final.";
}

std::string tool_text_correction(std::string_view parse_error) {
  return "Your last answer was not accepted: " + std::string(parse_error) +
         R"(. No call was made. Answer again: with one block of this form at the end,
<tool_call>{"calls":[{"window_id":"...","action_id":"...","params":{...}}]}</tool_call>
or in words alone, without `<tool_call>`.)";
}

}  // namespace agentcore::detail::tools
