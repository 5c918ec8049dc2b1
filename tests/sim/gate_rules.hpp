// GateRules: what agents may begin, by the verbs that were called on them and their ancestors. Written from
// docs/guarantees.md (G1 to G3) and the headers, not from the code.
#pragma once

#include "sim/verdict.hpp"

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
#include <vector>

namespace agentcore::sim {

class GateRules {
 public:
  GateRules(Verdict& verdict, const Clock& clock) : verdict_(verdict), clock_(clock) {}

  // The lease of the agent begins; that of a fork is not known.
  void lease_begins(const std::string& id, Duration lease);
  // It begins again, if it is known.
  void lease_renewed(const std::string& id);
  // No lease of it, or above it, is over.
  bool is_leased(const std::string& id) const;
  // An agent exists from now on.
  void created(const Agent& agent);
  void deleted(const std::string& id);
  // The process, or the tree, has ended: what was paused or closed is asked again.
  void forget();
  void restored(const Agent& agent);

  // What of an agent is its own, for one that is made of its document (checkpoint.hpp).
  struct Own {
    std::optional<bool> stop;  // true: with cascade
    bool is_paused = false;
    std::optional<Duration> lease;
  };
  Own own_of(const std::string& id) const;
  void imported(const std::string& id, const Own& own, bool is_closed);

  // Verbs that have taken effect.
  void stopped(const std::string& id, bool cascade);
  void stopped_all();
  // A deferred stop or delete; no id: of all agents. `escalates`: when it takes effect in any case.
  void deferred(const std::string& id, bool cascade, StopWhen when, std::optional<TimePoint> escalates);
  // A resume of the agent, or a message to one with auto_resume. With `cascade` it opens as well what is
  // below and has no stop of its own. Returns the agents that it opens.
  std::set<std::string> resumed(const std::string& id, bool cascade);
  std::set<std::string> resumed_all();
  void paused(const std::string& id, bool paused);
  void paused_all(bool paused);
  void turn_cut(const std::string& id);  // by an interrupt or an abort
  void turns_cut_below(const std::string& id);

  // Something begins: a function of the host was called for it.
  void begins(const std::string& id, std::string_view what) { is_open(now_, id, what, true); }
  void model_call_begins(const std::string& id);
  // A tool begins. A pause in the callback of its ToolStarted comes too late. `handed_over`: to an executor,
  // which begins it in a pause as well.
  void tool_begins(const std::string& id, bool handed_over);
  // Something for which nothing of the host was called yet: an agent in a pause begins nothing.
  void may_not_be_paused(const std::string& id, std::string_view what);
  // What has begun goes out now, as a part of a turn that was not ended.
  void goes_out(const std::string& id, std::string_view what);
  // How many pauses there were.
  std::uint64_t pauses() const noexcept { return pauses_; }
  bool is_paused(const std::string& id) const { return is_paused(now_, id); }
  bool is_stopped(const std::string& id) const { return now_.agents.contains(id); }
  bool is_cut(const std::string& id, std::uint64_t turn) const;
  // Something arrives, of an operation that had begun.
  void arrives(const std::string& id, std::string_view what) { is_open(now_, id, what, false); }
  // An event. Those that were emitted while a callback ran are delivered after it: a verb of that callback
  // counts for events from the next call of catch_up() on.
  void see(const Event& event);
  void catch_up() { reported_ = now_; }
  // After each step: what is closed is not open.
  void check(const AgentTree& tree);
  // Nothing is due any more: a deferred stop that was to take effect by now has.
  void check_quiet(const AgentTree& tree, TimePoint now);
  // Whether an agent can be created: not below a closed one.
  bool may_create(const std::string& parent) const {
    return !all_stopped_ && (!now_.agents.contains(parent) || being_resumed_.contains(parent));
  }
  // A message was accepted, or refused for the state of its agent.
  void answered(const Agent& agent, const SendResult& sent);

  std::uint64_t turn_of(const std::string& id) const;
  std::string parent_of(const std::string& id) const {
    const auto found = parents_.find(id);
    return found == parents_.end() ? std::string() : found->second;
  }
  // A delete of it was accepted. It may still be as an earlier stop left it: the delete waits for that one.
  void goes(const std::string& id, bool with_forks);
  void forked(const std::string& origin, const std::string& fork) { forks_[origin].insert(fork); }
  bool may_go(const std::string& id) const { return going_.contains(id); }
  // A verb that may resume them has not returned.
  void is_being_resumed(std::set<std::string> ids) { being_resumed_ = std::move(ids); }
  // It was stopped without those below it.
  bool is_stopped_alone(const std::string& id) const {
    const auto own = own_.find(id);
    return own != own_.end() && !own->second;
  }
  std::set<std::string> subtree(const std::string& id) const;
  std::vector<std::string> children(const std::string& id) const;  // that are no people

 private:
  struct Deferred {
    bool cascade = true;
    bool after_step = false;
    std::optional<TimePoint> escalates;
  };
  struct Closed {
    std::set<std::string> agents;
    std::multimap<std::string, Deferred> deferred;  // of each agent; no id: of all
    std::set<std::string> paused;
    bool all_paused = false;
    std::map<std::string, std::uint64_t> turns;  // that an interrupt or an abort has ended
  };

  bool is_paused(const Closed& closed, const std::string& id) const;
  bool is_deferred(const Closed& closed, const std::string& id, bool model_call) const;
  const std::set<std::string>& all_children(const std::string& id) const;  // of "": the roots
  void add_below(const std::string& id, std::set<std::string>& found) const;
  void open_below(const std::string& id, bool cascade, std::set<std::string>& opened);
  void is_open(const Closed& closed, const std::string& id, std::string_view what, bool begins);
  void in_turn(const std::string& id, std::uint64_t turn, std::string_view what);

  Verdict& verdict_;
  const Clock& clock_;
  struct Lease {
    Duration length;
    TimePoint end;
  };
  std::map<std::string, Lease> leases_;
  std::set<std::string> replaced_;              // ids of agents that were deleted: a later one may have them
  std::map<std::string, std::string> parents_;  // of each agent; empty: a root
  std::map<std::string, std::set<std::string>> children_, forks_;
  // Agents on which a stop was called itself since their last resume; true: with cascade.
  std::map<std::string, bool> own_;
  std::map<std::string, std::pair<Own, bool>> imported_;  // whose AgentCreated is still to come
  bool all_stopped_ = false;
  std::set<std::string> being_resumed_;
  std::set<std::string> going_;                 // below an accepted delete
  std::set<std::string> people_;                // AgentRole::user
  std::map<std::string, std::uint64_t> turns_;  // in progress
  Closed now_, reported_;
  std::uint64_t pauses_ = 0;
};

}  // namespace agentcore::sim
