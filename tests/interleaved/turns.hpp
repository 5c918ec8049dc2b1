// Turns: which turns are over for sure, because a verb that ends them has returned (G1). Written from
// docs/guarantees.md and the headers, not from the code.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace agentcore::interleaved {

// A turn whose TurnStarted was seen before an interrupt or an abort was called is over when that returns with
// an effect, whether the verb has ended it or it had ended before.
class Turns {
 public:
  struct Over {
    std::uint64_t turn = 0;  // and all before
    bool quiet = true;       // the loop was in no action of the agent
    std::uint64_t poll = 0;  // the number of the poll that ran then, or had run
    std::uint64_t at = 0;    // the time of the return: Gates::now()
  };

  void started(const std::string& id, std::uint64_t turn) { newest_[id] = turn; }
  // 0: none.
  std::uint64_t newest(const std::string& id) const {
    const auto found = newest_.find(id);
    return found == newest_.end() ? 0 : found->second;
  }
  void end(const std::string& id, const Over& over) {
    if (over.turn == 0) return;
    Over& known = over_[id];
    if (over.turn > known.turn || (over.turn == known.turn && over.quiet)) known = over;
  }
  // Null: nothing is known to be over.
  const Over* find(const std::string& id, std::uint64_t turn) const {
    const auto found = over_.find(id);
    return found == over_.end() || turn == 0 || turn > found->second.turn ? nullptr : &found->second;
  }

 private:
  std::map<std::string, std::uint64_t> newest_;
  std::map<std::string, Over> over_;
};

}  // namespace agentcore::interleaved
