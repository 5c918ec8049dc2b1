// TaskRules: what the console says of tasks, and how long the agents exist that were made for one.
#pragma once

#include "sim/verdict.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/event.hpp>
#include <agentcore/message.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::sim {

class TaskRules {
 public:
  TaskRules(Verdict& verdict, const Clock& clock) : verdict_(verdict), clock_(clock) {}

  // A console shows the tree: with these options.
  void shown(Duration retention, std::size_t kept);
  // Another owner has restored the tree from the store, and has perhaps ended its turns.
  void store_is_left() noexcept { is_left_ = true; }
  // A verb was called that drops messages of the agent: the tree may end before that is reported.
  void may_drop(const std::string& agent);
  // Its process, or its tree, has ended.
  void tree_ended();
  // 201: the task of that agent; `alone`: which was made for it.
  void created(const std::string& task, const std::string& agent, bool alone, bool stored);
  // The same with a key: a second request is no second task.
  void has_key(const std::string& key, const std::string& body, const std::string& task);
  // A request for a task may have no answer that is seen.
  void may_be_created() noexcept { all_are_known_ = all_were_known_ = false; }
  // So many requests for tasks have no answer yet.
  void are_asked(std::size_t count) noexcept { asked_ = count; }
  // A message was accepted, by whatever way.
  void got(const std::string& agent, MessageId message);
  void see(const Event& event);

  // What the console has answered. `was_over`: the task had ended before it was asked.
  void says_status(const std::string& task, std::string_view status, bool was_over);
  void says_result(const std::string& task, bool success);
  void says_no_result(const std::string& task);
  void says_unknown(const std::string& task);
  void says_not_ended(const std::string& task, bool was_over);
  void says_terminated(const std::string& task);
  // The whole stream of its events.
  void says_events(const std::string& task, const std::string& stream);

  bool is_over(const std::string& task) const { return ends_.contains(task); }
  std::string agent_of(const std::string& task) const {
    const auto found = tasks_.find(task);
    return found == tasks_.end() ? std::string() : found->second;
  }
  // One that was created here; any other text if there is none.
  std::string any(std::uint32_t n) const;
  // Nothing is due: agents whose time is over are gone.
  void check_quiet(const AgentTree& tree);

 private:
  enum class End : std::uint8_t { completed, failed, terminated };
  struct MadeFor {
    std::string task;
    bool stored = false;               // the store has its mark
    bool is_sure = true;               // it has the mark
    bool had_end = false;              // before this process
    bool may_have_ended = false;       // the same, in another owner of the store, or without an event
    bool may_drop = false;             // a verb that drops messages was called since the last quiet poll
    std::optional<TimePoint> since;    // its task had ended then, or the process had begun
    std::optional<TimePoint> seen_at;  // the same, when nothing was due: time may pass in a callback
  };
  // What an agent got beside its task.
  struct Use {
    std::set<MessageId> got;
    std::set<MessageId> begun;  // in this process: the store has perhaps not heard of earlier ones
    bool is_more = false;       // a child, a background task, a steered message
    bool is_more_here = false;
  };
  bool has_more(const std::string& agent, const MadeFor& made, bool here) const;
  void is_used(const std::string& agent);
  void deleted_after_its_task(const std::string& agent);

  Verdict& verdict_;
  const Clock& clock_;
  Duration retention_ = Duration(0);
  std::size_t kept_ = 0;
  bool all_are_known_ = true;   // in this process
  bool all_were_known_ = true;  // and before
  std::size_t asked_ = 0;
  bool is_left_ = false;
  std::map<std::string, End> ends_;  // of messages, by the ids of their tasks, in this process
  std::map<std::string, TimePoint> ended_at_;
  std::map<std::string, std::string> tasks_;  // of this process: their agents
  std::vector<std::string> order_;
  std::set<std::string> terminated_;                                 // by a request
  std::map<std::string, std::pair<std::string, std::string>> keys_;  // the body and the task
  std::map<std::string, MadeFor> made_;                              // agents
  std::map<std::string, Use> uses_;
  std::size_t ended_here_ = 0;  // agents that were made for a task, whose task has ended in this process
};

}  // namespace agentcore::sim
