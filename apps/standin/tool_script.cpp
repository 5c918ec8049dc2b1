#include "tool_script.hpp"

#include "answer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace standin {
namespace {

constexpr std::size_t piece_bytes = 8;  // of text or arguments in one event
constexpr std::string_view say_command = "/say ";
constexpr std::string_view call_command = "/call ";
constexpr std::string_view then_command = "/then";

constexpr std::array<std::pair<std::string_view, CallStyle>, 5> style_names = {{
    {"pieces", CallStyle::pieces},
    {"interleaved", CallStyle::interleaved},
    {"whole", CallStyle::whole},
    {"no-index", CallStyle::no_index},
    {"object", CallStyle::object},
}};

bool is_in_pieces(CallStyle style) noexcept {
  return style == CallStyle::pieces || style == CallStyle::interleaved;
}

std::string id_of(std::uint64_t number, std::size_t call) {
  return fmt::format("call_{}_{}", number, call + 1);
}

std::string arguments_json(const ScriptedCall& call, CallStyle style) {
  if (style != CallStyle::object) return json_string(call.arguments);
  const auto parsed = nlohmann::json::parse(call.arguments, nullptr, false);
  return parsed.is_object() ? call.arguments : json_string(call.arguments);
}

// Without its index and its braces.
std::string whole_call(const ScriptedCall& call, CallStyle style, const std::string& id) {
  return fmt::format(R"("id":"{}","type":"function","function":{{"name":{},"arguments":{}}})", id,
                     json_string(call.name), arguments_json(call, style));
}

std::string delta_with(std::string_view call) {
  return fmt::format(R"({{"tool_calls":[{{{}}}]}})", call);
}

// Takes the next piece off the front of `rest`, never a part of a character.
std::string_view take_piece(std::string_view& rest) {
  std::size_t end = std::min(piece_bytes, rest.size());
  while (end < rest.size() && (static_cast<unsigned char>(rest[end]) & 0xc0) == 0x80) ++end;
  const std::string_view piece = rest.substr(0, end);
  rest.remove_prefix(end);
  return piece;
}

std::vector<std::string> deltas_in_pieces(const ScriptedCall& call, std::size_t index,
                                          const std::string& id) {
  std::vector<std::string> deltas = {delta_with(
      fmt::format(R"("index":{},"id":"{}","type":"function","function":{{"name":{},"arguments":""}})", index,
                  id, json_string(call.name)))};
  std::string_view rest = call.arguments;
  while (!rest.empty())
    deltas.push_back(delta_with(
        fmt::format(R"("index":{},"function":{{"arguments":{}}})", index, json_string(take_piece(rest)))));
  return deltas;
}

// The first of each list, then the second of each ...
std::vector<std::string> in_turn(std::vector<std::vector<std::string>> lists) {
  std::vector<std::string> all;
  std::size_t longest = 0;
  for (const auto& list : lists) longest = std::max(longest, list.size());
  for (std::size_t round = 0; round < longest; ++round)
    for (auto& list : lists)
      if (round < list.size()) all.push_back(std::move(list[round]));
  return all;
}

std::string whole_delta(const ScriptedCall& call, CallStyle style, std::size_t index, const std::string& id) {
  const std::string text = whole_call(call, style, id);
  if (style == CallStyle::no_index) return delta_with(text);
  return delta_with(fmt::format(R"("index":{},{})", style == CallStyle::object ? 0 : index, text));
}

// NAME ARGUMENTS
void add_call(std::vector<ScriptedCall>& calls, std::string_view line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  if (space == 0) return;
  calls.push_back(
      {std::string(line.substr(0, space)), std::string(line.substr(std::min(space + 1, line.size())))});
}

}  // namespace

std::optional<CallStyle> call_style_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(style_names, name, &std::pair<std::string_view, CallStyle>::first);
  return found != style_names.end() ? std::optional(found->second) : std::nullopt;
}

Script script_of(std::string_view message, std::size_t round) {
  Script script;
  for (std::size_t at = 0; !message.empty() && at <= round;) {
    std::string_view line = message.substr(0, message.find('\n'));
    message.remove_prefix(std::min(line.size() + 1, message.size()));
    if (line == then_command) ++at;
    if (at != round) continue;
    if (line.starts_with(call_command)) add_call(script.calls, line.substr(call_command.size()));
    if (!line.starts_with(say_command)) continue;
    if (!script.text.empty()) script.text += '\n';
    script.text += line.substr(say_command.size());
  }
  return script;
}

std::vector<std::string_view> text_pieces(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) pieces.push_back(take_piece(text));
  return pieces;
}

std::vector<std::string> text_deltas(std::string_view text) {
  std::vector<std::string> deltas;
  for (const std::string_view piece : text_pieces(text))
    deltas.push_back(fmt::format(R"({{"content":{}}})", json_string(piece)));
  return deltas;
}

std::vector<std::string> call_deltas(const std::vector<ScriptedCall>& calls, CallStyle style,
                                     std::uint64_t number) {
  std::vector<std::vector<std::string>> lists;
  std::vector<std::string> deltas;
  for (std::size_t index = 0; index < calls.size(); ++index) {
    const std::string id = id_of(number, index);
    if (is_in_pieces(style)) {
      lists.push_back(deltas_in_pieces(calls[index], index, id));
    } else {
      deltas.push_back(whole_delta(calls[index], style, index, id));
    }
  }
  if (style == CallStyle::interleaved) return in_turn(std::move(lists));
  for (auto& list : lists) std::ranges::move(list, std::back_inserter(deltas));
  return deltas;
}

std::string call_list(const std::vector<ScriptedCall>& calls, CallStyle style, std::uint64_t number) {
  std::string list = "[";
  for (std::size_t index = 0; index < calls.size(); ++index) {
    if (index > 0) list += ',';
    list += '{' + whole_call(calls[index], style, id_of(number, index)) + '}';
  }
  return list += ']';
}

}  // namespace standin
