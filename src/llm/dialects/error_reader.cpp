#include "llm/dialects/error_reader.hpp"

#include "llm/dialects/ondemand.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace agentcore::detail::llm {

namespace json = simdjson::ondemand;

namespace {

constexpr std::size_t most_text = 64 * 1024;  // bytes kept of an error without a message, or behind a gateway

// The names under which servers send a code, a type or a status.
constexpr const char* code_names[] = {"type",       "code",      "status",     "status_code",
                                      "statusCode", "http_code", "error_code", "error_type"};

constexpr const char* message_names[] = {"message", "detail"};

template <std::size_t N>
bool is_one_of(const json::raw_json_string& key, const char* const (&names)[N]) {
  return std::ranges::any_of(names, [&](const char* name) { return key.unsafe_is_equal(name); });
}

bool says_error_alone(std::string_view word) noexcept {
  constexpr std::string_view small = "error";
  return std::ranges::equal(word, small,
                            [](char c, char s) { return c == s || (c >= 'A' && c <= 'Z' && c + 32 == s); });
}

// False for the JSON of an empty value: null, true, false, 0, "", [] and {}.
bool holds_something(std::string_view text) noexcept {
  if (text.empty() || text == "true" || text == "false" || text == "0") return false;
  const char first = text.front();
  if (first != '[' && first != '{' && first != '"') return true;
  return text.find_first_not_of(" \t\r\n", 1) + 1 < text.size();
}

}  // namespace

void note_code(std::string_view code, ApiError& error) {
  if (code.empty() || says_error_alone(code)) return;
  int number = 0;
  const auto [end, fault] = std::from_chars(code.data(), code.data() + code.size(), number);
  const bool is_number = fault == std::errc() && end == code.data() + code.size();
  if (is_number && number == 0) return;
  if (is_number && number >= 100 && number <= 599) {
    if (error.status == 0) error.status = number;
    return;
  }
  if (code.size() <= max_error_code_bytes && error.codes.size() < max_error_codes)
    error.codes.emplace_back(code);
}

bool ErrorReader::read(json::value value, ApiError& error) {
  if (const auto text = text_of(value, repair_, broken_)) {
    error.message = *text;
    return !text->empty();
  }
  json::json_type type;
  if (broken_ || value.type().get(type)) return false;
  if (type == json::json_type::object) return read_object(value, error);
  if (const std::string_view list = json_of(value); list.starts_with('[') && holds_something(list))
    error.message = list.substr(0, most_text);
  return !error.message.empty();
}

// An error without a message, but with members that are not read, is shown as it is.
bool ErrorReader::read_object(json::value value, ApiError& error) {
  json::object fields;
  std::string_view whole;
  if (value.get_object().get(fields) || fields.raw_json().get(whole) || fields.reset().error()) return false;
  const std::string text(whole.substr(0, std::min(most_text, whole.find_last_of('}') + 1)));
  bool has_more = false;
  for (auto entry : fields) {
    json::field field;
    if (std::move(entry).get(field)) return false;
    const json::raw_json_string key = field.key();
    if (key.unsafe_is_equal("metadata")) {
      read_metadata(field.value(), error);
    } else if (key.unsafe_is_equal("details")) {
      read_details(field.value(), error);
    } else if (!read_member(key, field.value(), error)) {
      has_more = holds_something(json_of(field.value())) || has_more;
    }
  }
  if (error.message.empty() && has_more) error.message = text;
  return !error.message.empty() || !error.raw.empty() || !error.codes.empty() || error.status != 0;
}

bool ErrorReader::read_member(const Key& key, json::value value, ApiError& error) {
  if (is_one_of(key, code_names)) {
    read_code(value, error);
  } else if (is_one_of(key, message_names)) {
    read_message(value, error);
  } else if (key.unsafe_is_equal("base_resp")) {
    read_base(value, error);
  } else {
    return false;
  }
  return true;
}

void ErrorReader::read_code(json::value value, ApiError& error) {
  if (const auto word = text_of(value, repair_, broken_)) {
    note_code(*word, error);
  } else if (const auto number = said_count(value)) {
    note_code(std::to_string(*number), error);
  }
}

// A text; {"detail": ...} (Mistral); a list of what failed a validation, [{"msg": "..."}]; or any other JSON.
void ErrorReader::read_message(json::value value, ApiError& error) {
  if (const auto text = text_of(value, repair_, broken_)) {
    if (!text->empty()) error.message = *text;
    return;
  }
  json::object inner;
  if (!broken_ && !value.get_object().get(inner) && inner["detail"].get(value)) return;
  json::array list;
  if (broken_ || value.get_array().get(list)) return;
  for (auto entry : list) {
    json::value message;
    if (entry["msg"].get(message)) return;
    if (const auto text = text_of(message, repair_, broken_)) error.message = *text;
    return;
  }
}

// {"raw": "..." or {...}, "provider_name": "..."} (OpenRouter)
void ErrorReader::read_metadata(json::value value, ApiError& error) {
  each_member(value, [&](const Key& key, json::value member) {
    if (key.unsafe_is_equal("raw")) {
      const auto words = text_of(member, repair_, broken_);
      const std::string_view raw = words || broken_ ? words.value_or("") : json_of(member);
      error.raw = raw.substr(0, most_text);
    } else if (key.unsafe_is_equal("provider_name")) {
      error.provider = text_of(member, repair_, broken_).value_or("");
    }
  });
}

// Google's list of objects: {"@type": ".../google.rpc.RetryInfo", "retryDelay": "34.07s"}, {"reason":
// "RATE_LIMIT_EXCEEDED"}.
void ErrorReader::read_details(json::value value, ApiError& error) {
  json::array list;
  if (value.get_array().get(list)) return;
  for (auto entry : list) {
    json::value detail;
    if (entry.get(detail)) return;
    each_member(detail, [&](const Key& key, json::value member) {
      if (key.unsafe_is_equal("reason")) return read_code(member, error);
      if (!key.unsafe_is_equal("retryDelay")) return;
      error.retry_delay = text_of(member, repair_, broken_).value_or("");
    });
  }
}

// {"status_code": 1008, "status_msg": "insufficient balance"} (MiniMax); 0: no error
void ErrorReader::read_base(json::value value, ApiError& error) {
  std::string message;
  bool failed = false;
  each_member(value, [&](const Key& key, json::value member) {
    if (key.unsafe_is_equal("status_code")) {
      const std::uint64_t number = count_of(member);
      failed = number != 0;
      if (failed) note_code(std::to_string(number), error);
    } else if (key.unsafe_is_equal("status_msg")) {
      message = text_of(member, repair_, broken_).value_or("");
    }
  });
  if (failed && error.message.empty()) error.message = std::move(message);
}

void ErrorReader::finish(ApiError& error, ApiError& around) {
  if (error.message.empty()) error.message = std::move(around.message);
  if (error.message.empty() && !error.codes.empty()) error.message = error.codes.back();
  if (error.message.empty() && !around.codes.empty()) error.message = around.codes.front();
  if (error.status == 0) error.status = around.status;
  if (error.message.empty())
    error.message = error.status == 0
                        ? "an error without a message"
                        : "an error of status " + std::to_string(error.status) + ", without a message";
  for (const std::string& code : around.codes) note_code(code, error);
}

}  // namespace agentcore::detail::llm
