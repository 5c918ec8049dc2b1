// Verdict: the first thing that was wrong in a run.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::sim {

class Verdict {
 public:
  // `rule`: the guarantee, "G1". `what`: what was seen, with the agent or the message.
  void require(bool holds, std::string_view rule, const std::string& what) {
    if (!holds) fail(rule, what);
  }
  void fail(std::string_view rule, const std::string& what) {
    if (problem_.empty() && !ignored_.contains(std::string(rule))) problem_ = std::string(rule) + ": " + what;
  }
  // From now on that rule cannot be checked.
  void ignore(std::string_view rule) { ignored_.emplace(rule); }
  // Empty: nothing was wrong.
  const std::string& problem() const noexcept { return problem_; }

 private:
  std::string problem_;
  std::set<std::string> ignored_;
};

}  // namespace agentcore::sim
