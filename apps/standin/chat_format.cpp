#include "answer.hpp"
#include "answer_format.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace standin {
namespace {

constexpr std::uint64_t created_at = 1'700'000'000;  // answers are the same every time

const char* finish_reason(const ChatCall& call) noexcept {
  return !call.script.calls.empty() ? "tool_calls" : call.cut_by_limit ? "length" : "stop";
}

std::string usage_json(const ChatCall& call) {
  const std::uint64_t prompt = call.cache ? call.cache->total : call.prompt_tokens;
  std::string text = fmt::format(R"({{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{})", prompt,
                                 call.pace.tokens, prompt + call.pace.tokens);
  if (call.cache) text += fmt::format(R"(,"prompt_tokens_details":{{"cached_tokens":{}}})", call.cache->read);
  return text + '}';
}

// The event up to its list of choices.
std::string before_choices(const ChatCall& call, std::uint64_t number) {
  return fmt::format(
      R"(data: {{"id":"chatcmpl-standin-{}","object":"chat.completion.chunk","created":{},"model":{},"choices":[)",
      number, created_at, json_string(call.model));
}

std::string after_choices(const ChatCall& call) {
  return call.include_usage ? "],\"usage\":null}\n\n" : "]}\n\n";
}

class ChatFormat final : public AnswerFormat {
 public:
  DeltaFrame frame(const ChatCall& call, std::uint64_t number) const override {
    return {before_choices(call, number) + R"({"index":0,"delta":)",
            R"(,"logprobs":null,"finish_reason":null})" + after_choices(call), R"({"content":")", R"("})"};
  }

  std::vector<std::string> deltas(const ChatCall& call, std::uint64_t number) const override {
    std::vector<std::string> deltas = text_deltas(call.script.text);
    std::ranges::move(call_deltas(call.script.calls, call.call_style, number), std::back_inserter(deltas));
    return deltas;
  }

  std::string opening(const ChatCall& call, std::uint64_t number) const override {
    const DeltaFrame around = frame(call, number);
    const std::string_view content = call.script.calls.empty() ? "\"\"" : "null";
    return around.before_delta + fmt::format(R"({{"role":"assistant","content":{}}})", content) +
           around.after_delta;
  }

  std::string closing(const ChatCall& call, std::uint64_t number) const override {
    const std::string before = before_choices(call, number);
    std::string events = before +
                         fmt::format(R"({{"index":0,"delta":{{}},"logprobs":null,"finish_reason":"{}"}})",
                                     finish_reason(call)) +
                         after_choices(call);
    if (call.include_usage) events += before + "],\"usage\":" + usage_json(call) + "}\n\n";
    return events + "data: [DONE]\n\n";
  }

  std::string whole(const ChatCall& call, std::uint64_t number, std::string_view text) const override {
    const auto& calls = call.script.calls;
    std::string message = R"({"role":"assistant","content":)";
    message += text.empty() && !calls.empty() ? "null" : fmt::format("\"{}\"", text);
    if (!calls.empty()) message += R"(,"tool_calls":)" + call_list(calls, call.call_style, number);
    return fmt::format(
        R"({{"id":"chatcmpl-standin-{}","object":"chat.completion","created":{},"model":{},"choices":[)"
        R"({{"index":0,"message":{},"refusal":null}},"logprobs":null,"finish_reason":"{}"}}],"usage":{}}})",
        number, created_at, json_string(call.model), message, finish_reason(call), usage_json(call));
  }
};

}  // namespace

const AnswerFormat& chat_format() noexcept {
  static const ChatFormat format;
  return format;
}

}  // namespace standin
