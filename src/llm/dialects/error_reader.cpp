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

bool is_nested(json::value& value) noexcept {
  json::json_type type;
  if (value.type().get(type)) return false;
  return type == json::json_type::object || type == json::json_type::array;
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
    } else if (is_one_of(key, message_names)) {
      has_more = is_nested(field.value()) || has_more;
      read_message(field.value(), error);
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

// A text; a list; {"detail": ...} around one of them (Mistral); or any other JSON.
void ErrorReader::read_message(json::value value, ApiError& error) {
  if (read_words(value, error)) return;
  json::object inner;
  json::value detail;
  if (!broken_ && !value.get_object().get(inner) && !inner["detail"].get(detail)) read_words(detail, error);
}

// False: neither a text nor a list.
bool ErrorReader::read_words(json::value value, ApiError& error) {
  if (const auto text = text_of(value, repair_, broken_)) {
    if (!text->empty()) error.message = *text;
    return true;
  }
  json::json_type type;
  if (broken_ || value.type().get(type) || type != json::json_type::array) return false;
  json::array list;
  if (value.get_array().get(list)) return false;
  read_list(list, error);
  return true;
}

// What failed a validation, an entry for each: texts, or what FastAPI and others send:
// {"loc": ["body", "messages", 1, "reasoning_content"], "msg": "Extra inputs are not permitted", ...}
void ErrorReader::read_list(json::array& list, ApiError& error) {
  std::string all;
  for (auto entry : list) {
    json::value value;
    if (entry.get(value)) break;
    const std::string text = text_of_entry(value);
    if (broken_ || all.size() + text.size() > most_text) break;
    if (!text.empty()) all.append(all.empty() ? "" : "; ").append(text);
  }
  if (!all.empty()) error.message = std::move(all);
}

// "body.messages.1.reasoning_content: Extra inputs are not permitted"
std::string ErrorReader::text_of_entry(json::value value) {
  if (const auto text = text_of(value, repair_, broken_)) return std::string(*text);
  std::string place, text;
  each_member(value, [&](const Key& key, json::value member) {
    if (key.unsafe_is_equal("loc")) {
      place = place_in(member);
    } else if (key.unsafe_is_equal("msg") || (text.empty() && key.unsafe_is_equal("message"))) {
      text = text_of(member, repair_, broken_).value_or("");
    }
  });
  if (place.empty() || text.empty()) return place + text;
  return place + ": " + text;
}

// The names and numbers that lead to a place in the request, with dots between them.
std::string ErrorReader::place_in(json::value value) {
  std::string place;
  json::array steps;
  if (value.get_array().get(steps)) return place;
  for (auto step : steps) {
    json::value name;
    if (step.get(name)) break;
    const auto text = text_of(name, repair_, broken_);
    const std::string_view shown = text || broken_ ? text.value_or("") : json_of(name);
    if (place.size() + shown.size() > most_text) break;
    if (!shown.empty()) place.append(place.empty() ? "" : ".").append(shown);
  }
  return place;
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
