#include "console/routes/task_table.hpp"

#include "console/events/agent_json.hpp"
#include "console/events/event_json.hpp"
#include "console/routes/refused.hpp"
#include "console/routes/twice.hpp"
#include "core/text_hash.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace agentcore::detail::console {
namespace {

constexpr std::size_t kept_keys = 1000;
// Of the events of a task that are kept for its viewers. What is more is not sent, but for its end.
constexpr std::size_t max_event_bytes = 512 << 10;
// Of all tasks that are kept.
constexpr std::size_t max_bytes_of_all = 100 << 20;

constexpr const char* terminated_by_user = "Task terminated by user";

std::string text_of(const DeltaReceived& delta) {
  return std::string(delta.text);
}

// Why a task has ended that is neither completed nor failed.
std::string why_ended(const MessageEnd& end) {
  if (!end.result) return "The message was dropped: " + std::string(drop_word(end.dropped));
  return end.result->error.message.empty() ? terminated_by_user : end.result->error.message;
}

}  // namespace

std::string Task::status() const {
  switch (phase) {
    case Phase::pending:
      return "pending";
    case Phase::running:
      return "running";
    case Phase::completed:
      return "completed";
    case Phase::failed:
      return "failed: " + failure;
    case Phase::terminated:
      return "terminated";
  }
  return {};
}

std::shared_ptr<Task> TaskTable::create(const Agent& agent, std::string prompt) {
  auto task = std::make_shared<Task>();
  task->agent = agent;
  task->agent_id = agent.id();
  SendOptions options;
  options.on_event = [weak = weak_from_this(), task](const Event& event) {
    if (const auto self = weak.lock()) self->take(*task, event);
  };
  options.on_end = [weak = weak_from_this(), task](const MessageEnd& message) {
    if (const auto self = weak.lock()) self->end(*task, message);
  };
  const SendResult sent = agent.send(std::move(prompt), std::move(options));
  if (!sent) throw Refused(sent.reason);
  task->message = sent.id;
  try {
    twice([&] { enter(task); });
  } catch (...) {  // a client that is told of no task must not have sent one
    static_cast<void>(agent.interrupt({.message = sent.id}));
    throw;
  }
  return task;
}

// If it throws, it may be called again.
void TaskTable::enter(const std::shared_ptr<Task>& task) {
  task->id = to_string(task->message);
  const auto [place, is_new] = by_id_.emplace(task->id, task);
  try {
    if (task->events.empty()) publish(*task, {{"type", "status"}, {"status", task->status()}});
    tasks_.push_front(task);
  } catch (...) {
    by_id_.erase(place);
    throw;
  }
  forget_old();
}

std::shared_ptr<Task> TaskTable::find(std::string_view id) const {
  const auto found = by_id_.find(std::string(id));
  return found == by_id_.end() ? nullptr : found->second;
}

bool TaskTable::terminate(Task& task) {
  const std::string reason = terminated_by_user;
  const VerbResult ended = task.agent.interrupt({.message = task.message, .reason = reason});
  if (!ended.accepted()) throw refused_verb(ended.reason);
  if (!ended.took_effect()) return false;
  finish(task, Task::Phase::terminated, twice([&] {
           return Json{{"type", "terminated"}, {"message", reason}};
         }));
  return true;
}

const KeyedTask* TaskTable::find_key(const std::string& key, std::string_view request) const {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  const KeyedTask& known = found->second;
  if (known.request_bytes != request.size() || known.request_hash != core::text_hash(request))
    throw Refused(409, "idempotency_key_in_use", "another request had this Idempotency-Key");
  return &known;
}

void TaskTable::set_key(const std::string& key, std::string_view request, const Task& task) {
  by_key_[key] = {request.size(), core::text_hash(request), task.id, task.agent_id};
  keys_.push_back(key);
  if (keys_.size() <= kept_keys) return;
  by_key_.erase(keys_.front());
  keys_.pop_front();
}

void TaskTable::clear() {
  // Their agents are not shown any more: what waits for them is answered.
  for (const auto& task : tasks_) {
    finish(*task, Task::Phase::terminated,
           {{"type", "terminated"}, {"message", "The tree is not shown any more"}});
    task->on_end.clear();
  }
  tasks_.clear();
  by_id_.clear();
  event_bytes_ = 0;
  by_key_.clear();
  keys_.clear();
}

void TaskTable::take(Task& task, const Event& event) {
  if (task.has_ended()) return;
  if (event.get<TurnStarted>() != nullptr) {
    task.phase = Task::Phase::running;
    return publish(task, {{"type", "status"}, {"status", task.status()}});
  }
  if (const auto* delta = event.get<DeltaReceived>())
    return publish(task, {{"type", "text"}, {"call", delta->call}, {"text", text_of(*delta)}});
  if (const auto* asked = event.get<QuestionAsked>()) {
    task.open_questions.push_back(asked->question.id);
    return publish(task, {{"type", "interaction"}, {"question", to_json(asked->question)}});
  }
  if (const auto* closed = event.get<QuestionClosed>()) {
    std::erase(task.open_questions, closed->question_id);
    return publish(task, {{"type", "interaction_response"},
                          {"questionId", closed->question_id},
                          {"outcome", to_string(closed->outcome)}});
  }
  if (event.get<TurnEnded>() != nullptr || event.get<MessageDropped>() != nullptr) return;  // see end()
  if (Json json = to_json(event); !json.is_null()) publish(task, std::move(json));
}

void TaskTable::end(Task& task, const MessageEnd& end) {
  task.result = end.result;
  task.is_over = true;
  task.open_questions.clear();
  try {
    publish_end(task, end);
  } catch (const std::bad_alloc&) {  // viewers see the end of the stream
    if (!task.has_ended()) task.phase = Task::Phase::terminated;
  }
  for (const auto& waiting : std::exchange(task.on_end, {})) waiting();
  forget_old();
}

void TaskTable::publish_end(Task& task, const MessageEnd& end) {
  if (!end.result ||
      (end.result->outcome != TurnOutcome::completed && end.result->outcome != TurnOutcome::failed))
    return finish(task, Task::Phase::terminated, {{"type", "terminated"}, {"message", why_ended(end)}});
  if (end.result->success()) return finish(task, Task::Phase::completed, {{"type", "complete"}});
  task.failure = end.result->error.message;
  finish(task, Task::Phase::failed, {{"type", "error"}, {"message", task.failure}});
}

// The first end is the only one.
void TaskTable::finish(Task& task, Task::Phase phase, Json event) {
  if (task.has_ended()) return;
  task.phase = phase;
  try {
    publish(task, std::move(event));
  } catch (const std::bad_alloc&) {  // viewers see that the stream ends
    on_change_();
  }
}

void TaskTable::publish(Task& task, Json event) {
  event.set("taskId", task.id);
  event.set("at", to_milliseconds(now_()));
  if (task.event_bytes > max_event_bytes && !task.has_ended()) return;
  task.events.push_back("data: " + to_line(event) + "\n\n");
  task.event_bytes += task.events.back().size();
  event_bytes_ += task.events.back().size();
  on_change_();
}

// Tasks that run are kept, and take no place of those that have ended.
void TaskTable::forget_old() {
  if (tasks_.size() <= kept_ && event_bytes_ <= max_bytes_of_all) return;
  auto ended = static_cast<std::size_t>(
      std::count_if(tasks_.begin(), tasks_.end(), [](const auto& task) { return task->has_ended(); }));
  for (std::size_t i = tasks_.size(); i-- > 0 && (ended > kept_ || event_bytes_ > max_bytes_of_all);) {
    if (!tasks_[i]->has_ended()) continue;
    --ended;
    event_bytes_ -= tasks_[i]->event_bytes;
    by_id_.erase(tasks_[i]->id);
    tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

Stream::Next TaskStream::fill(std::string& out, std::size_t max_bytes) {
  for (; next_ < task_->events.size(); ++next_) {
    if (out.size() >= max_bytes) return Next::more;
    out += task_->events[next_];
  }
  return task_->has_ended() ? Next::end : Next::wait;
}

}  // namespace agentcore::detail::console
