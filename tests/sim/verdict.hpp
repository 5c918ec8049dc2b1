// Verdict: the first thing that was wrong in a run.
#pragma once

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
    if (problem_.empty()) problem_ = std::string(rule) + ": " + what;
  }
  // Empty: nothing was wrong.
  const std::string& problem() const noexcept { return problem_; }

 private:
  std::string problem_;
};

}  // namespace agentcore::sim
