#include "llm/dialects/json_answer_reader.hpp"

#include "core/utf8.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace agentcore::detail::llm {

namespace json = simdjson::ondemand;

namespace {

constexpr std::size_t first_capacity = 4096;       // bytes of JSON that the parser can hold at first
constexpr std::size_t kept_capacity = 256 * 1024;  // a larger parser is not kept for the next chunk
constexpr std::size_t most_repair = 64 * 1024;     // bytes that U+FFFD may add; beyond, the text is refused
constexpr std::size_t body_depth = 128;            // nesting of a whole body

// Replaces invalid UTF-8 by U+FFFD. Empty if nearly all of the text is invalid: the result would be three
// times as large.
std::string repaired(std::string_view text) {
  std::string valid = core::valid_utf8(text);
  return valid.size() > text.size() + most_repair ? std::string() : valid;
}

// The bytes of a number that a parser may refuse though JSON allows it, or of one that JSON does not know but
// servers send; 0 for any other text. `text` begins where a value does.
std::size_t odd_number(std::string_view text) noexcept {
  constexpr std::size_t most_digits = 18;  // any number of them fits into 64 bits
  for (const std::string_view word : {"NaN", "Infinity", "-Infinity"})
    if (text.starts_with(word)) return word.size();
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - begin;
  };
  const std::size_t first = at, whole = digits();
  if (whole == 0 || (whole > 1 && text[first] == '0')) return 0;
  bool is_odd = whole > most_digits;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) return 0;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return 0;
    is_odd = true;
  }
  return is_odd ? at : 0;
}

// The JSON with 0 in place of such numbers, padded; empty if there is none.
std::string with_plain_numbers(std::string_view text) {
  std::string plain;
  plain.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  bool is_in_text = false, is_found = false, begins_value = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = !is_in_text && begins_value ? odd_number(text.substr(at)) : 0;
    is_found = is_found || size != 0;
    plain += size != 0 ? '0' : text[at];
    if (is_in_text && text[at] == '\\' && at + 1 < text.size())
      plain += text[++at];
    else if (text[at] == '"' && size == 0)
      is_in_text = !is_in_text;
    begins_value = size == 0 && (std::string_view(":,[ \t\r\n").find(text[at]) != std::string_view::npos);
    at += std::max<std::size_t>(size, 1);
  }
  if (!is_found) return {};
  return plain.append(simdjson::SIMDJSON_PADDING, ' ');
}

}  // namespace

// Makes the parser large enough, in powers of two: simdjson itself would grow to the exact size, each time. A
// capacity above kept_capacity is exact.
void JsonAnswerReader::reserve(std::size_t size) {
  const std::size_t wanted = size > kept_capacity ? size : std::max(first_capacity, std::bit_ceil(size));
  if (wanted > parser_.capacity() || parser_.capacity() > std::max(wanted, kept_capacity))
    if (parser_.allocate(wanted)) return;  // parsing reports the failure again, as an error
}

// A copy of the text with padding behind it, which the view leaves out.
std::string_view JsonAnswerReader::pad(std::string_view text) {
  if (padded_.capacity() > kept_capacity) std::string().swap(padded_);
  padded_.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  padded_.assign(text).append(simdjson::SIMDJSON_PADDING, ' ');
  return std::string_view(padded_).substr(0, text.size());
}

simdjson::error_code JsonAnswerReader::read(std::string_view text, std::size_t readable_behind,
                                            AnswerObject& object) {
  if (readable_behind < simdjson::SIMDJSON_PADDING) {
    text = pad(text);
  } else if (padded_.capacity() > kept_capacity) {
    std::string().swap(padded_);
  }
  shape_.begin_marks();
  const auto error = read_padded(text, object);
  shape_.learn(error ? std::string_view() : text, object);
  return error;
}

// Then the next text that simdjson reads frees memory.
bool JsonAnswerReader::holds_large_buffers() const noexcept {
  return parser_.capacity() > kept_capacity || padded_.capacity() > kept_capacity;
}

// The text has padding behind it.
simdjson::error_code JsonAnswerReader::read_padded(std::string_view text, AnswerObject& object) {
  reserve(text.size());
  json::document document;
  if (auto error =
          parser_.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING).get(document))
    return error;
  const auto error = read_root(document, object);
  if (error) object = AnswerObject{};  // its views may point into a refused string
  return error;
}

simdjson::error_code JsonAnswerReader::read_root(json::document& document, AnswerObject& object) {
  broken_string_ = false;
  loose_.message.clear();
  loose_.codes.clear();
  loose_.status = 0;  // the other members are never set
  empty_error_ = holds_choices_ = false;
  other_items_.clear();
  begin();
  json::object root;
  if (auto error = document.get_object().get(root)) return error;
  if (auto error = read_members(root, object)) return error;
  finish(object);
  if (broken_string_) return simdjson::STRING_ERROR;
  settle_error(object);
  const bool at_end = document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  return at_end ? simdjson::SUCCESS : simdjson::TAPE_ERROR;
}

simdjson::error_code JsonAnswerReader::read_members(json::object root, AnswerObject& object) {
  for (auto entry : root) {
    json::field field;
    if (auto error = std::move(entry).get(field)) return error;
    const json::raw_json_string key = field.key();
    if (read_member(key, field.value(), object)) continue;
    if (key.unsafe_is_equal("error")) {
      empty_error_ = !read_error(field.value(), object);
    } else if (!error_reader().read_member(key, field.value(), loose_)) {
      mark(field.value(), ChunkShape::Use::none);
    }
  }
  return simdjson::SUCCESS;
}

bool JsonAnswerReader::read_error(json::value value, AnswerObject& object) {
  json::json_type type;
  if (value.type().get(type)) return true;
  ApiError error;
  if (!error_reader().read(value, error)) return type != json::json_type::object;
  object.error = std::move(error);
  return true;
}

void JsonAnswerReader::settle_error(AnswerObject& object) {
  const bool is_answer = object.has_choice || object.usage;
  const bool says_nothing = empty_error_ && !holds_choices_;
  if (!object.error && !is_answer && (says_nothing || !loose_.message.empty())) object.error.emplace();
  if (object.error && !object.error->known) ErrorReader::finish(*object.error, loose_);
}

void JsonAnswerReader::note_other_item(std::string_view type) {
  constexpr std::size_t most_items = 16, most_bytes = 64;
  std::string_view name = type;
  if (type.empty()) name = "an item without a type";
  if (type.size() > most_bytes) name = "an item with a long type";  // a part of a secret must not show
  if (other_items_.size() < most_items && std::ranges::find(other_items_, name) == other_items_.end())
    other_items_.emplace_back(name);
}

bool JsonAnswerReader::parse_chunk(std::string_view json, std::size_t readable_behind, AnswerObject& object) {
  if (!holds_large_buffers() && shape_.read(json, readable_behind, object)) return true;
  auto error = read(json, readable_behind, object);
  if (error == simdjson::UTF8_ERROR) error = read(repaired(json), 0, object);
  return error == simdjson::SUCCESS;
}

bool JsonAnswerReader::parse_body(std::string_view json, AnswerObject& object) {
  if (json.starts_with("\xEF\xBB\xBF")) json.remove_prefix(3);
  const std::string_view text = core::is_utf8(json) ? pad(json) : pad(repaired(json));
  std::string inner;
  if (!check(text, inner)) return false;
  const bool is_read = read_padded(inner.empty() ? text : pad(inner), object) == simdjson::SUCCESS;
  object.ends = is_read;
  return is_read;
}

simdjson::error_code JsonAnswerReader::check(simdjson::dom::parser& checker, std::string_view text,
                                             simdjson::dom::element& root) {
  return checker.parse(text.data(), text.size(), false).get(root);
}

// True if a padded text is JSON to its last byte. `inner` is set if another text is to be read instead:
// Google's servers wrap their error objects into an array.
bool JsonAnswerReader::check(std::string_view text, std::string& inner) {
  simdjson::dom::parser checker;  // a dozen times as large as the text: freed before the text is read
  if (checker.allocate(std::max<std::size_t>(text.size(), 64), body_depth)) return false;
  simdjson::dom::element root, first;
  auto error = check(checker, text, root);
  std::string plain;
  if (error && error != simdjson::STRING_ERROR) {
    plain = with_plain_numbers(text);
    if (!plain.empty())
      error =
          check(checker, std::string_view(plain).substr(0, plain.size() - simdjson::SIMDJSON_PADDING), root);
  }
  if (error) return error == simdjson::STRING_ERROR;  // half a surrogate pair is tolerated
  if (root.is_array() && root.at(0).get(first) == simdjson::SUCCESS) inner = simdjson::minify(first);
  return true;
}

}  // namespace agentcore::detail::llm
