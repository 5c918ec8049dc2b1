#include "support/drive/suspension_story.hpp"

#include "support/drive/conversation_injections.hpp"
#include "support/observe/strict_history.hpp"

#include <agentcore/agent_status.hpp>
#include <agentcore/testing/references.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::test {

SuspensionStory::SuspensionStory(std::size_t inject_at, Injections injections)
    : runtime_({.clock = &clock_, .seed = 1, .log = [this](const LogRecord&) { point(); }}),
      inject_at_(inject_at),
      injections_(injections) {
  tree_ = std::make_unique<AgentTree>(runtime_, TreeOptions{.llm = &client_});
  audit_.emplace(*tree_);
  states_ = tree_->on<StateChanged>([this](const StateChanged&) { point(); });
  events_ = tree_->on_event([this](const Event& event) {
    check_interrupted(event);
    check_withheld(event);
    check_steered(event);
    on_event(event);
    point();
  });
  client_.on_chat = [this](FakeClient&, FakeClient::Call& call) {
    const auto agent = tree_ ? tree_->find(call.request.agent_id) : Result<Agent>(Error{});
    const auto status = agent ? agent->status() : Result<AgentStatus>(Error{});
    const bool stops = status && status->stop_pending == StopWhen::after_step && is_withheld(*agent);
    if (status && (status->paused || stops)) note("a model call began that is withheld");
    point();
  };
  client_.when_stopped = [this] { point(); };
}

std::string SuspensionStory::run() {
  tell();
  end_pause();
  closed_ = true;
  if (tree_) static_cast<void>(parent_.terminate());
  for (int i = 0; i < 4; ++i) {
    runtime_.run_for(std::chrono::seconds(6));  // longer than the grace period
    client_.cancel_stopped();
    client_.answer_all();
    release();
  }
  runtime_.run_for(std::chrono::seconds(6));
  return check_end();
}

std::string SuspensionStory::check_end() {
  if (tree_) {
    if (audit_->open_turns() != 0) return "a turn has no end";
    if (audit_->turns_started != audit_->turns_ended) return "turns and their ends do not pair";
    if (!tree_->tasks().empty()) return "a task is left";
    if (!tree_->questions().empty()) return "a question is left open";
    if (tree_->busy()) return "an operation is left in flight";
    if (tree_->size() != 0) return "an agent is left";
    if (testing::count_references(*tree_, "parent") + testing::count_references(*tree_, "child") != 0)
      return "references are left";
    if (audit_->steered() != steers_) return "a steered message without a fate";
    if (reports_ != reports_expected_) return "a completion did not come, or came twice";
    for (const LaterReport& report : later_reports_)
      if (report.calls > 1 || (report.calls == 0 && report.resumes == resumes_))
        return "the completion of a stop for later did not come, or came twice";
  }
  if (!problem_.empty()) return problem_;
  if (!client_.histories_were_valid()) return "a history that was sent is not valid";
  if (!client_.open_calls().empty()) return "a model call is left open";
  return audit_->problem;
}

void SuspensionStory::point() {
  if (tree_ && problem_.empty()) {
    note(history_problem(parent_, parents_history_));
    note(history_problem(child_, childs_history_));
  }
  if (++passed_ != inject_at_) return;
  if (tree_) inject(injections_.first);
  if (tree_) inject(injections_.second);
}

void SuspensionStory::poll() {
  runtime_.poll();
  point();
}

void SuspensionStory::note(std::string problem) {
  if (problem_.empty()) problem_ = std::move(problem);
}

void SuspensionStory::begins(const Agent& agent) {
  ++tools_started_;
  const auto state = agent.state();
  if (closed_ || !state || !can_process(*state)) note("a tool call began behind a closed gate");
  point();
}

template <typename Options>
Options SuspensionStory::with_report(Options options) {
  options.on_settled = [this](const auto&) {
    ++reports_;
    point();
  };
  return options;
}

// An interrupt has ended the turn when it returns: the agent is idle, and nothing of the turn follows but the
// ends of its calls and its own.
void SuspensionStory::interrupt(const Agent& agent, InterruptOptions options) {
  const bool subtree = options.scope == Scope::subtree;
  const VerbResult result = agent.interrupt(std::move(options));
  if (!result.took_effect()) return;
  for (const Agent& each : {agent, subtree ? child_ : agent}) {
    const auto state = each.state();
    if (!state || !can_process(*state)) continue;
    if (*state != AgentState::idle) note("an agent is not idle after an interrupt");
    interrupted_[each] = last_turn_[each];
  }
}

void SuspensionStory::check_withheld(const Event& event) {
  const auto status = event.agent().status();
  if (!status) return;
  const bool begins_turn = event.get<TurnStarted>();
  const auto* const asked = event.get<QuestionAsked>();
  const auto* const task = event.get<TaskChanged>();
  // A call that was completed by hand before it began has a ToolStarted, too.
  const auto* const tool = event.get<ToolStarted>();
  const bool begins = begins_turn || (tool && !ended_calls_.contains(tool->call_id)) ||
                      (asked && asked->question.kind == QuestionKind::approval) ||
                      (task && task->state == TaskState::started);
  if (begins && status->paused) note("something began in a pause");
  if (begins_turn && status->stop_pending && is_withheld(event.agent()))
    note("a turn began while a stop was pending");
}

// What was parked goes on to its end.
void SuspensionStory::end_pause() {
  if (!tree_ || (!parent_.unpause().took_effect() && !child_.unpause().took_effect())) return;
  static_cast<void>(child_.unpause());
  for (int i = 0; i < 4 && tree_; ++i) {
    runtime_.poll();
    client_.answer_all();
    release();
  }
}

void SuspensionStory::check_interrupted(const Event& event) {
  const Agent& agent = event.agent();
  if (const auto* started = event.get<TurnStarted>()) {
    last_turn_[agent] = started->turn;
    if (agent == parent_) message_ = started->message;
  }
  const auto found = interrupted_.find(agent);
  if (found == interrupted_.end()) return;
  const auto check = [&](std::uint64_t turn) {
    if (turn <= found->second) note("something of an interrupted turn was reported");
  };
  if (const auto* delta = event.get<DeltaReceived>()) check(delta->turn);
  if (const auto* started = event.get<ToolStarted>()) check(started->turn);
  if (const auto* refused = event.get<ToolRefused>()) check(refused->turn);
  if (const auto* asked = event.get<QuestionAsked>()) check(asked->turn);
}

// From the return on, nothing of the model call that was ended for the message is reported.
void SuspensionStory::steer(const Agent& agent, SteerOptions options) {
  const SendResult result = agent.steer("steered", options);
  steers_ += result.accepted();
  if (result.ended_call) cut_[agent] = true;
}

void SuspensionStory::check_steered(const Event& event) {
  const bool over = event.get<ModelCallEnded>() || event.get<TurnEnded>() || event.get<Steered>();
  if (over) cut_.erase(event.agent());
  if (event.get<DeltaReceived>() && cut_.contains(event.agent()))
    note("a delta of a model call that a steer has ended");
}

template <typename End>
void SuspensionStory::end_calls(const End& end) {
  const auto history = parent_.conversation();
  if (!history) return;
  std::vector<std::string> ids;
  for (const ChatMessage& message : *history)
    for (const ToolCall& call : message.tool_calls()) ids.push_back(call.id);
  for (const std::string& id : ids) {
    const VerbResult first = end(parent_, id);
    if (!first.took_effect()) continue;
    ended_calls_.insert(id);
    if (end(parent_, id).took_effect()) note("a tool call was ended twice");
  }
}

void SuspensionStory::inject(Injection injection) {
  switch (injection) {
    case Injection::none:
      break;
    case Injection::abort:
      static_cast<void>(parent_.abort());
      break;
    case Injection::abort_child:
      static_cast<void>(child_.abort({.queue = QueueAction::drop}));
      break;
    case Injection::interrupt:
      interrupt(parent_, {});
      break;
    case Injection::interrupt_and_drop:
      interrupt(parent_, {.queue = QueueAction::drop});
      break;
    case Injection::interrupt_and_hold:
      interrupt(parent_, {.queue = QueueAction::hold});
      break;
    case Injection::interrupt_child_and_release:
      interrupt(child_, {.queue = QueueAction::hold});
      static_cast<void>(child_.release_queue());
      break;
    case Injection::interrupt_subtree:
      interrupt(parent_, {.scope = Scope::subtree});
      break;
    case Injection::steer:
      steer(parent_, {});
      break;
    case Injection::steer_now:
      steer(parent_, {.when = SteerWhen::now});
      break;
    case Injection::steer_child:
      steer(child_, {.when = SteerWhen::now, .fallback = SteerFallback::give_back});
      break;
    case Injection::stop:
      closed_ = parent_.stop(with_report(StopOptions())).accepted() && ++reports_expected_;
      break;
    case Injection::stop_alone:
      reports_expected_ += parent_.stop(with_report(StopOptions{.scope = Scope::agent})).accepted();
      break;
    case Injection::stop_child:
      reports_expected_ += child_.stop(with_report(StopOptions())).accepted();
      break;
    case Injection::stop_all:
      closed_ = tree_->stop_all(with_report(StopOptions())).accepted() && ++reports_expected_;
      break;
    case Injection::resume:
      resume_parent();
      break;
    case Injection::stop_and_resume:
      static_cast<void>(parent_.stop());
      static_cast<void>(parent_.resume());
      break;
    case Injection::terminate:
      closed_ = parent_.terminate(with_report(TerminateOptions())).accepted() && ++reports_expected_;
      break;
    case Injection::terminate_child:
      reports_expected_ += child_.terminate(with_report(TerminateOptions())).accepted();
      break;
    case Injection::cancel_task:
      for (const RunningTask& task : tree_->tasks())
        if (task.kind == RunningTask::Kind::background)
          static_cast<void>(tree_->cancel_task(task.id, {.reason = "for a test"}));
      break;
    case Injection::cancel_call:
      end_calls([](const Agent& agent, const std::string& id) {
        return agent.cancel_call(id, {.reason = "for a test"});
      });
      break;
    case Injection::complete_call:
      end_calls([](const Agent& agent, const std::string& id) {
        return agent.complete_call(id, ToolResult::done("by hand"));
      });
      break;
    case Injection::deadline:
      clock_.advance(2 * time_of_a_turn);
      interrupted_[parent_] = last_turn_[parent_];
      break;
    case Injection::lease:
      clock_.advance(lease);
      interrupted_[parent_] = last_turn_[parent_];
      break;
    case Injection::pause:
      static_cast<void>(parent_.pause());
      break;
    case Injection::pause_child:
      static_cast<void>(child_.pause());
      break;
    case Injection::pause_and_unpause:
      static_cast<void>(parent_.pause());
      static_cast<void>(parent_.unpause());
      break;
    case Injection::stop_after_step:
      stop_later(parent_, {.when = StopWhen::after_step});
      break;
    case Injection::stop_after_turn:
      stop_later(parent_, {.when = StopWhen::after_turn, .escalate_after = std::chrono::seconds(3)});
      break;
    case Injection::stop_alone_later:
      stop_later(parent_, {.scope = Scope::agent, .when = StopWhen::after_step});
      break;
    case Injection::stop_child_later:
      stop_later(child_, {.when = StopWhen::after_step});
      break;
    case Injection::stop_later_and_resume:
      stop_later(parent_, {.when = StopWhen::after_step});
      resume_parent();
      break;
    case Injection::terminate_later:
      terminate_later();
      break;
    case Injection::rewind:
    case Injection::regenerate:
    case Injection::fork:
    case Injection::truncate_answer:
    case Injection::acknowledge:
      if (bool ended = false; note(change_conversation(injection, parent_, message_, ended)), ended)
        interrupted_[parent_] = last_turn_[parent_];
      break;
    case Injection::destroy:
      tree_.reset();
      audit_->closed = true;
      break;
  }
}

void SuspensionStory::create_parent(AgentSpec spec) {
  point();
  if (!tree_) return;
  spec.id = "parent";
  spec.limits.lease = lease;
  if (const auto made = tree_->create(std::move(spec))) parent_ = *made;
  point();
}

void SuspensionStory::send(const Agent& agent, std::string_view text) {
  point();
  static_cast<void>(agent.send(std::string(text)));
  point();
}

void SuspensionStory::stop_parent() {
  reports_expected_ += parent_.stop(with_report(StopOptions())).accepted();
  point();
}

void SuspensionStory::resume_parent() {
  if (!parent_.resume().took_effect()) return;
  closed_ = false;
  ++resumes_;
}

// A stop of the subtree that took effect includes the child.
void SuspensionStory::stop_later(const Agent& agent, StopOptions options) {
  const bool includes_child = options.scope == Scope::subtree && agent == parent_;
  LaterReport& report = later_reports_.emplace_back(LaterReport{.resumes = resumes_});
  options.on_settled = [this, &report](const StopReport&) { count(report); };
  const VerbResult result = agent.stop(std::move(options));
  if (!result.accepted()) return later_reports_.pop_back();
  const auto child = result.took_effect() && includes_child ? child_.status() : Result<AgentStatus>(Error{});
  if (child && can_process(child->state) && !child->stop_pending) note("a stop for later left the child out");
}

void SuspensionStory::terminate_later() {
  LaterReport& report = later_reports_.emplace_back(LaterReport{.resumes = resumes_});
  TerminateOptions options{.when = StopWhen::after_step};
  options.on_settled = [this, &report](const StopReport&) { count(report); };
  if (!parent_.terminate(std::move(options)).accepted()) later_reports_.pop_back();
}

void SuspensionStory::count(LaterReport& report) {
  ++report.calls;
  point();
}

void SuspensionStory::terminate_parent() {
  reports_expected_ += parent_.terminate(with_report(TerminateOptions())).accepted();
  point();
}

FakeClient::Call* SuspensionStory::oldest_call() const {
  const auto open = client_.open_calls();
  return open.empty() ? nullptr : open.front();
}

void SuspensionStory::deliver(FakeClient::Call& call, std::string_view text) {
  call.sink.delta(text);
  point();
}

void SuspensionStory::end(FakeClient::Call& call, ChatOutcome outcome) {
  FakeClient::finish(call, std::move(outcome));
  point();
}

}  // namespace agentcore::test
