#include "sim/text_calls.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t well_forms = 12, cut_forms = 2, garbage_forms = 10;

std::string block(const std::string& content) {
  return "<tool_call>" + content + "</tool_call>";
}

Json params_of(const ToolCall& call) {
  const Json params = Json::parse(call.arguments, nullptr, false);
  return params.is_object() ? params : Json(call.arguments);
}

Json action(const ToolCall& call) {
  return {{"window_id", "tools"}, {"action_id", call.name}, {"params", params_of(call)}};
}

Json function(const ToolCall& call, const char* arguments = "arguments") {
  return {{"name", call.name}, {arguments, params_of(call)}};
}

Json list(const std::vector<ToolCall>& calls, Json (*make)(const ToolCall&)) {
  Json all = Json::array();
  for (const ToolCall& call : calls) all.push_back(make(call));
  return all;
}

Json plain_function(const ToolCall& call) {
  return function(call);
}

// As models that were trained on function calls write them: the arguments are the text of an object.
Json function_with_text(const ToolCall& call) {
  return {{"name", call.name}, {"arguments", call.arguments}};
}

Json in_capitals(const ToolCall& call) {
  return {{"Window_ID", " tools\n"}, {"ACTION_ID", "  " + call.name}, {"Params", params_of(call)}};
}

// The model makes up an id, and a member that has the end of a block in it.
Json with_more(const ToolCall& call) {
  Json more = action(call);
  more["id"] = "call_1_1";
  more["note"] = "</tool_call>";
  return more;
}

std::string well_formed(std::uint32_t form, std::vector<ToolCall>& calls) {
  switch (form) {
    case 1:
      return "I look.\n" + block("\n```json\n" + Json{{"calls", list(calls, action)}}.dump(2) + "\n```\n") +
             '\n';
    case 2:
      calls.resize(1);
      return block(action(calls.front()).dump());
    case 3:
      return block(list(calls, action).dump());
    case 4: {
      std::string text;
      for (const ToolCall& call : calls) text += "then " + block(function(call).dump()) + '\n';
      return text;
    }
    case 5:
      return block(list(calls, plain_function).dump());
    case 6:
      return block(list(calls, function_with_text).dump());
    case 7:
      return block(Json{{"CALLS", list(calls, in_capitals)}}.dump());
    case 8: {
      std::string text;
      for (const ToolCall& call : calls) text += block(function(call, "parameters").dump());
      return text;
    }
    case 9:
      return block(Json{{"calls", list(calls, with_more)}}.dump());
    case 10:  // the first block counts
      return block(Json{{"calls", list(calls, action)}}.dump()) + block(R"({"calls":[]})") + "<tool_call>";
    case 11:  // what is nearly a block
      return "a < b, <tool_calls> <tool_cal l> <" + block(Json{{"calls", list(calls, action)}}.dump()) +
             " </tool_call>";
    default:
      return block(Json{{"calls", list(calls, action)}}.dump());
  }
}

std::string garbage(std::uint32_t kind, const std::vector<ToolCall>& calls) {
  const std::string one = action(calls.front()).dump();
  switch (kind) {
    case 0:
      return block(R"({"calls":[)");
    case 1:
      return block(R"({"calls":[]})");
    case 2:
      return block("7");
    case 3:
      return block("");
    case 4: {
      Json many = Json::array();
      for (int i = 0; i < 65; ++i) many.push_back(action(calls.front()));
      return block(Json{{"calls", many}}.dump());
    }
    case 5:
      return block(std::string(200, '[') + std::string(200, ']'));
    case 6:
      return block(R"({"calls":[)" + one + R"(,{"window_id":"tools"}]})");
    case 7:
      return block(R"({"name":"  ","arguments":{}})");
    case 8:
      return block(R"({"calls":")" + calls.front().name + R"("})");
    default:
      return "<tool_call>" + one + "</tool_cal>";
  }
}

}  // namespace

bool asks_for_blocks(std::string_view request) {
  return request.find("end your answer with exactly one block") != request.npos;
}

WrittenCalls write_calls(std::vector<ToolCall> calls, std::uint32_t form) {
  WrittenCalls written;
  const bool are_objects = std::ranges::all_of(
      calls, [](const ToolCall& call) { return Json::parse(call.arguments, nullptr, false).is_object(); });
  const std::uint32_t n = form % (well_forms + cut_forms + garbage_forms / 5);
  if (n >= well_forms + cut_forms) {
    written.text = garbage(form / 16 % garbage_forms, calls);
    return written;
  }
  written.text = well_formed(n < well_forms ? n : form / 16 % well_forms, calls);
  if (n >= well_forms) {  // anywhere: some of the blocks may be whole
    const std::size_t last = written.text.rfind("</tool_call>");
    const std::size_t begin = written.text.find("<tool_call>");
    const std::size_t first_end = written.text.find("</tool_call>", begin);
    written.text.resize(form / 16 % std::min(first_end, last));
    return written;
  }
  // A function call whose arguments are no object makes the block one that cannot be read.
  const bool is_function = n == 4 || n == 5 || n == 6 || n == 8;
  if (is_function && !are_objects) return written;
  written.has_known_params = are_objects;
  written.calls = std::move(calls);
  return written;
}

std::vector<std::string> pieces_of(const std::string& text, std::uint32_t how) {
  const std::size_t size = how == 0 ? std::max<std::size_t>(text.size(), 1) : 1 + how % 13;
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size(); at += size) pieces.push_back(text.substr(at, size));
  return pieces;
}

}  // namespace agentcore::sim
