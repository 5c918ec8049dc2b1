// ReasoningDetails: puts the entries of `reasoning_details` together. OpenRouter tells there, in a list, what
// a model thought, what its provider signed of it and what it encrypted, and wants that list back as it was.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::llm {

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
  bool whole = false;  // an entry of its own, whatever came before
};

// A piece goes on with the newest entry if both have the same type and index, and no two ids. What has no
// index goes on as well, but not with what is encrypted. One list is of one answer.
class ReasoningDetails {
 public:
  // Texts ("text", "summary", "data") are added to those of the entry; of every other member the newest
  // counts that says anything. False: more than max_reasoning_details entries. The list is spent then.
  bool add(ReasoningDetail piece);

  // Held now, about.
  std::size_t bytes() const noexcept { return bytes_; }

  // The text of {"reasoning_details":[...]}, without entries that are no JSON; empty if there is none.
  std::string text() const;

 private:
  void extend(ReasoningDetail& entry, ReasoningDetail&& piece);
  void extend(DetailMember& member, DetailMember&& piece);

  std::vector<ReasoningDetail> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace agentcore::llm
