// What each command of a World does: the loop, agents, mailboxes and conversations.
#include "sim/choices.hpp"
#include "sim/world.hpp"
#include "sim/world_result.hpp"
#include "sim/world_run.hpp"

#include <agentcore/conversation.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace agentcore::sim {

namespace {

// Returns out_of_memory, and throws nothing.
bool returns_its_error(Act act) {
  return act >= Act::create_root && act <= Act::terminate;
}

}  // namespace

// What follows in a command is of the host.
void World::note(const Command& command, const std::string& outcome) {
  test::runs_host_code = true;
  counts_.add(std::string(to_string(command.act)) + ": " + outcome);
  say("= " + outcome);
}

void World::note_send(const Command& command, const Agent& agent, const SendResult& sent, bool watched) {
  note_result(command, sent);
  // What the callbacks of a regenerate() and a steer() do comes after the message. A tool may be refused for
  // the state of its own agent.
  const bool is_plain =
      command.act != Act::regenerate && command.act != Act::steer && command.act != Act::tool_sends;
  if (!killed_ && !tree_is_destroyed_ && is_plain) {
    gates_.answered(agent, sent);
    turn_rules_.sent(agent, sent);
  }
  if (!sent || killed_) return;
  sent_.push_back(sent.id);
  const std::string id = agent.id();
  messages_.accepted(sent.id, id, watched, command.act == Act::steer);
  if (command.act != Act::simulate && command.act != Act::regenerate)
    conversations_.sent(sent.id, "m" + std::to_string(texts_));
  people_.tasks.got(id, sent.id);
  if (resumes_by_itself_.contains(id)) note_resumed(id, true);
}

void World::note_created(const std::string& id, const AgentSpec& spec) {
  turn_rules_.created(id, spec);
  budget_rules_.created(id, spec);
  if (spec.limits.lease != no_limit || spec.limits.budget.wall_clock != no_limit) has_clocks_ = true;
}

void World::note_resumed(const std::string& id, bool cascade) {
  resumed_in_restore_ = true;
  note_opened(gates_.resumed(id, cascade));
}

void World::note_opened(const std::set<std::string>& opened) {
  for (const std::string& id : opened) {
    stops_.erase(id);
    resumed_.insert(id);
  }
}

void World::act(const Command& command) {
  say("> " + to_string(command));
  if (command.act > Act::run_job && !act_as_client(command)) {
    ++verbs_;
    opened_.clear();
  }
  if (!run_->tree) return;
  if (is_verb(command.act)) note_coverage(command);
  try {
    const test::LibraryCode library;
    act_by_kind(command);
  } catch (const std::bad_alloc&) {
    say("= no memory");
    counts_.add(std::string(to_string(command.act)) + ": no memory");
    verdict_.require(!returns_its_error(command.act), "G16",
                     std::string(to_string(command.act)) + " throws where memory is short");
  }
}

void World::act_by_kind(const Command& command) {
  if (act_on_loop(command) || act_on_agent(command) || act_by_stop(command) || act_on_mailbox(command) ||
      act_on_conversation(command) || act_on_tree(command) || act_as_model(command) || act_as_tool(command) ||
      act_as_program(command) || act_on_sockets(command) || act_on_documents(command) ||
      act_on_scopes(command) || act_on_owner(command) || act_on_copy(command))
    return;
  act_as_fault(command);
}

void World::note_coverage(const Command& command) {
  const Agent who = agent(command.n[0]);
  const auto seen = states_.find(who.id());
  if (seen == states_.end()) return;
  AgentState state = seen->second;  // Agent::state() would stop an agent whose lease is over
  if (gates_.is_leased(who.id())) state = who.state().value_or(state);
  const Fault fault = store_.fails() ? Fault::store
                      : throws_      ? Fault::callback
                      : !has_budget_ ? Fault::no_budget
                                     : Fault::none;
  counts_.coverage.add({command.act, state, waits_.of(*run_->tree, who), command.place, fault});
}

bool World::act_on_loop(const Command& command) {
  switch (command.act) {
    case Act::poll:
      if (in_poll_)
        verdict_.require(!run_->runtime.poll() && !run_->runtime.poll(std::chrono::seconds(1)), "G16",
                         "a poll within a callback says that work is left");
      else
        poll();
      return true;
    case Act::poll_until_quiet:
      if (!in_poll_) poll_until_quiet();
      return true;
    case Act::calm:
      calm(command);
      return true;
    case Act::poll_without_budget:
      if (!in_poll_) poll(Duration(0));
      return true;
    case Act::time_passes:
      clock_.advance(duration(command.n[0]));
      if (depth_ == 0) return true;
      woken_ = true;  // a slow callback: its caller asks for the deadline afterwards
      reports_.goes_on(clock_.now());
      return true;
    case Act::next_timer:
      if (const auto next = run_->runtime.next_deadline(); next && *next > clock_.now())
        clock_.advance(*next - clock_.now());
      return true;
    case Act::run_job:
      note(command, executor_.run_one() ? "ran" : "none");
      return true;
    default:
      return false;
  }
}

bool World::act_on_agent(const Command& command) {
  const Agent who = agent(command.n[0]);
  switch (command.act) {
    case Act::create_root:
    case Act::create_child: {
      AgentSpec wanted = spec(command.n[1]);
      const AgentSpec as_wanted = copy_of(wanted);
      const std::string id = wanted.id;
      const Duration lease = wanted.limits.lease;
      const bool root = command.act == Act::create_root;
      const bool may_be_made = gates_.may_create(root ? std::string() : who.id());
      const auto made = root ? run_->tree->create(std::move(wanted)) : who.create_child(std::move(wanted));
      note_result(command, made);
      if (made) note_created(id, as_wanted);
      if (made && lease != no_limit) gates_.lease_begins(id, lease);
      verdict_.require(!made || may_be_made, "G2", "an agent was created behind a closed gate: " + id);
      if (made && as_wanted.auto_resume)
        once_resumed_.insert(id), resumes_by_itself_.insert(id);
      else if (made)
        resumes_by_itself_.erase(id);
      return true;
    }
    case Act::create_many: {
      std::uint32_t made = 0;
      AgentSpec wanted = spec(0);
      wanted.id.clear();
      const auto shared = std::make_shared<const AgentSpec>(std::move(wanted));
      while (made < 500 + command.n[1] % 1'000 * 3 && who.create_child(shared)) ++made;
      note(command, made != 0 ? "done" : "refused");
      return true;
    }
    case Act::grant:
      grant(command, who, Scope::agent);
      return true;
    case Act::grant_subtree:
      grant(command, who, Scope::subtree);
      return true;
    case Act::set_model:
      note_result(command, who.set_model("model" + std::to_string(command.n[1] % 3)));
      return true;
    case Act::set_llm:
      note_result(command,
                  who.set_llm(&run_->client(command.n[1] % 2), command.n[1] % 2 == 0 ? "llm" : "other_llm"));
      return true;
    case Act::set_system_prompt:
      note_result(command, who.set_system_prompt("prompt " + std::to_string(command.n[1] % 3)));
      return true;
    case Act::set_tools:
      note_result(command, who.set_tools(tools_, "tools"));
      return true;
    default:
      return false;
  }
}

void World::grant(const Command& command, const Agent& who, Scope scope) {
  const std::string id = who.id();
  const bool is_own = scope == Scope::agent;
  Budget budget;
  const std::uint32_t n = command.n[1];
  switch (options_in(n) % 5) {
    case 1:
      budget = {.turns = n % 4};
      break;
    case 2:
      budget = {.tokens = n % 7 * 150};
      break;
    case 3:
      budget = {.cost = n % 5 * 0.001};
      break;
    case 4:
      break;
    default:
      if (is_own)
        budget.turns = n % 5 + 1;
      else
        budget.tokens = n % 5 * 1'000;
  }
  const Result<void> result = who.grant(budget, scope);
  note_result(command, result);
  if (!result) return;
  const auto state = who.state();
  budget_rules_.granted(id, scope, budget, in_poll_ || depth_ != 0, !state || !can_process(state.value()));
}

bool World::act_on_mailbox(const Command& command) {
  const Agent who = agent(command.n[0]);
  if (command.act == Act::drop_queue || command.act == Act::remove_queued) may_drop(who.id());
  switch (command.act) {
    case Act::send:
    case Act::send_urgent: {
      SendOptions options = send_options(command.n[1]);
      const bool watched = bool(options.on_end);
      note_send(command, who, who.send(message(command.act == Act::send_urgent), std::move(options)),
                watched);
      return true;
    }
    case Act::send_with_deadline: {
      SendOptions options = send_options(command.n[1]);
      const bool watched = bool(options.on_end);
      const TimePoint deadline = clock_.now() + duration(command.n[2]);
      options.deadline = deadline;
      const SendResult sent = who.send(message(), std::move(options));
      note_send(command, who, sent, watched);
      if (sent) turn_rules_.accepted(sent.id, deadline);
      return true;
    }
    case Act::simulate: {
      WrittenCalls written;
      {
        const test::HostCode host;
        written.text = "simulated " + std::to_string(++texts_);
        if (command.n[1] % 2 == 1) written = write_calls(tool_calls(command.n[2], {}), command.n[1] / 2);
      }
      const SendResult sent = who.simulate(written.text);
      note_send(command, who, sent, false);
      if (sent && !killed_) block_rules_.simulated(sent.id, written);
      if (sent && !killed_) tool_rules_.simulated(sent.id);
      return true;
    }
    case Act::steer: {
      SteerOptions options;
      options.when = command.n[1] % 2 == 1 ? SteerWhen::now : SteerWhen::next_step;
      options.fallback = command.n[2] % 3 == 2 ? SteerFallback::give_back : SteerFallback::queue;
      const SendResult steered = who.steer(message(), options);
      note_send(command, who, {steered.reason, steered.id}, false);
      if (steered && options.fallback == SteerFallback::give_back && !killed_)
        messages_.goes_back(steered.id);
      return true;
    }
    case Act::release_queue:
      note_result(command, who.release_queue());
      return true;
    case Act::drop_queue:
      note_result(command, who.drop_queue());
      return true;
    case Act::edit_queued:
    case Act::remove_queued: {
      const auto queued = who.queued();
      const MessageId id = queued && !queued.value().empty()
                               ? queued.value()[command.n[1] % queued.value().size()].id
                               : some_message(command.n[1]);
      if (command.act == Act::edit_queued)
        edit(command, who, id);
      else if (const Result<void> removed = who.remove_queued(id); true) {
        note_result(command, removed);
        if (removed && !killed_) messages_.removed(id);
      }
      return true;
    }
    case Act::cancel_call:
    case Act::complete_call: {
      const std::string id = who.id();  // a callback of the verb may delete it
      const std::string call = some_call(who, TaskKind::tool_call, command.n[1]);
      const bool gives = command.act == Act::complete_call;
      const VerbResult result =
          gives ? who.complete_call(call, ToolResult::done("by the host"))
                : who.cancel_call(call, {.reason = options_in(command.n[1]) % 2 == 1 ? "not needed" : ""});
      note_result(command, result);
      if (result.took_effect() && !killed_) tool_rules_.ended_by_verb(id, call, gives);
      if (result.took_effect() && gives) turn_rules_.given(id, call);
      if (result.took_effect() && !killed_) process_rules_.ended_by_verb(call_key(id, call));
      return true;
    }
    default:
      return false;
  }
}

void World::edit(const Command& command, const Agent& who, MessageId id) {
  const Result<void> edited = who.edit_queued(id, message());
  note_result(command, edited);
  if (!edited) return;
  conversations_.edited(id);
  block_rules_.edited(id);
}

bool World::act_on_conversation(const Command& command) {
  const Agent who = agent(command.n[0]);
  if (command.act == Act::rewind || command.act == Act::regenerate) may_drop(who.id());
  conversations_.changed(who.id());  // a callback may end the tree before the event
  const auto turn = [&] {
    const auto turns = who.turns();
    return turns && !turns.value().empty() ? turns.value()[command.n[1] % turns.value().size()].turn
                                           : std::uint64_t{1};
  };
  switch (command.act) {
    case Act::acknowledge:
      note_result(command, who.acknowledge({some_message(command.n[1]), 1, command.n[2] % 8}));
      return true;
    case Act::truncate_answer:
      note_result(command, who.truncate_answer(some_message(command.n[1]), command.n[2] % 8));
      return true;
    case Act::rewind:
      note_result(command, who.rewind(turn()));
      return true;
    case Act::regenerate: {
      SendOptions options = send_options(command.n[1]);
      const bool watched = bool(options.on_end);
      // It resumes an agent with `auto_resume` before its callbacks run.
      if (resumes_by_itself_.contains(who.id())) gates_.is_being_resumed(gates_.subtree(who.id()));
      const SendResult sent = who.regenerate(std::move(options));
      gates_.is_being_resumed({});
      note_send(command, who, sent, watched);
      return true;
    }
    case Act::fork: {
      ForkOptions options{.id = "f" + std::to_string(command.n[2] % 4)};
      if (command.n[2] % 2 == 1) options.at = turn();
      if (options_in(command.n[1]) % 3 == 2) options.id.clear();
      std::string id = options.id;
      const std::string origin = who.id();
      const auto made = who.fork(std::move(options));
      if (made) id = made.value().id();
      if (made) gates_.forked(origin, id);
      note_result(command, made);
      if (made) turn_rules_.forked(who.id(), id);
      if (made) budget_rules_.forked(who.id(), id);
      // One that is being created may do so, too.
      if (made && (resumes_by_itself_.contains(origin) || !turn_rules_.limits_of(origin)))
        once_resumed_.insert(id), resumes_by_itself_.insert(id);
      else if (made)
        resumes_by_itself_.erase(id);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace agentcore::sim
