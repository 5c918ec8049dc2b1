// TaskTable: the tasks that were given to agents over HTTP.
#pragma once

#include "console/events/json.hpp"
#include "console/http/stream.hpp"

#include <agentcore/agent.hpp>
#include <agentcore/event.hpp>
#include <agentcore/message.hpp>
#include <agentcore/turn_result.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace agentcore::detail::console {

// A message that was sent as a task, and its turn.
struct Task {
  enum class Phase : std::uint8_t { pending, running, completed, failed, terminated };

  std::string id = {};  // to_string() of the message
  MessageId message = {};
  Agent agent = {};
  std::string agent_id = {};
  Phase phase = Phase::pending;
  std::string failure = {};                       // why it failed
  std::shared_ptr<const TurnResult> result = {};  // null: no turn has ended
  bool is_over = false;  // the message has ended: `result` is final. A terminated task is over a poll later
  std::vector<std::string> open_questions = {};    // the oldest first
  std::vector<std::string> events = {};            // "data: ...\n\n"
  std::size_t event_bytes = 0;                     // of these
  std::vector<std::function<void()>> on_end = {};  // called when it is over

  bool has_ended() const noexcept { return phase > Phase::running; }
  // "pending", "running", "completed", "failed: REASON", "terminated"
  std::string status() const;
};

// A task that was created with an Idempotency-Key. It may not be kept any more.
struct KeyedTask {
  std::size_t request_bytes = 0;
  std::uint64_t request_hash = 0;  // distinguishes two requests with the same key
  std::string task_id = {};
  std::string agent_id = {};
};

// Keeps the tasks that run, and the last of those that ended. The first end counts. @loop_thread
class TaskTable : public std::enable_shared_from_this<TaskTable> {
 public:
  // `now`: the time of events. `on_change`: a task has more events. `kept`: the number of ended tasks.
  TaskTable(std::function<WallTime()> now, std::function<void()> on_change, std::size_t kept)
      : now_(std::move(now)), on_change_(std::move(on_change)), kept_(kept) {}

  // Sends `prompt` to the agent. Throws Refused if the agent does not take it.
  std::shared_ptr<Task> create(const Agent& agent, std::string prompt);
  // Null: there is no such task, or it is not kept any more.
  std::shared_ptr<Task> find(std::string_view id) const;
  // The tasks, the newest first.
  const std::deque<std::shared_ptr<Task>>& tasks() const noexcept { return tasks_; }
  // Ends the task as terminated: its turn, or the message if it still waits. The agent goes on. False: the
  // task was just ending by itself.
  bool terminate(Task& task);

  // What was created with this key; null: nothing. `request`: what was asked for with it. Throws Refused if
  // that was something else.
  const KeyedTask* find_key(const std::string& key, std::string_view request) const;
  void set_key(const std::string& key, std::string_view request, const Task& task);
  void clear();

 private:
  void take(Task& task, const Event& event);
  void end(Task& task, const MessageEnd& end);
  void publish_end(Task& task, const MessageEnd& end);
  void finish(Task& task, Task::Phase phase, Json event);
  void enter(const std::shared_ptr<Task>& task);
  void publish(Task& task, Json event);
  void forget_old();

  const std::function<WallTime()> now_;
  const std::function<void()> on_change_;
  const std::size_t kept_;
  std::size_t event_bytes_ = 0;  // of all tasks
  std::deque<std::shared_ptr<Task>> tasks_;
  std::unordered_map<std::string, std::shared_ptr<Task>> by_id_;
  std::unordered_map<std::string, KeyedTask> by_key_;
  std::deque<std::string> keys_;  // the oldest first
};

// The events of one task, until its end.
class TaskStream final : public Stream {
 public:
  explicit TaskStream(std::shared_ptr<const Task> task) : task_(std::move(task)) {}

  Next fill(std::string& out, std::size_t max_bytes) override;
  std::string heartbeat() const override { return ": nothing new\n\n"; }

 private:
  const std::shared_ptr<const Task> task_;
  std::size_t next_ = 0;
};

}  // namespace agentcore::detail::console
