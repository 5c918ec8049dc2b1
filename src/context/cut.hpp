// Cuts long texts in the middle, for requests. Pure functions.
#pragma once

#include <agentcore/context.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::context {

// The part of a text that a request leaves out: the bytes from `begin` to `end`, whole characters.
struct Cut {
  std::size_t begin = 0, end = 0;
  bool operator==(const Cut&) const = default;
};

// The cut of a message, by its position.
struct CutMessage {
  std::size_t message = 0;
  Cut cut;
};
using Cuts = std::vector<CutMessage>;  // positions rise

// Looks up rising positions.
class CutReader {
 public:
  explicit CutReader(const Cuts& cuts) noexcept : next_(cuts.begin()), end_(cuts.end()) {}
  // The cut of that message; null: it has none.
  const Cut* at(std::size_t message) noexcept {
    while (next_ != end_ && next_->message < message) ++next_;
    return next_ != end_ && next_->message == message ? &next_->cut : nullptr;
  }

 private:
  Cuts::const_iterator next_, end_;
};

// What of the middle of `text` must go, so that the rest and the note of without() have at most `limit`
// tokens. Nothing: it is short enough, or a cut would not make it shorter. If the note alone has more, all
// goes. The same text always gets the same cut. Counts the text a few times; throws what `count` throws.
std::optional<Cut> middle_of(std::string_view text, std::size_t limit, const TokenCounter& count);

// `text` with a note for the model in place of the cut part. The note says how many bytes are left out.
std::string without(std::string_view text, const Cut& cut);

}  // namespace agentcore::detail::context
