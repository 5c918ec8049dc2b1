#include "llm/dialects/openai_chat_details.hpp"

#include "llm/dialects/ondemand.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

namespace agentcore::detail::llm {

namespace json = simdjson::ondemand;

namespace {

// The raw text of the name, without its quotes. simdjson has checked that it ends.
std::string_view key_text(const json::raw_json_string& key) noexcept {
  const char* end = key.raw();
  while (*end != '"') end += *end == '\\' ? 2 : 1;
  return {key.raw(), static_cast<std::size_t>(end - key.raw())};
}

}  // namespace

void DetailReader::read_list(json::value value, bool whole, AnswerObject& object) {
  json::array list;
  if (value.get_array().get(list)) return;
  details_.clear();
  words_.clear();
  cut_ = {};
  for (auto entry : list) {
    if (details_.size() == max_reasoning_details) {
      object.too_many_details = true;
      break;
    }
    json::object fields;
    if (entry.get_object().get(fields) == simdjson::SUCCESS) read_entry(fields, whole);
  }
  if (whole) end_pieces(words_, cut_);
  object.reasoning_details = details_;
  object.text_in_details = words_;
  object.details_cut = cut_;
}

void DetailReader::read_entry(json::object fields, bool whole) {
  ReasoningDetail detail{.whole = whole};
  std::string words;
  CutPair cut;
  bool has_type = false, is_large = false;
  for (auto entry : fields) {
    json::field field;
    if (std::move(entry).get(field)) return;
    const json::raw_json_string key = field.key();
    const bool shown = key.unsafe_is_equal("text") || key.unsafe_is_equal("summary");
    const bool is_type = key.unsafe_is_equal("type");
    std::string name(key_text(key));
    std::string text = read_json(field.value(), shown, words, cut);
    has_type = has_type || (is_type && text.starts_with('"'));
    is_large = is_large || detail.members.size() == max_detail_members;
    if (!is_large) detail.members.push_back({std::move(name), std::move(text)});
  }
  if (!has_type || is_large) return;
  details_.push_back(std::move(detail));
  append_piece(words_, cut_, words, cut);
}

// A text keeps its raw form: a surrogate pair that is cut in two is complete only with the next piece.
std::string DetailReader::read_json(json::value& value, bool shown, std::string& words, CutPair& cut) {
  json::json_type type;
  if (value.type().get(type) || type == json::json_type::null) return "null";
  if (type != json::json_type::string) return std::string(json_of(value));
  std::string_view token = value.raw_json_token();
  token = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
  CutPair of_text;
  if (shown)
    if (const auto text = piece_of(value, repair_, broken_, of_text))
      append_piece(words, cut, *text, of_text);
  return std::string(token);
}

}  // namespace agentcore::detail::llm
