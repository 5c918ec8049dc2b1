#include "interleaved/world.hpp"

#include <agentcore/agent_tool.hpp>
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
  made.limits.parallel_tools = 2;
  made.tools = tools("helper of " + made.id);
  if (script_.lease != 0 && number == 1) made.limits.lease = std::chrono::seconds(1);
  if (script_.handler != 0 && number + 1 == script_.agents)
    made.handler = [this](const Agent& handled, const Message&) {
      begins(handled.id(), "a handler", true, true);  // for a pause it is a part of the turn that has begun
      scheduler_->step();
      within(Moment::handler);
    };
  return made;
}

void World::add_own_tools(ToolRegistry& tools) {
  tools.add({.spec = {.name = "slow"},
             .start = [this](const nlohmann::json&, const ToolContext& context, ToolDone done) {
               begins_call(context, true);
               held_.push_back(std::make_shared<Held>(context.agent().id(), context, std::move(done)));
               within(Moment::tool_call);
             }});
  tools.add(make_blocking_tool({.name = "blocking"}, &jobs_,
                               [this](const nlohmann::json&, const ToolContext& context) {
                                 begins_call(context, false);
                                 scheduler_->step();
                                 return ToolResult::done("a blocking result");
                               }));
}

// Each agent has a helper of its own, which is not made again: an id names one agent.
std::shared_ptr<ToolRegistry> World::tools(const std::string& helper) {
  const auto of_children = std::make_shared<ToolRegistry>();
  add_own_tools(*of_children);
  auto all = std::make_shared<ToolRegistry>();
  add_own_tools(*all);
  for (const std::string name : {"ask", "helper"}) {
    AgentToolOptions options{.tool = {.name = name},
                             .agent = {.tools = of_children, .limits = {.parallel_tools = 2}}};
    if (name == "helper") options.agent.id = helper;
    all->add(make_agent_tool(std::move(options)));
  }
  return all;
}

// Before the other threads begin.
void World::prepare() {
  any_close_ = script_.lease != 0;
  runtime_ = std::make_unique<Runtime>(RuntimeOptions{
      .clock = &clock_, .seed = 1, .poll_budget = std::chrono::milliseconds(script_.budget == 0 ? 0 : 4)});
  client_ = std::make_unique<test::FakeClient>(*runtime_);
  client_->on_chat = [this](test::FakeClient&, test::FakeClient::Call& call) {
    const std::string id = call.request.agent_id;
    begins(id, "a model call", true);
    is_in_turn(id, turns_.newest(id), "a model call", true);
    is_cut(id, turns_.newest(id), "a model call", call.stop);
    within(Moment::model_call);
  };
  if (script_.deaf != 0) client_->on_stop = test::OnStop::deaf;
  jobs_.on_submit = [this] {
    for (const std::uint32_t worker : workers_) scheduler_->wake(worker);
  };
  tree_ = std::make_unique<AgentTree>(*runtime_, TreeOptions{.llm = client_.get()});
  audit_ = std::make_unique<test::Audit>(*tree_);
  events_ = tree_->on_event([this](const Event& event) { on_event(event); });
  renew_wake();
  for (std::uint32_t i = 0; i < script_.agents; ++i) {
    Result<Agent> made = i == 0 ? tree_->create(spec(i)) : handles_[(i - 1) / 2].create_child(spec(i));
    add_agent("a" + std::to_string(i), i == 0 ? "" : ids_[(i - 1) / 2], made.value());
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
    if (command.moment == Moment::now || thread != 0)
      act(command);
    else
      armed_.push_back(command);
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
  for (int rounds = 0; rounds < 5'000; ++rounds) {
    poll();
    check_closed();
    if (destroyed_) {
      while (scheduler_->sleep()) {
      }
      return;
    }
    if (has_more_ || scheduler_->sleep()) continue;
    require(!scheduler_->quietly([this] { return is_due(); }), "wake-up",
            "work is due, nobody called on_wake(), and the loop sleeps");
    return check_rest();
  }
  require(false, "G5", "the loop never sleeps");
}

// Nothing is due, and no other thread does anything.
void World::check_rest() {
  scheduler_->quietly([this] {
    for (const Agent& one : handles_) {
      const auto status = one.status();
      if (!status || status->state != AgentState::idle || status->paused || status->queue_held ||
          status->stop_pending)
        continue;
      require(one.queue_length().value_or(0) == 0, "wake-up",
              "messages wait for " + one.id() + ", which is idle, and nothing is due");
    }
  });
}

void World::finish() {
  armed_.clear();
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
    for (std::uint32_t i = 0; i < held_.size(); ++i)
      if (!held_[i]->answered) end_tool(i);
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
  for (const auto& [id, steer] : steers_)
    require(steer.fates == steer.accepted, "G10",
            "a steered message was " + std::string(steer.accepted != 0 ? "taken" : "refused") + " and has " +
                std::to_string(steer.fates) + " events Steered");
  known_calls_.check_end();
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

// What is made by a tool goes on in a pause.
void World::begins(const std::string& id, std::string_view what, bool called_directly, bool also_in_pause) {
  const auto check = [&](const Gates& gates, std::string_view verb) {
    const Gates::Closed* const closed = gates.find(id);
    if (!closed) return;
    require(!(called_directly && closed->quiet) && closed->poll == polls_ && in_poll_, "G1",
            std::string(what) + " of " + id + " after a " + std::string(verb) + " has returned");
  };
  check(stops_, "stop");
  if (!also_in_pause && id.starts_with('a')) check(pauses_, "pause");
}

void World::is_in_turn(const std::string& id, std::uint64_t turn, std::string_view what,
                       bool called_directly) {
  const Turns::Over* const over = turns_.find(id, turn);
  if (!over) return;
  require(!(called_directly && over->quiet) && over->poll == polls_ && in_poll_, "G1",
          std::string(what) + " of turn " + std::to_string(turn) + " of " + id +
              " after a verb that has ended it has returned");
}

// What an action of the loop begins that was admitted before is cut by the verb, too.
void World::is_cut(const std::string& id, std::uint64_t turn, std::string_view what, const StopToken& stop) {
  const Gates::Closed* const closed = stops_.find(id);
  require(stop.stop_requested() || (!(closed && closed->cuts) && !turns_.find(id, turn)), "G5",
          std::string(what) + " of " + id + " begins uncut after a verb that has ended it has returned");
}

void World::begins_call(const ToolContext& context, bool on_loop) {
  const std::string id = context.agent().id();
  known_calls_.begins(id, context.call_id());
  if (on_loop) {
    // A call whose ToolStarted is just being reported has begun, for a pause.
    const Gates::Closed* const paused = pauses_.find(id);
    begins(id, "a tool call", true, paused && paused->at > call_started_[context.call_id()]);
    is_in_turn(id, context.turn(), "a tool call", true);
    return is_cut(id, context.turn(), "a tool call", context.stop());
  }
  const std::uint64_t began = job_began_[scheduler_->thread()];
  const Gates::Closed* const closed = stops_.find(id);
  require(!closed || closed->at > began, "G1", "a job of " + id + " begins after a stop has returned");
  const Turns::Over* const over = turns_.find(id, context.turn());
  require(!over || over->at > began, "G1",
          "a job of " + id + " begins after a verb that has ended its turn has returned");
}

void World::on_event(const Event& event) {
  const std::string id = event.agent().id();
  scheduler_->say("event " + std::to_string(detail::event_body(event).index()) + " of " + id);
  known_calls_.see(event);
  Moment moment = Moment::now;
  if (event.get<AgentCreated>() != nullptr && !id.starts_with('a')) {
    const auto parent = event.agent().parent();
    add_agent(id, parent ? parent->id() : "", event.agent());
  } else if (const auto* const started = event.get<TurnStarted>()) {
    begins(id, "a turn", false);
    turns_.started(id, started->turn);
    moment = Moment::turn_started;
  } else if (const auto* const delta = event.get<DeltaReceived>()) {
    is_in_turn(id, delta->turn, "a text", false);
    moment = Moment::text;
  } else if (const auto* const call = event.get<ToolStarted>()) {
    // Of a call that the host completes, too, in a pause as well: its tool does not begin.
    begins(id, "a tool call", false, true);
    call_started_[call->call_id] = pauses_.now();
    is_in_turn(id, call->turn, "a tool call", false);
    moment = Moment::tool_started;
  } else if (const auto* const progress = event.get<ToolProgress>()) {
    is_in_turn(id, progress->turn, "progress", false);
  } else if (const auto* const steered = event.get<Steered>()) {
    ++steers_[steered->id].fates;
  } else if (event.get<ToolEnded>() != nullptr) {
    moment = Moment::tool_ended;
  } else if (event.get<TurnEnded>() != nullptr) {
    moment = Moment::turn_ended;
  } else if (event.get<StateChanged>() != nullptr) {
    moment = Moment::state_changed;
  }
  if (moment != Moment::now) within(moment);
}

}  // namespace agentcore::interleaved
