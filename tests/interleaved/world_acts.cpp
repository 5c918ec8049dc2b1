// The commands of a World.
#include "interleaved/world.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::interleaved {

void World::act(const Command& command) {
  if (command.act < first_of_any_thread) return act_on_loop(command);
  // One choice, before other threads may run and create an agent.
  Command fixed = command;
  fixed.a %= static_cast<std::uint32_t>(handles_.size());
  const Agent chosen = scheduler_->quietly([&] { return handles_[fixed.a]; });  // see let_go()
  if (act_by_message(fixed, chosen) || act_by_stop(fixed, chosen) || act_by_opening(fixed, chosen) ||
      act_on_turn(fixed, chosen) || act_on_tree(fixed) || act_as_tool(command, chosen) ||
      act_as_worker(command) || act_on_scope(command))
    return;
  act_as_host(command, chosen);
}

void World::act_on_loop(const Command& command) {
  if (destroyed_) return;
  const auto open = client_->open_calls();
  test::FakeClient::Call* const call = open.empty() ? nullptr : open[command.a % open.size()];
  switch (command.act) {
    case Act::poll:
      return poll();
    case Act::sleep:
      return sleep();
    case Act::drive:
      return drive();
    case Act::model_answers:
      if (call) test::FakeClient::complete(*call);
      return;
    case Act::model_calls: {
      if (!call) return;
      ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls, {10, 5, 15});
      outcome.tool_calls = tool_calls(command.b);
      return test::FakeClient::finish(*call, std::move(outcome));
    }
    case Act::model_text:
      if (call) call->sink.delta("text");
      return;
    case Act::model_fails:
      if (call)
        test::FakeClient::finish(*call, ChatOutcome::failed({Errc::network_error, "as the script says"}));
      return;
    case Act::create_child:
      return create(command);
    case Act::scope:
      return open_scope(command);
    case Act::drop_queue:
      static_cast<void>(agent(command.a).drop_queue());
      return;
    case Act::remove_queued:
      static_cast<void>(agent(command.a).remove_queued(newest_message_));
      return;
    case Act::time_passes: {
      const auto deadline = runtime_->next_deadline();
      if (deadline && *deadline > clock_.now()) clock_.advance(*deadline - clock_.now());
      return poll();  // as a host does at that time
    }
    case Act::renew_wake:
      renew_wake();
      return poll();  // what came before is announced to the function before
    default:
      return destroy(command.b % 2 != 0);
  }
}

void World::create(const Command& command) {
  if (handles_.size() == handles_.capacity()) return;
  AgentSpec wanted = spec(static_cast<std::uint32_t>(handles_.size()));
  wanted.handler = nullptr;
  const std::string id = wanted.id, parent = agent(command.a).id();
  creation_ = Creation{id, parent};
  Result<Agent> made = agent(command.a).create_child(std::move(wanted));
  const bool too_late = std::exchange(creation_, {})->too_late;
  if (!made) return;
  require(!too_late, "G2", id + " was not there when a stop of " + parent + " had returned, and is accepted");
  add_agent(id, parent, made.value());
}

void World::add_agent(const std::string& id, const std::string& parent, const Agent& made) {
  if (handles_.size() == handles_.capacity()) return;
  family_.add(id, parent);
  stops_.inherit(id, parent);
  pauses_.inherit(id, parent);
  ids_.push_back(id);
  handles_.push_back(made);
}

void World::send(const std::function<SendResult(SendOptions)>& call, const std::string& id) {
  const std::size_t number = sent_.size();
  sent_.push_back({id, false, 0});
  const bool closed = stops_.find(id) != nullptr;
  const std::size_t openings = stops_.openings();
  SendOptions options;
  options.on_end = [this, number](const MessageEnd&) {
    ++sent_[number].ends;
    within(Moment::message_end);
  };
  const SendResult result = call(std::move(options));
  sent_[number].accepted = result.accepted();
  if (result.accepted()) newest_message_ = result.id;
  if (closed && openings == stops_.openings())
    require(!result.accepted(), "G1", id + " has accepted a message after a stop has returned");
  if (!any_close_ && !destroyed_ && id.starts_with('a'))  // the others end with their calls
    require(result.accepted() || result.reason == Errc::mailbox_full, "G12",
            id + " has refused a message: " + std::string(to_string(result.reason)));
}

void World::steer(const Agent& agent, const std::string& id, Message message, SteerWhen when) {
  const std::size_t model_calls = destroyed_ ? 0 : client_->calls();
  const SendResult result = agent.steer(std::move(message), {.when = when});
  if (!result.accepted()) return;
  ++steers_[result.id].accepted;
  if (result.ended_call && !destroyed_) check_cut({id}, model_calls, 0);
}

bool World::act_by_message(const Command& command, const Agent& agent) {
  const std::string id = ids_[command.a];
  Message message;
  message.text = "m" + std::to_string(++texts_);
  switch (command.act) {
    case Act::send:
      send([&](SendOptions options) { return agent.send(message, std::move(options)); }, id);
      return true;
    case Act::send_urgent:
      message.priority = MessagePriority::urgent;
      send([&](SendOptions options) { return agent.send(message, std::move(options)); }, id);
      return true;
    case Act::steer:
      steer(agent, id, message, SteerWhen::next_step);
      return true;
    case Act::steer_now:
      steer(agent, id, message, SteerWhen::now);
      return true;
    default:
      return false;
  }
}

// A stop or a delete has returned: a child that is not there yet is refused.
void World::note_creation() {
  if (!creation_) return;
  const Gates::Closed* const closed = stops_.find(creation_->parent);
  if (!closed || !closed->subtree) return;
  const bool is_there = scheduler_->quietly([this] { return static_cast<bool>(tree_->find(creation_->id)); });
  if (!is_there) creation_->too_late = true;
}

VerbResult World::close(const std::string& root, Reach reach,
                        const std::function<VerbResult(std::function<void()>)>& call, bool cuts) {
  any_close_ = true;
  const std::vector<std::string> existed = family_.below(root, false);
  const std::size_t model_calls = destroyed_ ? 0 : client_->calls(), tool_calls = held_.size();
  const std::uint64_t called = stops_.now();
  VerbResult result = call([this] {
    ++reports_;
    within(Moment::settled);
  });
  if (reach == Reach::below ? result.took_effect() : result.accepted()) ++reports_due_;
  // Below an agent that is stopped itself a stop of its descendants has no effect.
  if (!(reach == Reach::below ? result.took_effect() : result.accepted()) || destroyed_) return result;
  std::vector<std::string> ids{root};
  if (reach == Reach::below) ids = existed;
  if (reach == Reach::subtree) ids = family_.below(root, true);
  stops_.close(ids, called,
               {.quiet = result.quiet,
                .poll = polls_,
                .subtree = reach == Reach::subtree,
                .cuts = cuts && result.took_effect()});
  note_creation();
  std::erase_if(ids, [this](const std::string& id) { return stops_.find(id) == nullptr; });
  if (cuts && result.took_effect()) check_cut(ids, model_calls, tool_calls);
  scheduler_->quietly([&] {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (std::ranges::find(ids, ids_[i]) == ids.end()) continue;
      const auto length = handles_[i].queue_length();
      require(!length || length.value() == 0, "G1",
              "messages wait for " + ids_[i] + " after a stop has returned");
    }
  });
  return result;
}

bool World::act_by_stop(const Command& command, const Agent& agent) {
  const std::string id = ids_[command.a];
  StopOptions options;
  Reach reach = Reach::subtree;
  switch (command.act) {
    case Act::stop:
      break;
    case Act::stop_alone:
      options.scope = Scope::agent;
      reach = Reach::alone;
      alone_[id] = true;
      break;
    case Act::stop_below:
      options.scope = Scope::descendants;
      reach = Reach::below;
      for (const std::string& below : family_.below(id, false)) alone_[below] = true;  // counted as no closer
      break;
    case Act::stop_few:
      options.cut = command.b % 2 == 0 ? StopCut::few : StopCut::none;
      break;
    case Act::stop_after_turn:
    case Act::stop_after_step:
      any_close_ = true;
      options.when = command.act == Act::stop_after_turn ? StopWhen::after_turn : StopWhen::after_step;
      if (command.b % 4 == 3) options.escalate_after = Duration(0);
      static_cast<void>(agent.stop(std::move(options)));
      return true;
    case Act::terminate: {
      const VerbResult result = close(id, reach, [&](std::function<void()> settled) {
        return agent.terminate({.on_settled = [settled](const StopReport&) { settled(); }});
      });
      deleters_[id] += result.took_effect() ? 1 : 0;
      return true;
    }
    case Act::terminate_after_turn:
      any_close_ = true;
      static_cast<void>(agent.terminate({.when = StopWhen::after_turn}));
      return true;
    default:
      return false;
  }
  const VerbResult result = close(
      id, reach,
      [&](std::function<void()> settled) {
        options.on_settled = [settled](const StopReport&) { settled(); };
        return agent.stop(options);
      },
      options.cut != StopCut::none);
  if (reach != Reach::below) closers_[id] += result.took_effect() ? 1 : 0;
  return true;
}

// What was in flight when the verb was called, and is closed, is cut: at most a few operations are.
void World::check_cut(const std::vector<std::string>& ids, std::size_t model_calls, std::size_t tool_calls) {
  const auto is_closed = [&](const std::string& id) { return std::ranges::find(ids, id) != ids.end(); };
  for (const test::FakeClient::Call* const call : client_->open_calls())
    if (call->number < model_calls && is_closed(call->request.agent_id))
      require(call->stop.stop_requested(), "G5",
              "a model call of " + call->request.agent_id + " is not cut when a stop returns");
  scheduler_->quietly([&] {
    for (std::size_t i = 0; i < tool_calls && i < held_.size(); ++i)
      if (is_closed(held_[i]->agent) && !held_[i]->answered)
        require(
            held_[i]->context.stop().stop_requested() || known_calls_.has_ended(held_[i]->context.call_id()),
            "G5", "a tool call of " + held_[i]->agent + " is not cut when a stop returns");
  });
}

void World::open(Gates& gates, const std::string& root, bool alone, const std::function<bool()>& call) {
  const std::size_t opening = gates.begin_open(root, alone);
  if (creation_) creation_->too_late = false;
  if (&gates == &stops_)
    for (const std::string& id : family_.below(root, true)) ++openers_[id];
  static_cast<void>(call());
  gates.end_open(opening);
}

bool World::act_by_opening(const Command& command, const Agent& agent) {
  const std::string id = ids_[command.a];
  switch (command.act) {
    case Act::resume:
      open(stops_, id, false, [&] {
        return agent.resume({.scope = command.b % 4 != 3 ? Scope::subtree : Scope::agent}).took_effect();
      });
      return true;
    case Act::unpause:
      open(pauses_, id, false, [&] {
        static_cast<void>(agent.unpause());
        return true;
      });
      return true;
    case Act::pause: {
      const std::uint64_t called = pauses_.now();
      const VerbResult result = agent.pause();
      if (result.accepted() && !destroyed_)
        pauses_.close(family_.below(id, true), called, {.quiet = result.quiet, .poll = polls_});
      return true;
    }
    default:
      return false;
  }
}

VerbResult World::end_turns(const std::vector<std::string>& ids, bool with_tools,
                            const std::function<VerbResult()>& call) {
  std::map<std::string, std::uint64_t> newest;
  for (const std::string& id : ids) newest[id] = turns_.newest(id);
  const std::size_t model_calls = destroyed_ ? 0 : client_->calls(), tools = held_.size();
  VerbResult result = call();
  if (!result.took_effect() || destroyed_) return result;
  for (const auto& [id, turn] : newest)
    turns_.end(id, {.turn = turn, .quiet = result.quiet, .poll = polls_, .at = stops_.now()});
  check_cut(ids, model_calls, with_tools ? tools : 0);
  return result;
}

bool World::act_on_turn(const Command& command, const Agent& agent) {
  const std::string id = ids_[command.a];
  switch (command.act) {
    case Act::abort:
    case Act::abort_and_clear:
      static_cast<void>(end_turns({id}, false, [&] {
        VerbResult result = agent.abort(
            {.queue = command.act == Act::abort_and_clear ? QueueAction::drop : QueueAction::deliver,
             .reason = {}});
        result.quiet = false;  // an abort does not say so
        return result;
      }));
      return true;
    case Act::interrupt:
      static_cast<void>(end_turns(
          {id}, true, [&] { return agent.interrupt({.reason = command.b % 4 == 3 ? "why" : ""}); }));
      return true;
    case Act::interrupt_and_hold:
      static_cast<void>(end_turns({id}, true, [&] { return agent.interrupt({.queue = QueueAction::hold}); }));
      return true;
    case Act::interrupt_and_drop:
      static_cast<void>(end_turns({id}, true, [&] { return agent.interrupt({.queue = QueueAction::drop}); }));
      return true;
    case Act::interrupt_below:
      static_cast<void>(end_turns(family_.below(id, true), true,
                                  [&] { return agent.interrupt({.scope = Scope::subtree}); }));
      return true;
    case Act::release_queue:
      static_cast<void>(agent.release_queue());
      return true;
    case Act::renew:
      static_cast<void>(agent.renew());
      return true;
    case Act::cancel_call:
      static_cast<void>(agent.cancel_call(some_call(ids_[command.a])));
      return true;
    case Act::complete_call:
      if (agent.complete_call(some_call(ids_[command.a]), ToolResult::done("by hand")).took_effect())
        known_calls_.completed_by_host(ids_[command.a]);
      return true;
    default:
      return false;
  }
}

// The newest one.
std::string World::some_call(const std::string& agent) const {
  for (std::size_t i = held_.size(); i-- > 0;)
    if (!held_[i]->answered && held_[i]->agent == agent) return held_[i]->context.call_id();
  return "call" + std::to_string(calls_);
}

bool World::act_on_tree(const Command& command) {
  if (command.act < Act::stop_all || command.act > Act::unpause_all) return false;
  if (destroyed_) return true;
  ++tree_users_;
  switch (command.act) {
    case Act::stop_all:
      static_cast<void>(close("", Reach::subtree, [&](std::function<void()> settled) {
        return tree_->stop_all({.on_settled = [settled](const StopReport&) { settled(); }});
      }));
      for (const std::string& id : ids_) alone_[id] = true;
      break;
    case Act::resume_all:
      open(stops_, "", false, [&] { return tree_->resume_all().took_effect(); });
      break;
    case Act::pause_all: {
      const std::uint64_t called = pauses_.now();
      const VerbResult result = tree_->pause_all();
      if (result.accepted())
        pauses_.close(family_.below("", false), called, {.quiet = result.quiet, .poll = polls_});
      break;
    }
    default:
      open(pauses_, "", false, [&] { return tree_->unpause_all().took_effect(); });
  }
  --tree_users_;
  return true;
}

void World::act_as_host(const Command& command, const Agent& agent) {
  const std::uint32_t thread = scheduler_->thread();
  switch (command.act) {
    case Act::post: {
      if (destroyed_) return;
      const std::uint64_t number = ++posted_[thread];
      ++tree_users_;
      runtime_->post([this, thread, number] {
        require(++ran_[thread] == number, "post", "functions are called in another order");
      });
      --tree_users_;
      return;
    }
    case Act::look:
      return look(agent);
    default:
      return let_go(agent);
  }
}

void World::look(const Agent& agent) {
  static_cast<void>(agent.state());
  static_cast<void>(agent.status());
  static_cast<void>(agent.queue_length());
  static_cast<void>(agent.status());
  static_cast<void>(agent.busy());
  static_cast<void>(agent.id());
}

}  // namespace agentcore::interleaved
