#include "interleaved/world.hpp"

#include <agentcore/event.hpp>
#include <agentcore/history.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace agentcore::interleaved {

bool HeldJobs::run_one() {
  if (jobs_.empty()) return false;
  const std::function<void()> job = std::move(jobs_.front());
  jobs_.pop_front();
  job();
  return true;
}

World::World(const Script& script) : script_(script) {
  handles_.reserve(64);
  ids_.reserve(64);
  held_.reserve(256);
}
World::~World() = default;

void World::require(bool holds, std::string_view rule, const std::string& what) {
  if (!holds && verdict_.problem().empty()) scheduler_->say("! " + std::string(rule) + ": " + what);
  verdict_.require(holds, rule, what);
}

AgentSpec World::spec(std::uint32_t number) {
  AgentSpec made;
  made.id = "a" + std::to_string(number);
  made.parallel_tools = 2;
  made.tools = tools_;
  if (script_.lease != 0 && number == 1) made.lease = std::chrono::seconds(1);
  if (script_.handler != 0 && number != 0 && number + 1 == script_.agents)
    made.handler = [this](const Agent& handled, const Message&) {
      begins(handled.id(), "a handler", true);
      scheduler_->step();
    };
  return made;
}

void World::add_tools() {
  tools_ = std::make_shared<ToolRegistry>();
  tools_->add({.spec = {.name = "slow"},
               .start = [this](const nlohmann::json&, const ToolContext& context, ToolDone done) {
                 begins_call(context, true);
                 held_.push_back(std::make_shared<Held>(context.agent().id(), context, std::move(done)));
               }});
  tools_->add(make_blocking_tool({.name = "blocking"}, &jobs_,
                                 [this](const nlohmann::json&, const ToolContext& context) {
                                   begins_call(context, false);
                                   scheduler_->step();
                                   return ToolResult::done("a blocking result");
                                 }));
}

// Before the other threads begin.
void World::prepare() {
  any_close_ = script_.lease != 0;
  runtime_ = std::make_unique<Runtime>(RuntimeOptions{
      .clock = &clock_, .seed = 1, .poll_budget = std::chrono::milliseconds(script_.budget == 0 ? 0 : 4)});
  client_ = std::make_unique<test::FakeClient>(*runtime_);
  client_->on_chat = [this](test::FakeClient&, test::FakeClient::Call& call) {
    begins(call.request.agent_id, "a model call", true);
  };
  add_tools();
  tree_ = std::make_unique<AgentTree>(*runtime_, TreeOptions{.llm = client_.get()});
  audit_ = std::make_unique<test::Audit>(*tree_);
  events_ = tree_->on_event([this](const Event& event) { on_event(event); });
  renew_wake();
  for (std::uint32_t i = 0; i < script_.agents; ++i) {
    Result<Agent> made = i == 0 ? tree_->create(spec(i)) : handles_[(i - 1) / 2].create_child(spec(i));
    family_.add("a" + std::to_string(i), i == 0 ? "" : ids_[(i - 1) / 2]);
    ids_.push_back("a" + std::to_string(i));
    handles_.push_back(std::move(made).value());
  }
  for (std::uint32_t i = 0; i < script_.warm; ++i)
    send([&](SendOptions options) { return agent(i).send("hello", std::move(options)); }, ids_[i]);
  while (runtime_->poll()) {
  }
}

void World::run(Scheduler& scheduler, std::uint32_t thread) {
  if (thread == 0) {
    scheduler_ = &scheduler;
    scheduler.quietly([this] { prepare(); });
  }
  for (const Command& command : script_.threads[thread]) {
    scheduler.begin_command(to_text(command));
    scheduler.step();
    if (!runtime_ && !destroyed_) return;  // the preparation has failed
    if (thread == 0) {                     // each command of the loop thread is an action of the loop
      ++polls_;
      in_poll_ = true;
    }
    act(command);
    if (thread == 0) in_poll_ = false;
    ++counts_[std::string(name(command.act))];
    check_closed();
  }
  if (thread != 0) return;
  scheduler.begin_command("the end");
  drive();
  if (!destroyed_) finish();
  if (!destroyed_) check_ends();
  if (audit_) require(audit_->problem.empty(), "events", audit_->problem);
  destroy(true);
}

void World::poll() {
  if (destroyed_) return;
  ++polls_;
  const bool within = std::exchange(in_poll_, true);
  scheduler_->forget_wake();
  has_more_ = runtime_->poll();
  scheduler_->say(has_more_ ? "= more" : "= no more");
  in_poll_ = within;
}

void World::wake() {
  scheduler_->wake(0);
}

// Within the function others may notify: it is called again then, by the same thread.
void World::renew_wake() {
  if (destroyed_) return;
  const std::uint64_t number = current_wake_ + 1;
  wakes_ = runtime_->on_wake([this, number] {
    require(!in_wake_, "on_wake", "it is called in parallel with itself");
    in_wake_ = true;
    require(number >= current_wake_, "on_wake", "a function that was replaced is called");
    scheduler_->step();
    require(number >= current_wake_, "on_wake", "a function that was replaced runs on");
    in_wake_ = false;
    wake();
  });
  current_wake_ = number;
}

// What a host does between two polls: it believes what the poll has returned, and on_wake().
void World::sleep() {
  if (destroyed_ || has_more_) return;
  if (scheduler_->sleep()) return poll();
  require(!scheduler_->quietly([this] { return is_due(); }), "wake-up",
          "work is due, nobody called on_wake(), and the loop sleeps");
}

bool World::is_due() const {
  const auto deadline = runtime_->next_deadline();
  return deadline && *deadline <= clock_.now();
}

void World::drive() {
  if (destroyed_) {
    while (scheduler_->sleep()) {
    }
    return;
  }
  for (int rounds = 0; rounds < 5'000; ++rounds) {
    poll();
    check_closed();
    if (has_more_ || scheduler_->sleep()) continue;
    require(!scheduler_->quietly([this] { return is_due(); }), "wake-up",
            "work is due, nobody called on_wake(), and the loop sleeps");
    return;
  }
  require(false, "G5", "the loop never sleeps");
}

void World::finish() {
  const std::size_t opened = pauses_.begin_open("", false);
  static_cast<void>(tree_->unpause_all());
  for (const Agent& one : handles_) {
    static_cast<void>(one.unpause());
    static_cast<void>(one.release_queue());
  }
  pauses_.end_open(opened);
  for (int rounds = 0; rounds < 3'000; ++rounds) {
    poll();
    client_->cancel_stopped();
    client_->answer_all();
    for (std::uint32_t i = 0; i < held_.size(); ++i) end_tool(i);
    while (jobs_.run_one()) {
    }
    if (is_due()) continue;
    const auto deadline = runtime_->next_deadline();
    if (!tree_->busy() && client_->open_calls().empty()) return;
    if (deadline) clock_.advance(*deadline - clock_.now());
  }
  std::string busy;
  for (const RunningTask& task : tree_->tasks()) busy += ' ' + task.agent_id;
  require(false, "G5", "it does not come to rest:" + busy);
}

void World::check_ends() {
  check_closed();
  for (const Sent& sent : sent_)
    require(sent.ends == (sent.accepted ? 1 : 0), "G10",
            "a message to " + sent.agent + (sent.accepted ? " was accepted" : " was refused") + " and has " +
                std::to_string(sent.ends) + " ends");
  require(reports_ == reports_due_, "G4",
          std::to_string(reports_due_) + " stops were accepted, and " + std::to_string(reports_) +
              " have settled");
  for (const auto& [thread, count] : posted_)
    require(ran_[thread] == count, "post",
            "of " + std::to_string(count) + " functions " + std::to_string(ran_[thread]) + " were called");
  for (const auto& [id, count] : closers_)
    require(alone_[id] || count <= 1 + openers_[id], "G2",
            std::to_string(count) + " stops of " + id + " took effect, and " + std::to_string(openers_[id]) +
                " resumes were called");
  for (const auto& [id, count] : deleters_)
    require(count <= 1, "G2", std::to_string(count) + " deletes of " + id + " took effect");
  require(audit_->open_turns() == 0, "G10", "a turn has no end");
  require(client_->histories_were_valid(), "G8", "a history is not valid");
  for (const Agent& one : handles_) {
    const auto history = one.conversation();
    require(!history || is_valid_history(history.value()), "G8",
            "the history of " + one.id() + " is not valid");
    const auto state = one.state();
    require(!state || state.value() == AgentState::idle || state.value() == AgentState::stopped, "G4",
            one.id() + " has not settled");
  }
}

void World::destroy(bool with_runtime) {
  if (tree_users_ != 0) return;
  destroyed_ = true;  // before other threads may run
  tree_.reset();
  if (audit_) {
    require(audit_->problem.empty(), "events", audit_->problem);
    audit_->closed = true;
  }
  events_.reset();
  if (!with_runtime) return;
  held_.clear();
  wakes_.reset();
  client_.reset();
  runtime_.reset();
  audit_.reset();
}

void World::check_closed() {
  if (destroyed_) return;
  scheduler_->quietly([this] {
    for (const auto& [id, closed] : stops_.all()) {
      const auto number = static_cast<std::size_t>(std::ranges::find(ids_, id) - ids_.begin());
      const auto state = handles_[number].state();
      require(!state || !can_process(state.value()), "G3", id + " is open after a stop has returned");
    }
  });
}

void World::begins(const std::string& id, std::string_view what, bool called_directly, bool also_in_pause) {
  const auto check = [&](const Gates& gates, std::string_view verb) {
    const Gates::Closed* const closed = gates.find(id);
    if (!closed) return;
    require(!(called_directly && closed->quiet) && closed->poll == polls_ && in_poll_, "G1",
            std::string(what) + " of " + id + " after a " + std::string(verb) + " has returned");
  };
  check(stops_, "stop");
  if (!also_in_pause) check(pauses_, "pause");
}

void World::begins_call(const ToolContext& context, bool on_loop) {
  Call& call = known_calls_[context.call_id()];
  require(!call.begun, "G9", "a tool call begins twice");
  require(!call.never, "G9", "a tool call begins that was reported as not_started");
  call.begun = true;
  const std::string id = context.agent().id();
  if (on_loop) return begins(id, "a tool call", true);
  const Gates::Closed* const closed = stops_.find(id);
  require(!closed || closed->at > job_began_[scheduler_->thread()], "G1",
          "a job of " + id + " begins after a stop has returned");
}

void World::on_event(const Event& event) {
  const std::string id = event.agent().id();
  scheduler_->say("event " + std::to_string(event.body.index()) + " of " + id);
  if (event.get<TurnStarted>() != nullptr) begins(id, "a turn", false);
  // Of a call that the host completes, too, in a pause as well: its tool does not begin.
  if (event.get<ToolStarted>() != nullptr) begins(id, "a tool call", false, true);
  if (const auto* const ended = event.get<ToolEnded>()) {
    Call& call = known_calls_[ended->call_id];
    call.ended = true;
    call.never = ended->outcome == ToolOutcome::not_started;
    require(!(call.never && call.begun), "G9", "a tool call that has begun is reported as not_started");
    require(ended->outcome != ToolOutcome::completed || ended->by_host || call.begun, "G9",
            "a tool call that has not begun is reported as completed");
  }
}

}  // namespace agentcore::interleaved
