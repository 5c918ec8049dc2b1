// The tools of a World.
#include "sim/choices.hpp"
#include "sim/held_call.hpp"
#include "sim/world.hpp"
#include "sim/world_run.hpp"

#include <agentcore/agent_tool.hpp>

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::sim {

void World::add_tools() {
  tools_ = std::make_shared<ToolRegistry>();
  const auto add = [this](ToolSpec spec) {
    const std::string name = spec.name;
    spec.timeout = own_timeout(name);
    const bool may_repeat = spec.replay == ToolReplay::safe;
    tools_->add(
        {.spec = std::move(spec),
         .start = [this, name, may_repeat](const nlohmann::json&, const ToolContext& context, ToolDone done) {
           begin_tool(name, may_repeat, context, std::move(done));
         }});
  };
  add({.name = "never"});
  add({.name = "safe", .replay = ToolReplay::safe});
  add({.name = "careful", .needs_approval = true});
  add({.name = "task", .mode = ToolMode::async});
  add({.name = "finish"});
  tools_->add(make_ask_human_tool());
  AgentToolOptions delegate;
  delegate.tool = {.name = "delegate"};
  delegate.agent.tools = tools_.get();  // not shared: the registry would own itself
  delegate.agent.code.tools = "tools";
  if (setup_[Knob::plain_arguments] != 0) {
    delegate.tool.parameters = R"({"type":"object"})";
    delegate.write_message = [](const nlohmann::json&) { return std::string("work"); };
  }
  tools_->add(make_agent_tool(std::move(delegate)));
  tools_->add(make_blocking_tool({.name = "blocking", .timeout = own_timeout("blocking")}, &executor_,
                                 [this](const nlohmann::json&, const ToolContext& context) {
                                   const test::HostCode host;
                                   note_tool("blocking", false, context);
                                   return ToolResult::done("a blocking result");
                                 }));
  add_programs();
}

// ToolSpec::timeout; empty: that of the tree.
std::optional<Duration> World::own_timeout(std::string_view tool) const {
  if (setup_[Knob::short_times] != 2) return std::nullopt;
  if (tool == "never" || tool == "blocking") return std::chrono::seconds(1);
  if (tool == "careful") return Duration(0);
  if (tool == "safe") return std::chrono::seconds(6);
  if (tool == "task") return std::chrono::minutes(2);
  return std::nullopt;
}

void World::note_tool(const std::string& name, bool may_repeat, const ToolContext& context) {
  ++events_;
  say("begun " + name + ' ' + context.agent().id() + ' ' + without_task_id(context.call_id()));
  if (killed_) return;
  tool_rules_.begun(context, may_repeat);
  time_rules_.begun(context,
                    own_timeout(name).value_or(setup_[Knob::short_times] == 1 ? std::chrono::seconds(1)
                                                                              : TreeOptions().tool_timeout));
  check_intent(context.call_id(), may_repeat);
  waits_.begins(context.call_id());
  const std::string id = context.agent().id();
  if (name == "careful") approvals_.begins(name, call_key(id, context.call_id()));
  gates_.tool_begins(id, name == "blocking");
  if (!context.call_id().starts_with("task_"))
    turn_rules_.tool_begins(id, context.turn(), name == "blocking");
  verdict_.require(!gates_.is_cut(id, context.turn()), "G1", "a tool of a turn that was ended: " + id);
}

void World::begin_tool(const std::string& name, bool may_repeat, const ToolContext& context, ToolDone done) {
  const test::HostCode host;
  note_tool(name, may_repeat, context);
  const auto call = std::make_shared<HeldCall>(name, context, std::move(done));
  const auto number = static_cast<std::uint32_t>(++tool_starts_);
  held_.push_back(call);
  run_pending(place_of(Callback::tool_call), context.agent().id(), context.call_id());
  call->threw = throws_;
  if (throws_ && !killed_) tool_rules_.gave(call->agent, context, false);
  throw_if_due();
  const std::uint32_t instant = setup_[Knob::instant_tools], deaf = setup_[Knob::deaf_tools];
  if (name == "finish") return end_tool(*call, ToolResult{.message = "the turn is over", .end_turn = true});
  if (instant == 2 || (instant == 1 && number % 2 == 0)) return end_tool(*call, ToolResult::done("at once"));
  if (deaf == 2 || (deaf == 1 && number % 3 == 0)) return;
  const bool eager = setup_[Knob::eager_stops] != 0;
  call->on_stop.emplace(context.stop(), [this, eager, weak = std::weak_ptr(call)] {
    const test::HostCode within;
    const auto stopped = weak.lock();
    if (!stopped || !run_) return;
    if (eager) return end_tool(*stopped, ToolResult::failed("it was stopped"));
    run_->runtime.post([this, weak] {
      if (const auto late = weak.lock()) end_tool(*late, ToolResult::failed("it was stopped"));
    });
  });
}

void World::end_tool(HeldCall& call, std::optional<ToolResult> result) {
  if (!call.done) return;
  std::optional<ToolDone> done = std::exchange(call.done, std::nullopt);
  const bool is_given = result.has_value();
  {
    const test::HostCode host;
    if (!killed_) tool_rules_.gave(call.agent, call.context, result.has_value());
    if (result) result->message = call_key(call.agent, call.context.call_id()) + ": " + result->message;
  }
  {
    const test::LibraryCode library;
    if (result) (*done)(std::move(*result));
    done.reset();
  }
  const test::HostCode host;
  // A call whose ToolDone was dropped ends with its time-out if there was no memory to say so.
  if (!killed_ && (is_given || !fault_came())) time_rules_.gave(call.agent, call.context.call_id());
}

Question World::question(const Command& command) {
  const test::HostCode host;
  Question question{.text = "May I?"};
  if (command.n[1] % 2 == 1) question.choices = {"yes", "no"};
  if (command.n[1] % 3 == 2) question.timeout = duration(command.n[2]);
  return question;
}

// Its agent is not stopped, and no verb and no time-out has ended the call.
bool World::may_act(const HeldCall& call) const {
  return !call.context.stop().stop_requested() && !gates_.is_stopped(call.agent);
}

// A tool uses its ToolContext, also after the end of its call.
void World::tell_context(const Command& command, HeldCall& call) {
  const ToolContext context = call.context;
  switch (command.act) {
    case Act::tool_progress:
      context.progress("p" + std::to_string(++texts_));
      return;
    case Act::tool_asks:
      context.ask(question(command), [this, number = questions_.asks()](const Answer& answer) {
        const test::HostCode host;
        ++events_;
        if (!killed_) questions_.closed(number, answer);
        say("asked " + std::string(to_string(answer.outcome)));
      });
      return;
    case Act::tool_sends: {
      const Agent to = agent(command.n[1]);
      const bool may_send = may_act(call);
      const SendResult sent = context.send(to, message());
      note_send(command, to, sent, false);
      verdict_.require(!sent || may_send, "G1", "a tool whose call is over sends: " + call.agent);
      return;
    }
    default: {
      AgentSpec wanted = spec(command.n[1]);
      wanted.auto_resume = false;
      const AgentSpec as_wanted = copy_of(wanted);
      const bool may_make = may_act(call);
      const auto made = context.create_child(agent(command.n[2]), std::move(wanted));
      const test::HostCode host;
      note(command, made ? "done" : "refused " + std::string(to_string(made.error().code)));
      verdict_.require(!made || may_make, "G1", "a tool whose call is over makes an agent: " + call.agent);
      if (made) note_created(as_wanted.id, as_wanted);
    }
  }
}

void World::forget_ended_calls() {
  std::erase_if(held_, [](const auto& call) { return !call->done; });
}

// The ids of background tasks are random numbers of the process.
std::string World::without_task_id(const std::string& call_id) {
  return call_id.starts_with("task_") ? "task" : call_id;
}

}  // namespace agentcore::sim
