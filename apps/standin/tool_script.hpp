// Scripts: the answer that a message dictates: its text, its tool calls, and their JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace standin {

struct ScriptedCall {
  std::string name;
  std::string arguments;  // the text that the model wrote: meant to be JSON

  bool operator==(const ScriptedCall&) const = default;
};

// The form in which a stream sends its calls (header x-standin-calls).
enum class CallStyle : std::uint8_t {
  pieces,       // one call after the other, its arguments in pieces, as OpenAI does
  interleaved,  // the same pieces, a piece of each call in turn
  whole,        // each call in one event
  no_index,     // the same, without "index"
  object,       // the same, all with the index 0, and the arguments are an object if they are the JSON of one
};

// "pieces" and so on; nullopt when there is no such style.
std::optional<CallStyle> call_style_named(std::string_view name) noexcept;

// The contents of an answer. Nothing: the stand-in's own text.
struct Script {
  std::string text;
  std::vector<ScriptedCall> calls;
};

// The contents that a message dictates for the answer `round` (0: the first): "/say TEXT" is a line of its
// text, "/call NAME ARGUMENTS" a call; lines that are "/then" separate the answers. Other lines are ignored.
Script script_of(std::string_view message, std::size_t round);

// The text in pieces of about eight bytes, none of them with a part of a character.
std::vector<std::string_view> text_pieces(std::string_view text);

// The "delta" objects that stream this text.
std::vector<std::string> text_deltas(std::string_view text);

// The "delta" objects that stream these calls. Ids are call_<number>_1, call_<number>_2 ...
std::vector<std::string> call_deltas(const std::vector<ScriptedCall>& calls, CallStyle style,
                                     std::uint64_t number);

// The "tool_calls" array of a whole message.
std::string call_list(const std::vector<ScriptedCall>& calls, CallStyle style, std::uint64_t number);

}  // namespace standin
