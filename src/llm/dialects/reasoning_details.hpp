// ReasoningDetails: joins the entries of `reasoning_details`. OpenRouter sends in this list the reasoning of
// a model, with the provider's signatures and encrypted parts, and requires the unchanged list back.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::detail::llm {

inline constexpr std::size_t max_reasoning_details = 1000;  // of one answer
inline constexpr std::size_t max_detail_members = 64;       // of one entry

// A member of an entry. Both are JSON as it was sent: the name without its quotes.
struct DetailMember {
  std::string name;
  std::string json;
};

// An entry, or a piece of one. All of it is valid UTF-8.
struct ReasoningDetail {
  std::vector<DetailMember> members = {};
  bool whole = false;  // an entry of its own, never joined with an earlier one
};

// A piece continues the newest entry if both have the same type and index, and not two different ids. A piece
// without an index continues it as well, unless it is encrypted. One object holds the list of one answer.
class ReasoningDetails {
 public:
  // Texts ("text", "summary", "data") are appended to those of the entry; of every other member the newest
  // value that is not null counts. False: more than max_reasoning_details entries; the object cannot be used
  // after that.
  bool add(ReasoningDetail piece);

  // The memory held now, approximately, in bytes.
  std::size_t bytes() const noexcept { return bytes_; }

  // The text of {"reasoning_details":[...]}, without entries that are not JSON; empty if there is none.
  std::string text() const;

 private:
  void extend(ReasoningDetail& entry, ReasoningDetail&& piece);
  void extend(DetailMember& member, DetailMember&& piece);

  std::vector<ReasoningDetail> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace agentcore::detail::llm
