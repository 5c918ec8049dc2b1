// The state table: all 36 pairs, and the words.
#include "support/drive/tree_fixture.hpp"

#include <set>
#include <string>
#include <utility>

using namespace agentcore;

namespace {

constexpr AgentState all[] = {AgentState::idle,     AgentState::waiting_llm, AgentState::processing,
                              AgentState::stopping, AgentState::stopped,     AgentState::terminating};

}  // namespace

TEST_CASE("the state table allows exactly the documented transitions",
          "[core][B3][B4][B5][B6][B7][B8][B9][B10][B12][B13][X4]") {
  using S = AgentState;
  const std::set<std::pair<S, S>> allowed = {
      {S::idle, S::waiting_llm},       {S::idle, S::processing},          // B3 B4
      {S::waiting_llm, S::processing}, {S::waiting_llm, S::idle},         // B5 B12
      {S::processing, S::idle},        {S::processing, S::waiting_llm},   // B6 B7
      {S::idle, S::stopping},          {S::waiting_llm, S::stopping},     // B8
      {S::processing, S::stopping},    {S::stopping, S::stopped},         // B8 B9
      {S::idle, S::terminating},       {S::waiting_llm, S::terminating},  // B10
      {S::processing, S::terminating}, {S::stopped, S::terminating},      // B10
      {S::stopped, S::idle},                                              // resume
  };
  int pairs = 0;
  for (const S from : all)
    for (const S to : all) {
      INFO(to_string(from) << " -> " << to_string(to));
      CHECK(is_allowed(from, to) == allowed.contains({from, to}));
      ++pairs;
    }
  CHECK(pairs == 36);
}

TEST_CASE("each state has its documented name", "[core][B1]") {
  const char* const words[] = {"idle", "waiting_llm", "processing", "stopping", "stopped", "terminating"};
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(to_string(all[i]) == words[i]);
    CHECK(agent_state_from_string(words[i]) == all[i]);
  }
  CHECK(agent_state_from_string("Idle") == std::nullopt);
  CHECK(agent_state_from_string("") == std::nullopt);
  CHECK(to_string(static_cast<AgentState>(9)) == "unknown");
}

TEST_CASE("can_process and is_stopped tell the states apart", "[core][B16][B17]") {
  for (const AgentState state : all) {
    CHECK(can_process(state) ==
          (state == AgentState::idle || state == AgentState::waiting_llm || state == AgentState::processing));
    CHECK(is_stopped(state) == (state == AgentState::stopping || state == AgentState::stopped));
  }
}

TEST_CASE("the names of refusals are those of the protocol", "[core][G12][A11][A12][A13][X5][X10]") {
  const std::pair<Errc, const char*> words[] = {
      {Errc::none, ""},
      {Errc::missing_agent_id, "missing_agent_id"},
      {Errc::agent_not_found, "agent_not_found"},
      {Errc::runtime_gone, "runtime_gone"},
      {Errc::agent_stopping, "agent_stopping"},
      {Errc::agent_stopped, "agent_stopped"},
      {Errc::agent_terminating, "agent_terminating"},
      {Errc::mailbox_full, "mailbox_full"},
      {Errc::message_too_large, "message_too_large"},
      {Errc::invalid_utf8, "invalid_utf8"},
      {Errc::empty_message, "empty_message"},
      {Errc::out_of_memory, "out_of_memory"},
      {Errc::not_waiting_llm, "not_waiting_llm"},
      {Errc::not_stopped, "not_stopped"},
      {Errc::parent_stopped, "parent_stopped"},
      {Errc::call_not_found, "call_not_found"},
      {Errc::call_over, "call_over"},
      {Errc::not_child_agent, "not_child_agent"},
      {Errc::cannot_delete_system_agent, "cannot_delete_system_agent"},
      {Errc::cannot_stop_user, "cannot_stop_user"},
      {Errc::cancelled, "cancelled"},
  };
  for (const auto& [code, word] : words) CHECK(to_string(code) == word);
}

TEST_CASE("every error code and stop cause has its own name", "[core][G12]") {
  std::set<std::string> seen;
  for (int i = 0; i <= static_cast<int>(Errc::store_failed); ++i)
    seen.emplace(to_string(static_cast<Errc>(i)));
  CHECK(seen.size() == static_cast<std::size_t>(Errc::store_failed) + 1);
  CHECK_FALSE(seen.contains("unknown"));
  std::set<std::string> causes;
  for (int i = 0; i <= static_cast<int>(StopCause::terminate); ++i)
    causes.emplace(to_string(static_cast<StopCause>(i)));
  CHECK(causes == std::set<std::string>{"user", "parent", "deadline", "budget", "shutdown", "terminate"});
}

TEST_CASE("a result is a value or an error", "[core]") {
  const Result<int> good = 7;
  const Result<int> bad = Error{Errc::agent_limit, "full"};
  CHECK(good.value() == 7);
  CHECK(*good == 7);
  CHECK(bad.value_or(3) == 3);
  CHECK(bad.error().code == Errc::agent_limit);
  CHECK_THROWS_AS(bad.value(), BadResultAccess);
  CHECK_THROWS_WITH(bad.value(), "agent_limit: full");
}
