#include "answer.hpp"
#include "answer_format.hpp"

#include <cstddef>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace standin {
namespace {

std::string event(std::string_view type, std::string_view members) {
  return fmt::format("event: {}\ndata: {{\"type\":\"{}\"{}}}\n\n", type, type, members);
}

// The three parts of the prompt do not contain each other.
std::string usage_json(const ChatCall& call, std::uint64_t tokens) {
  const PromptTokens cache = call.cache.value_or(PromptTokens{.total = call.prompt_tokens});
  return fmt::format(
      R"({{"input_tokens":{},"cache_creation_input_tokens":{},"cache_read_input_tokens":{},"output_tokens":{}}})",
      cache.total - cache.read - cache.written, cache.written, cache.read, tokens);
}

const char* stop_reason(const ChatCall& call) noexcept {
  return !call.script.calls.empty() ? "tool_use" : call.cut_by_limit ? "max_tokens" : "end_turn";
}

// An answer that is not dictated has a text, too.
bool has_text(const ChatCall& call) noexcept {
  return !call.script.text.empty() || call.script.calls.empty();
}

std::string input_of(const ScriptedCall& call) {
  const auto parsed = nlohmann::json::parse(call.arguments, nullptr, false);
  return parsed.is_object() ? call.arguments : "{}";
}

std::string tool_use(const ScriptedCall& call, std::uint64_t number, std::size_t place,
                     std::string_view input) {
  return fmt::format(R"({{"type":"tool_use","id":"toolu_{}_{}","name":{},"input":{}}})", number, place + 1,
                     json_string(call.name), input);
}

std::string end_of_text() {
  return event("content_block_stop", R"(,"index":0)");
}

// The events of one block, without the last empty line.
std::string call_delta(const ScriptedCall& call, std::uint64_t number, std::size_t place, std::size_t index) {
  std::string events = event("content_block_start", fmt::format(R"(,"index":{},"content_block":{})", index,
                                                                tool_use(call, number, place, "{}")));
  events += event("content_block_delta",
                  fmt::format(R"(,"index":{},"delta":{{"type":"input_json_delta","partial_json":{}}})", index,
                              json_string(call.arguments)));
  events += event("content_block_stop", fmt::format(R"(,"index":{})", index));
  return events.substr(0, events.size() - 2);
}

// An answer without its content, its end and the last brace.
std::string message_head(const ChatCall& call, std::uint64_t number) {
  return fmt::format(R"({{"id":"msg_standin_{}","type":"message","role":"assistant","model":{})", number,
                     json_string(call.model));
}

class MessagesFormat final : public AnswerFormat {
 public:
  DeltaFrame frame(const ChatCall&, std::uint64_t) const override {
    return {"", "\n\n",
            "event: content_block_delta\n"
            R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":")",
            R"("}})"};
  }

  std::vector<std::string> deltas(const ChatCall& call, std::uint64_t number) const override {
    const DeltaFrame around = frame(call, number);
    std::vector<std::string> deltas;
    for (const std::string_view piece : text_pieces(call.script.text)) {
      deltas.emplace_back(around.before_text);
      append_json_escaped(deltas.back(), piece);
      deltas.back() += around.after_text;
    }
    const std::size_t first = has_text(call) ? 1 : 0;
    for (std::size_t place = 0; place < call.script.calls.size(); ++place) {
      deltas.push_back(call_delta(call.script.calls[place], number, place, first + place));
      if (place == 0 && has_text(call)) deltas.back().insert(0, end_of_text());
    }
    return deltas;
  }

  std::string opening(const ChatCall& call, std::uint64_t number) const override {
    const std::string message =
        message_head(call, number) +
        fmt::format(R"(,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{}}})",
                    usage_json(call, 1));
    std::string events = event("message_start", R"(,"message":)" + message);
    if (has_text(call))
      events += event("content_block_start", R"(,"index":0,"content_block":{"type":"text","text":""})");
    return events;
  }

  std::string closing(const ChatCall& call, std::uint64_t) const override {
    std::string events;
    if (call.script.calls.empty()) events = end_of_text();
    events += event("message_delta",
                    fmt::format(R"(,"delta":{{"stop_reason":"{}","stop_sequence":null}},"usage":{})",
                                stop_reason(call), usage_json(call, call.pace.tokens)));
    return events + event("message_stop", "");
  }

  std::string whole(const ChatCall& call, std::uint64_t number, std::string_view text) const override {
    std::string content;
    if (has_text(call)) content = fmt::format(R"({{"type":"text","text":"{}"}})", text);
    for (std::size_t place = 0; place < call.script.calls.size(); ++place) {
      const ScriptedCall& one = call.script.calls[place];
      content += (content.empty() ? "" : ",") + tool_use(one, number, place, input_of(one));
    }
    return message_head(call, number) +
           fmt::format(R"(,"content":[{}],"stop_reason":"{}","stop_sequence":null,"usage":{}}})", content,
                       stop_reason(call), usage_json(call, call.pace.tokens));
  }
};

}  // namespace

const AnswerFormat& messages_format() noexcept {
  static const MessagesFormat format;
  return format;
}

}  // namespace standin
