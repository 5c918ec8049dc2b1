#include "request_json.hpp"

#include "answer.hpp"

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace standin {
namespace {

using nlohmann::json;

constexpr std::size_t max_model_bytes = 256;

// The text of a message's content: a string, or the text parts of an array.
std::string text_of(const json& message) {
  const auto content = message.find("content");
  if (content == message.end()) return {};
  if (content->is_string()) return content->get<std::string>();
  std::string text;
  if (!content->is_array()) return text;
  for (const json& part : *content) {
    if (!part.is_object()) continue;
    const auto value = part.find("text");
    if (value == part.end() || !value->is_string()) continue;
    if (!text.empty()) text += ' ';
    text += value->get_ref<const std::string&>();
  }
  return text;
}

std::optional<ApiError> read_messages(const json& body, ChatCall& call) {
  const auto messages = body.find("messages");
  if (messages == body.end()) return bad_request("messages", "Missing required parameter: 'messages'.");
  if (!messages->is_array() || messages->empty()) {
    return bad_request("messages", "Invalid 'messages': expected a non-empty array.");
  }
  std::string role;
  std::size_t round = 0;  // answers since the last user message
  for (const json& message : *messages) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string()) {
      return bad_request("messages", "Invalid 'messages': each one must be an object with a 'role'.");
    }
    std::string text = text_of(message);
    call.prompt_tokens += count_words(text);
    role = message["role"].get<std::string>();
    if (role == "assistant") ++round;
    const bool only_results = call.api == Api::messages && text.empty();
    if (role != "user" || only_results) continue;
    call.prompt = std::move(text);
    round = 0;
  }
  if (role == "user" || role == "tool") call.script = script_of(call.prompt, round);
  const auto tools = body.find("tools");
  if (tools == body.end() || !tools->is_array() || tools->empty()) call.script.calls.clear();
  return std::nullopt;
}

// A field that may be missing or null; false when it has another type.
template <typename T>
bool read_field(const json& object, const char* name, T& value) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return true;
  if constexpr (std::is_same_v<T, bool>) {
    if (!found->is_boolean()) return false;
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string()) return false;
  } else {
    if (!found->is_number_unsigned()) return false;
  }
  value = found->get<T>();
  return true;
}

ApiError wrong_type(const char* name) {
  return bad_request(name, fmt::format("Invalid type for '{}'.", name));
}

}  // namespace

ApiError bad_request(std::string param, std::string message) {
  return {400, "invalid_request_error", {}, std::move(param), std::move(message)};
}

std::optional<ApiError> read_common(const json& body, ChatCall& call, std::uint64_t& limit) {
  if (auto error = read_messages(body, call)) return error;
  if (!read_field(body, "model", call.model) || call.model.size() > max_model_bytes)
    return wrong_type("model");
  if (!read_field(body, "stream", call.stream)) return wrong_type("stream");
  if (!read_field(body, "max_tokens", limit)) return wrong_type("max_tokens");
  return std::nullopt;
}

std::optional<ApiError> read_chat_json(const json& body, ChatCall& call, std::uint64_t& limit) {
  if (auto error = read_common(body, call, limit)) return error;
  if (call.agent.empty() && !read_field(body, "user", call.agent)) return wrong_type("user");
  if (!read_field(body, "max_completion_tokens", limit)) return wrong_type("max_completion_tokens");
  if (const auto options = body.find("stream_options"); options != body.end() && !options->is_null()) {
    if (!options->is_object() || !read_field(*options, "include_usage", call.include_usage)) {
      return wrong_type("stream_options");
    }
  }
  return std::nullopt;
}

}  // namespace standin
