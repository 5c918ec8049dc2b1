#include "sim/world.hpp"

#include "loop/engine.hpp"
#include "process/processes.hpp"
#include "sim/held_call.hpp"
#include "sim/world_run.hpp"
#include "sim/world_scopes.hpp"
#include "support/observe/strict_history.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

namespace agentcore::sim {

void SimExecutor::submit(std::function<void()> job) {
  const test::HostCode host;
  if (refused.next()) throw std::runtime_error("the simulated executor refuses");
  if (dropped.next()) {
    const test::LibraryCode library;
    job = nullptr;
  } else {
    jobs_.push_back(std::move(job));
  }
}

bool SimExecutor::run_one() {
  if (jobs_.empty()) return false;
  std::function<void()> job = std::move(jobs_.front());
  jobs_.pop_front();
  const test::LibraryCode library;
  job();
  job = nullptr;
  return true;
}

World::World(const Setup& setup, const Faults& faults)
    : setup_(setup),
      store_(setup[Knob::store], sim::is_real(setup), clock_, verdict_, faults),
      wire_clients_(sim::is_real(setup) ? std::make_shared<WireClients>(verdict_) : nullptr),
      processes_(std::make_shared<SimProcesses>(*network_, clock_, process_rules_, process_habits())) {
  const test::HostCode host;
  processes_->calls = Failing(faults[FailedCall::process]);
  begin_sockets(faults);
  processes_->say = [this](std::string line) { say(std::move(line)); };
  processes_->note = [this](const std::string& what) { counts_.add(what); };
  executor_.refused = Failing(faults[FailedCall::job_refused]);
  executor_.dropped = Failing(faults[FailedCall::job_dropped]);
  const Failures& allocations = faults[FailedCall::allocation];
  const std::size_t count = (allocations.first != 0 ? 1 : 0) + (allocations.then != 0 ? 1 : 0);
  allocations_.emplace(allocations.first, count, allocations.then);
  add_tools();
  if (allocations_->seen() != 0 || count != 0) reports_.may_be_incomplete();
  begin_run();
}

// A fault may have refused or lost what a rule relies on.
bool World::fault_came() const noexcept {
  return (allocations_ && allocations_->failed()) || store_.failed() || executor_.refused.failed() ||
         executor_.dropped.failed() || processes_->calls.failed() || network_->faults.sockets.failed();
}

// The rules that follow events cannot be asked any more.
void World::event_was_lost() {
  if (!allocations_ || !allocations_->failed()) return;
  counts_.add("an event was lost");
  for (const std::string_view rule : {"budgets", "events", "reports", "views", "text protocol", "time-outs",
                                      "G9", "G10", "G12", "G14", "G15"})
    verdict_.ignore(rule);
}

FaultCounts World::fault_counts() const noexcept {
  return fault_counts_;
}

World::~World() {
  const test::HostCode host;
  healed_ = true;
  store_.end_faults();
  end_run(false);
}

void World::begin_run() {
  store_.heal();
  for (int again = 0; !store_.open() && !killed_ && fault_came() && again < 5; ++again) {
  }
  run_ = std::make_unique<Run>(*this);
  tree_is_destroyed_ = false;
  woken_ = true;
  if (setup_[Knob::store] != 0 && !killed_ && problem().empty()) restore();
}

void World::restore() {
  resumed_in_restore_ = false;
  // The argument is copied, which may throw.
  const auto try_once = [&]() -> Result<RestoreReport> {
    RestoreOptions options = restore_options();
    try {
      const test::LibraryCode library;
      return run_->tree->restore(&store_, std::move(options));
    } catch (const std::bad_alloc&) {
      return Error{Errc::out_of_memory, "no memory"};
    }
  };
  auto report = try_once();
  for (int again = 0; !report && fault_came() && again < 5;
       ++again) {  // as the header says: once more with a new tree
    end_run(false);
    run_ = std::make_unique<Run>(*this);
    report = try_once();
  }
  if (!report) return verdict_.fail("G14", "the restore failed: " + report.error().message);
  if (resumed_in_restore_) gates_.resumed_all();  // its second half is still to come
  if (run_->tree && !killed_)
    check_restored();
  else
    messages_.restore_was_cut();
}

// Nothing of the loop and of the console reaches the system, but where a script wants that.
void World::install(Runtime& runtime) {
  detail::loop::Engine& engine = *detail::loop::engine_of(runtime);
  const std::uint32_t small = setup_[Knob::small_io];
  const std::size_t most_per_call = small > 1 ? std::size_t{small} * 5 : 0;
  if (wire_clients_) {
    wire_clients_->limit_calls(most_per_call);
    wire_clients_->keep_little(setup_[Knob::real] == 3);
    return detail::console::Sockets::install(engine, wire_clients_);
  }
  network_->limit_calls(most_per_call);
  if (setup_[Knob::real] != 0) network_->window = std::numeric_limits<std::size_t>::max();
  const ReadyOrder order = setup_[Knob::real] != 0 ? ReadyOrder::by_time
                           : small == 1            ? ReadyOrder::one_at_a_time
                                                   : ReadyOrder::by_number;
  engine.install_poller(std::make_unique<SimPoller>(network_, order));
  detail::console::Sockets::install(engine, network_);
  detail::process::Processes::install(engine, processes_);
}

void World::end_run(bool killed) {
  if (!run_) return;
  if (!killed && run_->tree) run_->audit.closed = true;
  for (const auto& call : held_) call->on_stop.reset();
  const std::vector<std::shared_ptr<HeldCall>> dropped = std::exchange(held_, {});
  run_->llm.on_chat = nullptr;
  process_rules_.runtime_ends();
  {
    const test::LibraryCode library;
    run_.reset();
    scopes_.reset();  // these may outlive the tree
  }
  end_programs();
  network_->end_process();
  if (wire_clients_) wire_clients_->end_process();
  people_.tree_ended();
  people_.process_ended();
  blocked_.clear();
  executor_.forget();
}

void World::restart(bool killed) {
  const auto before = flushed_agents();
  killed = killed || killed_;  // the disk has died within a flush
  say(killed ? "-- killed" : "-- restarted");
  if (killed) store_.kill(steps_);
  if (killed) processes_->host_dies();
  killed_ = killed;  // nothing that follows is seen
  end_run(killed);
  // The disk may have died within an end in order.
  const bool may_be_behind = killed_ || has_store_failed();
  if (may_be_behind) approvals_.changes_are_lost();
  budget_rules_.process_ended(!may_be_behind && !is_left_);
  owner_ends();
  store_.end_process();
  killed_ = false;
  if (setup_[Knob::store] == 0) store_.clear();
  gates_.forget();
  messages_.tree_ended();
  reports_.tree_ended();
  states_.clear();
  tool_rules_.process_ended();
  time_rules_.process_ended();
  waits_.process_ended();
  block_rules_.process_ended();
  turn_rules_.process_ended();
  questions_.process_ended();
  conversations_.tree_ended();
  transfer_rules_.process_ended();
  begin_run();
  if (before) check_kept(*before);
}

// What was acknowledged before the process ended is so again.
void World::check_restored() {
  for (const auto& [id, deleted] : stops_) {
    const auto agent = run_->tree->find(id);
    if (deleted) {
      verdict_.require(!agent, "G14", "a deleted agent is back: " + id);
    } else if (agent) {
      const AgentState state = agent.value().state().value();
      verdict_.require(!can_process(state), "G14",
                       "an agent whose stop was stored is " + std::string(to_string(state)) + ": " + id);
    }
  }
  tool_rules_.check_restored(*run_->tree);
  turn_rules_.keep_only(*run_->tree);
  conversations_.check_restored(*run_->tree);
  for (const std::string& id : opened_) {
    const auto agent = run_->tree->find(id);
    verdict_.require(agent && can_process(agent.value().state().value()), "G13",
                     "an agent whose resume was stored is closed: " + id);
  }
  for (const std::string& id : people_.created)
    verdict_.require(bool(run_->tree->find(id)), "G14", "an agent whose creation was stored is gone: " + id);
  for (const MessageId id : messages_.acknowledged()) {
    const MessageInfo info = run_->tree->message(id);
    const std::string agent = messages_.agent_of(id);
    const auto found = run_->tree->find(agent);
    if (!found) messages_.lost_with_agent(id);
    if (!found || !can_process(found.value().state().value()))
      continue;  // closed by a callback of the restore
    verdict_.require(info.stage != MessageInfo::Stage::unknown, "G14",
                     "a stored message is lost: " + to_string(id) + " of " + agent);
  }
}

bool World::is_due() {
  const auto deadline = run_->runtime.next_deadline();
  return deadline && *deadline <= clock_.now();
}

void World::poll(std::optional<Duration> budget) {
  const test::HostCode host;
  const bool is_io = is_io_ready();
  const bool is_known = is_io || woken_ || run_->more || (run_->asked && *run_->asked <= clock_.now());
  const bool said = is_io || is_due();
  if (run_->more) reports_.goes_on(clock_.now());
  if (run_->asked && *run_->asked <= clock_.now()) run_->asked.reset();  // it has fired
  expect_requests();
  turn_rules_.polled();
  const std::uint64_t before = events_;
  woken_ = false;
  in_poll_ = processes_->in_poll = true;
  has_budget_ = !budget;
  {
    const test::LibraryCode library;
    run_->more = budget ? run_->runtime.poll(*budget) : run_->runtime.poll();
  }
  in_poll_ = processes_->in_poll = false;
  has_budget_ = true;
  ask_for_deadline();
  if (!killed_) take_answers();
  if (events_ == before || killed_) return;
  verdict_.require(said, "wake-up", "a poll did work that next_deadline() had not announced");
  verdict_.require(is_known, "wake-up", "a poll did work for which on_wake() was not called");
}

void World::poll_until_quiet() {
  const test::HostCode host;
  for (int i = 0; i < 20'000 && !tree_is_destroyed_ && !killed_; ++i) {
    poll();
    const bool served = serve() || processes_->settle();
    if (run_->more || is_due() || is_io_ready() || served) continue;
    if (is_real() && wait_for_system()) continue;
    cuts_later_ = false;
    check_programs(true);
    if (run_->tree && !killed_ && !tree_is_destroyed_) {
      reports_.check_quiet(*run_->tree, clock_.now());
      gates_.check_quiet(*run_->tree, clock_.now());
      if (depth_ == 0) {
        messages_.quiet();
        check_views();
        budget_rules_.check(*run_->tree);
        time_rules_.check_quiet();
      }
      check_answered();
      check_console();
    }
    return check_transfers(true);
  }
}

void World::run(const Command& command) {
  const test::HostCode host;
  ++steps_;
  if (command.place.is_callback()) {
    pending_.push_back(command);
    return;
  }
  act(command);
  processes_->settle();
  if (command.act == Act::restart || command.act == Act::kill) restart(command.act == Act::kill);
  while (killed_ || tree_is_destroyed_) restart(killed_);  // by a callback, also of a restore
  check();
  count_faults_of_disk();
  forget_ended_calls();
  ask_for_deadline();
}

// As a host does after each poll and each call.
void World::ask_for_deadline() {
  const auto deadline = run_->runtime.next_deadline();
  if (deadline && *deadline > clock_.now()) run_->asked = deadline;
}

void World::check() {
  gates_.catch_up();
  if (!run_->audit.problem.empty()) verdict_.fail("events", run_->audit.problem);
  if (run_->tree) gates_.check(*run_->tree);
  check_programs(false);
  check_transfers(false);
}

void World::let_all_go_on() {
  ++verbs_;
  static_cast<void>(run_->tree->unpause_all());
  gates_.paused_all(false);
  run_->tree->walk([this](const Agent& agent) {
    static_cast<void>(agent.unpause());
    static_cast<void>(agent.release_queue());
    gates_.paused(agent.id(), false);
  });
}

void World::finish() {
  const test::HostCode host;
  store_.add_to(fault_counts_);
  fault_counts_[static_cast<std::size_t>(FailedCall::allocation)] = allocations_->seen();
  fault_counts_[static_cast<std::size_t>(FailedCall::job_refused)] = executor_.refused.seen();
  fault_counts_[static_cast<std::size_t>(FailedCall::job_dropped)] = executor_.dropped.seen();
  fault_counts_[static_cast<std::size_t>(FailedCall::process)] = processes_->calls.seen();
  fault_counts_[static_cast<std::size_t>(FailedCall::socket)] = network_->faults.sockets.seen();
  fault_counts_[static_cast<std::size_t>(FailedCall::transfer)] = network_->faults.transfers.seen();
  const bool lossy = allocations_->failed();
  counts_.done["commit refused"] += store_.refusals;
  counts_.done["commit of unknown outcome"] += store_.unknown_outcomes;
  allocations_.reset();
  for (Failing* const failing : {&executor_.refused, &executor_.dropped, &processes_->calls}) failing->end();
  pending_.clear();
  store_.end_faults();
  healed_ = true;
  throws_ = false;
  end_first_owner();
  say("-- everybody answers");
  knock_at_console();
  bool rests = comes_to_rest();
  if (!rests && lossy) {
    // A result may be lost for want of memory: then a time-out or a stop ends its call.
    static_cast<void>(run_->tree->stop_all());
    gates_.stopped_all();
    rests = comes_to_rest();
  }
  verdict_.require(rests, "G5", "the tree does not come to rest");
  if (rests) {
    run_->tree->walk([this](const Agent& agent) {
      const AgentState state = agent.state().value();
      verdict_.require(state == AgentState::idle || state == AgentState::stopped, "G5",
                       agent.id() + " is at rest and " + std::string(to_string(state)));
      check_rest(agent);
      check_history(agent);
    });
    messages_.check_all_ended();
    if (!lossy) budget_rules_.check(*run_->tree);
    reports_.check_end();
    check_listener();
    if (run_->http) transfer_rules_.check_end(*run_->http);
    if (!lossy) check_timers();
  }
  // Where memory was missing, a delegated agent may be left that a restart removes.
  if (rests && problem().empty() && !lossy) check_store();
  end_run(false);
  say("-- end");
}

bool World::comes_to_rest() {
  for (int round = 0; round < 400 && problem().empty(); ++round) {
    const bool asks = people_.is_asking();  // perhaps for a pause
    for (ConsoleClient& client : people_.clients) client.send(client.unsent(), verbs_);
    for (EventViewer& viewer : people_.viewers) viewer.reads_at_once();
    poll_until_quiet();
    let_all_go_on();
    while (executor_.run_one()) {
    }
    for (test::FakeClient::Call* const call : run_->llm.open_calls())
      end_model_call(*call, ChatOutcome::completed(FinishReason::complete));
    if (run_->http) run_->http->answer_all();
    for (const auto& call : std::vector(held_)) end_tool(*call, ToolResult::done("at last"));
    processes_->end_all();
    for (const OpenQuestion& question : run_->tree->questions())
      static_cast<void>(run_->tree->decline(question.id));
    ask_for_deadline();
    if (setup_[Knob::real] != 0) poll_until_quiet();  // a socket is read before a timer fires
    clock_.advance(std::chrono::minutes(1));
    poll_until_quiet();
    check();
    if (!run_->more && !asks && run_->llm.open_calls().empty() &&
        (!run_->http || run_->http->transport().open() == 0) && run_->tree->tasks().empty() &&
        executor_.empty() && !run_->tree->busy())
      return true;
  }
  return false;
}

// Of an agent at rest nothing is pending, and nothing is reserved.
void World::check_rest(const Agent& agent) {
  const auto status = agent.status();
  verdict_.require(status && !status.value().stop_pending, "G5",
                   "a deferred stop is pending at rest: " + agent.id());
  for (const auto& spent : {agent.spent(), agent.spent(Scope::subtree)})
    verdict_.require(spent && spent.value().tokens_reserved == 0, "G15",
                     "tokens are reserved at rest: " + agent.id());
}

void World::check_history(const Agent& agent) {
  const auto history = agent.conversation();
  if (!history) return;
  const std::string why = test::refusal(history.value());
  verdict_.require(why.empty(), "G8", why + " in the history of " + agent.id());
  for (const ChatMessage& message : history.value())
    verdict_.require(message.content().find(secret) == std::string::npos, "G11",
                     "the history of " + agent.id() + " has a word of a stop");
}

void World::begin_model_call(test::FakeClient::Call& call) {
  const test::HostCode host;
  ++events_;
  const std::string id = call.request.agent_id;
  say("model " + id + ' ' + std::to_string(call.request.messages.size()));
  if (!killed_) {
    gates_.model_call_begins(id);
    turn_rules_.model_call_begins(id, gates_.turn_of(id));
    budget_rules_.model_call_begins(id, gates_.turn_of(id), call.request.max_tokens.value_or(4'096));
    const std::string why = test::refusal(call.request.messages);
    verdict_.require(why.empty(), "G8", why + " in a request of " + id);
    for (const ChatMessage& message : call.request.messages)
      verdict_.require(message.content().find(secret) == std::string::npos, "G11",
                       "a request of " + id + " has a word of a stop");
  }
  const std::uint32_t deaf = setup_[Knob::deaf_models];
  call.on_stop = deaf == 2 || (deaf == 1 && models_ % 3 == 0) ? test::OnStop::deaf
                 : setup_[Knob::eager_stops] != 0             ? test::OnStop::at_once
                                                              : test::OnStop::post;
  ++models_;
  run_pending(place_of(Callback::model_call), id);
}

MessageHandler World::handler() {
  return [this](const Agent& agent, const Message& message) {
    const test::HostCode host;
    ++events_;
    say("handler " + agent.id() + ' ' + message.text);
    if (!killed_) gates_.arrives(agent.id(), "a handled message");
    run_pending(place_of(Callback::handler), agent.id());
    throw_if_due();
  };
}

ToolPolicy World::policy() {
  return [this](const ToolRequest& request) {
    const test::HostCode host;
    ++events_;
    say("policy " + request.agent.id() + ' ' + request.tool.name);
    run_pending(place_of(Callback::policy), request.agent.id());
    throw_if_due();
    ToolDecision decision;
    decision.permission = request.tool.name == "never" ? Permission::ask : Permission::allow;
    return decision;
  };
}

void World::throw_if_due() {
  if (std::exchange(throws_, false)) throw std::runtime_error("a callback of the simulation throws");
}

void World::run_pending(Place place, const std::string& agent, const std::string& call) {
  if (depth_ == 3 || healed_ || killed_ || tree_is_destroyed_) return;
  const auto found = std::ranges::find(pending_, place, &Command::place);
  if (found == pending_.end()) return;
  Command command = *found;
  pending_.erase(found);
  ++depth_;
  counts_.add("in " + std::string(to_string(place)));
  say("in " + std::string(to_string(place)));
  std::optional<Agent> outer;
  if (const auto found_agent = run_->tree->find(agent)) outer = found_agent.value();
  std::swap(outer, here_);
  std::string outer_call = std::exchange(call_here_, call);
  act(command);
  check_programs(false);
  check_transfers(false);
  here_ = std::move(outer);
  call_here_ = std::move(outer_call);
  --depth_;
}

void World::on_event(const Event& event) {
  const test::HostCode host;
  ++events_;
  if (killed_) return;
  const Agent agent = event.agent();
  const std::string id = agent.id();
  const Place place = place_of_event(detail::event_body(event).index());
  std::string line = std::string(to_string(place)) + ' ' + id;
  if (const auto* ended = event.get<TurnEnded>())
    line += ' ' + std::string(to_string(ended->result->outcome)) + ' ' +
            std::string(to_string(ended->result->error.code));
  if (const auto* change = event.get<StateChanged>()) line += ' ' + std::string(to_string(change->to));
  if (const auto* delta = event.get<DeltaReceived>()) line += ' ' + std::string(delta->text);
  if (const auto* dropped = event.get<MessageDropped>())
    line += ' ' + to_string(dropped->id) + ' ' + std::string(to_string(dropped->reason));
  if (const auto* started = event.get<TurnStarted>()) line += ' ' + to_string(started->message);
  if (const auto* started = event.get<ToolStarted>()) line += ' ' + started->call_id + ' ' + started->tool;
  if (const auto* ended = event.get<ToolEnded>())
    line += ' ' + ended->call_id + ' ' + std::string(to_string(ended->outcome));
  if (const auto* restored = event.get<AgentRestored>(); restored != nullptr && restored->message)
    line += ' ' + to_string(restored->message) + ' ' + std::string(to_string(restored->fate));
  if (const auto* restored = event.get<AgentRestored>())
    for (const InterruptedCall& call : restored->interrupted_calls)
      line += " unknown " + without_task_id(call.call_id);
  if (const auto* stored = event.get<MessagePersisted>())
    line += ' ' + to_string(stored->message) + (stored->ended ? " ended" : "");
  say(std::move(line));
  counts_.add("event " + std::string(to_string(place)));
  // A stop, also one by a lease or a budget, drops what waits: the tree may end before all of it is reported.
  if (const auto* change = event.get<StateChanged>(); change != nullptr && !can_process(change->to)) {
    may_drop(id);
    opened_.clear();
  }
  if (const auto* change = event.get<StateChanged>()) states_[id] = change->to;
  if (const auto* restored = event.get<AgentRestored>()) states_[id] = restored->state;
  if (event.get<AgentCreated>() != nullptr) states_[id] = AgentState::idle;
  if (event.get<AgentDeleted>() != nullptr) states_.erase(id);
  check_acknowledged(event);
  waits_.see(event);
  reports_.see(event, clock_.now());
  if (run_->console) people_.see(event);
  gates_.see(event);
  messages_.see(event);
  tool_rules_.see(event);
  time_rules_.see(event);
  approvals_.see(event);
  block_rules_.see(event);
  turn_rules_.see(event);
  budget_rules_.see(event);
  questions_.see(event);
  conversations_.see(event);
  if (allocations_ && allocations_->failed()) process_rules_.memory_was_short();
  process_rules_.see(event);
  if (run_->http) transfer_rules_.see(event);
  if (event.get<AgentCreated>() != nullptr) {
    stops_.erase(id);
    handles_.push_back(agent);
    if (ScopeOfHost* const scope = scopes_ ? std::exchange(scopes_->creates, nullptr) : nullptr)
      scope->agents.push_back(agent);
  }
  if (event.get<AgentRestored>() != nullptr) {
    handles_.push_back(agent);
    if (once_resumed_.contains(id)) resumes_by_itself_.insert(id);
  }
  if (const auto* stored = event.get<StopPersisted>(); stored != nullptr && !stored->agent_id.empty()) {
    const auto named = run_->tree->find(stored->agent_id);  // perhaps a later agent
    if (!named || (named.value() == stored->agent && !resumed_.contains(stored->agent_id))) {
      bool& deleted = stops_[stored->agent_id];  // a stop that follows a delete changes nothing
      // A resume has perhaps withdrawn the delete while its commit was under way.
      deleted = deleted || (stored->deleted && (!named || gates_.may_go(stored->agent_id)));
    }
  }
  if (event.get<AgentRestored>() != nullptr) restored_ = agent;
  std::string call;
  if (const auto* started = event.get<ToolStarted>()) call = started->call_id;
  if (const auto* ended = event.get<ToolEnded>()) call = ended->call_id;
  if (const auto* progress = event.get<ToolProgress>()) call = progress->call_id;
  run_pending(place, id, call);
  restored_.reset();
  throw_if_due();
}

void World::say(std::string line) {
  if (killed_) return;
  for (const char c : line) hash_ = mixed(hash_, static_cast<unsigned char>(c));
  hash_ = mixed(hash_, '\n');
  if (keeps_trace_) trace_.push_back(std::move(line));
}

}  // namespace agentcore::sim
