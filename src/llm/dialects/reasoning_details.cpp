#include "llm/dialects/reasoning_details.hpp"

#include "core/json_depth.hpp"
#include "llm/dialects/json_text.hpp"
#include "llm/dialects/request_body.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace agentcore::detail::llm {
namespace {

// The member's JSON; null if it has none.
std::string_view json_at(const ReasoningDetail& entry, std::string_view name) noexcept {
  const auto found = std::ranges::find(entry.members, name, &DetailMember::name);
  return found == entry.members.end() ? "null" : std::string_view(found->json);
}

bool says_something(std::string_view json) noexcept {
  return json != "null" && json != "\"\"";
}

bool comes_in_pieces(std::string_view name) noexcept {
  return name == "text" || name == "summary" || name == "data";
}

bool is_text(std::string_view json) noexcept {
  return json.size() >= 2 && json.front() == '"' && json.back() == '"';
}

bool continues(const ReasoningDetail& entry, const ReasoningDetail& piece) noexcept {
  if (piece.whole || json_at(entry, "type") != json_at(piece, "type")) return false;
  const auto is_set_twice = [&](std::string_view name) {
    return says_something(json_at(entry, name)) && says_something(json_at(piece, name));
  };
  if (is_set_twice("id") && json_at(entry, "id") != json_at(piece, "id")) return false;
  if (is_set_twice("index")) return json_at(entry, "index") == json_at(piece, "index");
  return !says_something(json_at(piece, "data"));
}

std::size_t size_of_member(const DetailMember& member) noexcept {
  return sizeof member + member.name.size() + member.json.size();
}

// A text is written again from its parsed form: half a surrogate pair is left if a server cut the pair and
// sent no second half.
std::string member_text(const DetailMember& member) {
  std::string name, text;
  if (!unescape_json('"' + member.name + '"', name)) return {};
  if (!member.json.starts_with('"')) return json_quoted(name) + ":" + member.json;
  return unescape_json(member.json, text) ? json_quoted(name) + ":" + json_quoted(text) : std::string();
}

// Empty for a text that is not JSON, or is nested too deep to be read inside of a list inside of an object.
std::string entry_text(const ReasoningDetail& entry) {
  std::string text = "{";
  for (const DetailMember& member : entry.members)
    (text += text.size() > 1 ? "," : "") += member_text(member);
  text += '}';
  const bool fits = core::json_depth(text) + 2 <= core::max_json_depth && is_json_object(text);
  return fits ? text : std::string();
}

}  // namespace

bool ReasoningDetails::add(ReasoningDetail piece) {
  if (!entries_.empty() && continues(entries_.back(), piece)) {
    extend(entries_.back(), std::move(piece));
    return true;
  }
  if (entries_.size() == max_reasoning_details) return false;
  bytes_ += sizeof piece;
  for (const DetailMember& member : piece.members) bytes_ += size_of_member(member);
  entries_.push_back(std::move(piece));
  return true;
}

void ReasoningDetails::extend(ReasoningDetail& entry, ReasoningDetail&& piece) {
  for (DetailMember& member : piece.members) {
    const auto found = std::ranges::find(entry.members, member.name, &DetailMember::name);
    if (found != entry.members.end()) {
      extend(*found, std::move(member));
    } else if (entry.members.size() < max_detail_members) {
      bytes_ += size_of_member(member);
      entry.members.push_back(std::move(member));
    }
  }
}

// Texts are joined as JSON, so that the halves of a surrogate pair that was cut in two are joined again.
void ReasoningDetails::extend(DetailMember& member, DetailMember&& piece) {
  if (!says_something(piece.json)) return;
  bytes_ -= member.json.size();
  if (comes_in_pieces(member.name) && is_text(member.json) && is_text(piece.json)) {
    member.json.pop_back();
    member.json.append(piece.json, 1);
  } else {
    member.json = std::move(piece.json);
  }
  bytes_ += member.json.size();
}

std::string ReasoningDetails::text() const {
  std::vector<std::string> texts;
  std::ranges::transform(entries_, std::back_inserter(texts), entry_text);
  std::erase(texts, std::string());
  if (texts.empty()) return {};
  return R"({"reasoning_details":)" + json_list(texts, [](const std::string& text) { return text; }) + "}";
}

}  // namespace agentcore::detail::llm
