// TurnRules: until when a turn may go on, how it ends, and how much of it there may be (G1, G10, G15).
#pragma once

#include "sim/verdict.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/agent_tree.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/event.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::sim {

class TurnRules {
 public:
  struct Limits {
    Duration timeout = no_limit;
    std::size_t parallel = 1, tasks = 0;
    std::uint32_t rounds = 12, repairs = 1;
    std::size_t mailbox = no_limit;
    bool is_handled = false;
  };

  TurnRules(Verdict& verdict, const Clock& clock) : verdict_(verdict), clock_(clock) {}

  void tree_has(const TreeOptions& options) {
    max_reasks_ = options.max_reasks;
    mailbox_limit_ = options.mailbox_limit;
  }
  // What commands have made, with that spec.
  void created(const std::string& id, const AgentSpec& spec);
  void forked(const std::string& from, const std::string& id);
  // Those that are left to it, if its spec is known; and of an agent that is made of its document.
  std::optional<Limits> limits_of(const std::string& id) const;
  void imported(const std::string& id, const std::optional<Limits>& limits);
  // Agents with a handler, of whose ids the store has no earlier agent.
  std::set<std::string> handled() const;
  void accepted(MessageId id, std::optional<TimePoint> deadline);
  // A send of the host has returned.
  void sent(const Agent& agent, const SendResult& sent);
  // Between polls: a verb has ended the turn in progress.
  void ended_by_verb(const std::string& agent, std::uint64_t turn, TurnOutcome outcome);
  // A poll begins.
  void polled() { polled_at_ = clock_.now(); }
  // A tool of that turn begins; `handed_over`: on a thread of the host, where only a poll ends what is late.
  void tool_begins(const std::string& agent, std::uint64_t turn, bool handed_over) const;
  void model_call_begins(const std::string& agent, std::uint64_t turn);
  // The host has given the result of that call: it runs nothing.
  void given(const std::string& agent, const std::string& call) { given_.insert({agent, call}); }
  void see(const Event& event);
  // The process has ended; agents may be restored.
  void process_ended();
  void keep_only(const AgentTree& tree);

 private:
  using Turn = std::pair<std::string, std::uint64_t>;
  struct Reasks {
    std::uint32_t all = 0, of_answers = 0;
  };
  void begins_at(TimePoint now, const Turn& turn, std::string_view what) const;
  void see_tools(const Event& event, const std::string& id);
  void end(const TurnEnded& ended, const std::string& id);

  Verdict& verdict_;
  const Clock& clock_;
  TimePoint polled_at_ = {};
  std::uint32_t max_reasks_ = 0;
  std::size_t mailbox_limit_ = 0;
  std::map<std::string, Limits> limits_;  // of agents whose spec is known
  std::set<std::string> deleted_;         // a restart may bring these back
  std::set<std::string> deleted_here_;    // in this process: the store may still have them
  std::set<std::string> made_again_;      // with such an id
  std::map<MessageId, TimePoint> deadlines_;
  std::map<Turn, TimePoint> until_;
  std::map<Turn, TurnOutcome> outcomes_;
  std::map<Turn, Reasks> reasks_;
  std::set<std::pair<std::string, std::string>> given_;         // agents and calls
  std::map<std::string, std::set<std::string>> calls_, tasks_;  // that run, of each agent
  std::map<std::string, std::uint64_t> ended_;                  // the last turn that has ended
};

}  // namespace agentcore::sim
