// Messages of a history, as tests of requests need them.
#pragma once

#include "support/messages.hpp"

#include <agentcore/chat.hpp>

#include <string>
#include <utility>
#include <vector>

namespace agentcore::test {

inline ChatMessage answer(std::string words, std::vector<ToolCall> calls = {},
                          std::vector<ReasoningBlock> thoughts = {}) {
  ChatMessage message = ChatMessage::assistant(std::move(words));
  message.append(std::vector<agentcore::ToolCall>(std::move(calls)));
  put_reasoning(message, std::move(thoughts));
  return message;
}

inline ChatMessage result(std::string id, std::string words) {
  ChatMessage message = ChatMessage::tool_result({}, std::move(words));
  message.tool_call_id = std::move(id);
  return message;
}

// Everything that a request can say but its messages.
inline ChatRequest maximal_request(std::vector<ChatMessage> messages) {
  ChatRequest request;
  request.agent_id = "scout";
  request.messages = std::move(messages);
  request.tools = {
      {"weather", "The weather in a city.",
       R"({"type":"object","properties":{"city":{"type":"string"},"at":{}},"required":["city"]})"},
      {"clock", "", ""}};
  request.tool_choice = {ToolChoice::Mode::named, "weather"};
  request.parallel_tool_calls = true;
  request.response_format = {ResponseFormat::Kind::json_schema, "place",
                             R"({"type":"object","properties":{"z":{},"a":{}}})", true};
  request.temperature = 0.5;
  request.top_p = 0.75;
  request.max_tokens = 300;
  request.stop_sequences = {"END", "\n\n"};
  request.reasoning_effort = "low";
  return request;
}

// A picture by its address, and one in the request itself.
inline std::vector<ContentPart> two_pictures() {
  return {{.url = "https://example.com/beach.png", .detail = "low"},
          {.data = "iVBORw0KGgo=", .media_type = "image/png"}};
}

}  // namespace agentcore::test
