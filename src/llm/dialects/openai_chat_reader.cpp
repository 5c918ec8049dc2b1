// The reading half of the dialect; openai_request.cpp holds the writing half.
#include "core/utf8.hpp"
#include "llm/dialects/dialect.hpp"
#include "llm/dialects/ondemand.hpp"
#include "llm/dialects/openai_chat_tool_calls.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include <simdjson.h>

namespace agentcore::llm {
namespace {

namespace json = simdjson::ondemand;

constexpr std::size_t first_capacity = 4096;  // bytes of JSON that the parser is made for at first
constexpr std::size_t kept_capacity = std::size_t{1} << 18;  // a larger parser is not kept for the next chunk
constexpr std::size_t body_depth = 128;                      // nesting of a whole body

FinishReason finish_reason_of(std::string_view word) noexcept {
  if (word == "stop" || word == "end_turn" || word == "stop_sequence" || word == "eos") {
    return FinishReason::complete;
  }
  if (word == "length" || word == "max_tokens") return FinishReason::length;
  if (word == "content_filter") return FinishReason::content_filter;
  if (word == "tool_calls" || word == "function_call" || word == "tool_use") return FinishReason::tool_calls;
  return FinishReason::unknown;
}

bool is_passing_trouble(std::string_view word) noexcept {
  return word == "server_error" || word == "internal_error" || word == "overloaded_error" ||
         word == "overloaded" || word == "rate_limit_exceeded" || word == "rate_limit_error" ||
         word == "timeout" || word == "service_unavailable";
}

}  // namespace

struct OpenAiChatReader::Impl {
  json::parser parser;
  std::string padded;         // a copy with room behind it, where the original has none
  std::string repaired;       // the content, when simdjson refuses it
  std::string repaired_word;  // any other string, the same
  std::string loose_message;  // of {"message": ...} and {"detail": ...}
  std::vector<ToolCallPiece> tool_calls;
  bool broken_string = false;  // one that we need

  simdjson::error_code read(std::string_view text, std::size_t readable_behind, AnswerObject& object);
  simdjson::error_code read_root(json::document& document, AnswerObject& object);
  simdjson::error_code read_object(json::object root, AnswerObject& object);
  void read_choices(json::value value, AnswerObject& object);
  void read_choice(json::object choice, AnswerObject& object);
  void read_message(json::value value, bool whole, AnswerObject& object);
  void read_usage(json::value value, AnswerObject& object);
  void read_error(json::value value, AnswerObject& object);
  void read_detail(json::value value);
  std::optional<std::string_view> text(json::value& value, std::string& repair) {
    return text_of(value, repair, broken_string);
  }
  void reserve(std::size_t size);
};

// Makes the parser large enough, in powers of two: simdjson itself would grow it to the byte, each time.
void OpenAiChatReader::Impl::reserve(std::size_t size) {
  const std::size_t wanted = std::max(first_capacity, std::bit_ceil(size));
  if (wanted > parser.capacity() || parser.capacity() > std::max(wanted, kept_capacity))
    if (parser.allocate(wanted)) return;  // the failure shows again, as an error, when it parses
}

simdjson::error_code OpenAiChatReader::Impl::read(std::string_view text, std::size_t readable_behind,
                                                  AnswerObject& object) {
  if (readable_behind < simdjson::SIMDJSON_PADDING) {
    padded.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    padded.assign(text).append(simdjson::SIMDJSON_PADDING, ' ');
    text = std::string_view(padded).substr(0, text.size());
  }
  reserve(text.size());
  json::document document;
  if (auto error =
          parser.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING).get(document))
    return error;
  return read_root(document, object);
}

simdjson::error_code OpenAiChatReader::Impl::read_root(json::document& document, AnswerObject& object) {
  broken_string = false;
  loose_message.clear();
  tool_calls.clear();
  json::object root;
  if (auto error = document.get_object().get(root)) return error;
  if (auto error = read_object(root, object)) return error;
  if (broken_string) return simdjson::STRING_ERROR;
  if (!object.error && !object.has_choice && !object.usage && !loose_message.empty())
    object.error = ApiError{loose_message, false};
  const bool at_end = document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  return at_end ? simdjson::SUCCESS : simdjson::TAPE_ERROR;
}

// Errors in JSON's structure, at any depth, end the iteration here: simdjson's iterator keeps them.
simdjson::error_code OpenAiChatReader::Impl::read_object(json::object root, AnswerObject& object) {
  for (auto entry : root) {
    json::field field;
    if (auto error = std::move(entry).get(field)) return error;
    const json::raw_json_string key = field.key();
    if (key.unsafe_is_equal("choices")) {
      read_choices(field.value(), object);
    } else if (key.unsafe_is_equal("usage")) {
      read_usage(field.value(), object);
    } else if (key.unsafe_is_equal("error")) {
      read_error(field.value(), object);
    } else if (key.unsafe_is_equal("message") || key.unsafe_is_equal("detail")) {
      read_detail(field.value());
    }
  }
  return simdjson::SUCCESS;
}

// Only the first choice counts: no more than one was asked for.
void OpenAiChatReader::Impl::read_choices(json::value value, AnswerObject& object) {
  json::array choices;
  if (value.get_array().get(choices)) return;
  for (auto entry : choices) {
    json::object choice;
    if (entry.get_object().get(choice)) return;
    object.has_choice = true;
    read_choice(choice, object);
    return;
  }
}

void OpenAiChatReader::Impl::read_choice(json::object choice, AnswerObject& object) {
  for (auto entry : choice) {
    json::field field;
    if (std::move(entry).get(field)) return;
    const json::raw_json_string key = field.key();
    if (key.unsafe_is_equal("delta")) {
      read_message(field.value(), false, object);
    } else if (key.unsafe_is_equal("message")) {
      read_message(field.value(), true, object);
    } else if (key.unsafe_is_equal("finish_reason")) {
      const auto word = text(field.value(), repaired_word);
      if (word && !word->empty()) object.finish_reason = finish_reason_of(*word);
    }
  }
}

// A delta, or a whole message.
void OpenAiChatReader::Impl::read_message(json::value value, bool whole, AnswerObject& object) {
  json::object message;
  if (value.get_object().get(message)) return;
  for (auto entry : message) {
    json::field field;
    if (std::move(entry).get(field)) return;
    const json::raw_json_string key = field.key();
    if (key.unsafe_is_equal("content")) {
      if (const auto words = text(field.value(), repaired)) object.content = *words;
    } else if (key.unsafe_is_equal("tool_calls")) {
      ToolCallReader(tool_calls, repaired_word, broken_string).read_list(field.value(), whole, object);
    } else if (key.unsafe_is_equal("function_call")) {
      ToolCallReader(tool_calls, repaired_word, broken_string).read_single(field.value(), whole, object);
    }
  }
}

void OpenAiChatReader::Impl::read_usage(json::value value, AnswerObject& object) {
  json::object counts;
  if (value.get_object().get(counts)) return;
  Usage usage;
  for (auto entry : counts) {
    json::field field;
    if (std::move(entry).get(field)) return;
    const json::raw_json_string key = field.key();
    if (key.unsafe_is_equal("prompt_tokens")) {
      usage.prompt_tokens = count_of(field.value());
    } else if (key.unsafe_is_equal("completion_tokens")) {
      usage.completion_tokens = count_of(field.value());
    } else if (key.unsafe_is_equal("total_tokens")) {
      usage.total_tokens = count_of(field.value());
    }
  }
  if (usage.total_tokens == 0) usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
  object.usage = usage;
}

// An object or a text; null and the like are no error.
void OpenAiChatReader::Impl::read_error(json::value value, AnswerObject& object) {
  if (const auto text = this->text(value, repaired_word)) {
    if (!text->empty()) object.error = ApiError{std::string(*text), false};
    return;
  }
  json::object fields;
  if (value.get_object().get(fields)) return;
  ApiError error;
  std::string kind;
  for (auto entry : fields) {
    json::field field;
    if (std::move(entry).get(field)) return;
    const json::raw_json_string key = field.key();
    const bool names_kind = key.unsafe_is_equal("type") || key.unsafe_is_equal("code");
    if (!names_kind && !key.unsafe_is_equal("message")) continue;
    const auto text = this->text(field.value(), repaired_word);
    if (!names_kind) {
      error.message = text.value_or("");
    } else if (text) {
      kind = *text;
      error.retryable = error.retryable || is_passing_trouble(kind);
    } else {
      error.retryable = error.retryable || is_retryable_status(count_of(field.value()));
    }
  }
  if (error.message.empty()) error.message = kind.empty() ? "an error without a message" : kind;
  object.error = std::move(error);
}

// {"detail": "..."} or, for what failed a validation, {"detail": [{"msg": "..."}]}.
void OpenAiChatReader::Impl::read_detail(json::value value) {
  if (const auto text = this->text(value, repaired_word)) {
    loose_message = *text;
    return;
  }
  json::array list;
  if (value.get_array().get(list)) return;
  for (auto entry : list) {
    json::value message;
    if (entry["msg"].get(message)) return;
    if (const auto text = this->text(message, repaired_word)) loose_message = *text;
    return;
  }
}

OpenAiChatReader::OpenAiChatReader() : impl_(std::make_unique<Impl>()) {
}
OpenAiChatReader::~OpenAiChatReader() = default;

bool OpenAiChatReader::parse_chunk(std::string_view json, std::size_t readable_behind, AnswerObject& object) {
  object = AnswerObject{};
  auto error = impl_->read(json, readable_behind, object);
  if (error == simdjson::UTF8_ERROR) {
    object = AnswerObject{};
    error = impl_->read(core::valid_utf8(json), 0, object);
  }
  return error == simdjson::SUCCESS;
}

bool OpenAiChatReader::parse_body(std::string_view json, AnswerObject& object) {
  object = AnswerObject{};
  if (json.starts_with("\xEF\xBB\xBF")) json.remove_prefix(3);
  std::string text = core::valid_utf8(json);
  simdjson::dom::parser checker;
  if (checker.allocate(std::max<std::size_t>(text.size(), 64), body_depth)) return false;
  simdjson::dom::element root;
  const auto error = checker.parse(text.data(), text.size()).get(root);
  if (error && error != simdjson::STRING_ERROR)
    return false;  // half a surrogate pair is no reason to give up
  // Google's servers wrap their error objects into an array.
  simdjson::dom::element first;
  if (!error && root.is_array() && root.at(0).get(first) == simdjson::SUCCESS) text = simdjson::minify(first);
  return impl_->read(text, 0, object) == simdjson::SUCCESS;
}

}  // namespace agentcore::llm
