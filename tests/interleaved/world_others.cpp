// The commands of a World that are no verbs of an agent: tools, clients of models and pools with threads of
// their own, scopes, handles, and what is done within callbacks.
#include "interleaved/world.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace agentcore::interleaved {

void World::within(Moment moment) {
  if (scheduler_->thread() != 0 || destroyed_) return;
  const auto found = std::ranges::find(armed_, moment, &Command::moment);
  if (found == armed_.end()) return;
  Command command = *found;
  armed_.erase(found);
  command.moment = Moment::now;
  if (!may_be_within(command.act)) return;
  if (command.act == Act::destroy_tree) command.b = 0;  // a Runtime does not end within its own poll
  scheduler_->say("in " + std::string(name(moment)) + ": " + to_text(command));
  act(command);
  ++counts_["in " + std::string(name(moment))];
  check_closed();
}

std::vector<ToolCall> World::tool_calls(std::uint32_t which) {
  constexpr std::array names{"slow", "blocking", "ask", "helper"};
  std::vector<ToolCall> calls;
  for (std::uint32_t i = 0; i < 1 + which / 4 % 2; ++i) {
    const std::uint32_t number = (which + i) % 4;
    calls.push_back({"call" + std::to_string(++calls_),
                     names[number],
                     number < 2 ? "{}" : R"({"message":"Look it up."})",
                     {}});
  }
  return calls;
}

// Perhaps once more: a later result has no effect.
void World::end_tool(std::uint32_t number) {
  const std::shared_ptr<Held> call = held_[number];
  if (call->dropped) return;
  const ToolDone done = call->done;  // another thread may drop the other one
  done(ToolResult::done("a result"));
  call->answered = true;
}

bool World::act_as_tool(const Command& command, const Agent& agent) {
  if (command.act < Act::tool_done || command.act > Act::tool_sends) return false;
  if (held_.empty()) return true;
  const std::uint32_t number = command.a % static_cast<std::uint32_t>(held_.size());
  const std::shared_ptr<Held> call = held_[number];
  switch (command.act) {
    case Act::tool_done:
      end_tool(number);
      return true;
    case Act::tool_dropped:
      if (!std::exchange(call->dropped, true)) ToolDone(std::move(call->done));
      call->answered = true;
      return true;
    case Act::tool_reports:
      call->context.progress("halfway");
      return true;
    default: {
      const bool closed = stops_.find(call->agent) != nullptr;
      const std::size_t openings = stops_.openings();
      const SendResult sent = call->context.send(agent, {.text = "from a tool"});
      if (closed && openings == stops_.openings())
        require(!sent.accepted(), "G1", "a tool of " + call->agent + " sends after a stop has returned");
      return true;
    }
  }
}

void World::run_job() {
  job_began_[scheduler_->thread()] = stops_.now();
  jobs_.run_one();
}

// The client of the models has received something, on this thread: it posts before it uses the sink.
bool World::act_as_worker(const Command& command) {
  const std::uint32_t thread = scheduler_->thread();
  if (command.act == Act::run_job || (command.act == Act::work && thread == 0)) {
    run_job();
    return true;
  }
  if (command.act == Act::work) {
    workers_.push_back(thread);
    do {
      while (!jobs_.empty()) run_job();
    } while (scheduler_->sleep());
    return true;
  }
  if (command.act < Act::worker_sends || command.act > Act::worker_calls) return false;
  if (destroyed_) return true;
  const auto open = client_->open_calls();
  if (open.empty()) return true;
  const std::size_t number = open[command.a % open.size()]->number;
  ++tree_users_;
  runtime_->post([this, number, command] {
    test::FakeClient::Call& call = client_->call(number);
    if (!call.open()) return;
    if (command.act == Act::worker_sends) return call.sink.delta("text");
    if (command.act == Act::worker_answers) return test::FakeClient::complete(call);
    ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls, {10, 5, 15});
    outcome.tool_calls = tool_calls(command.b);
    test::FakeClient::finish(call, std::move(outcome));
  });
  --tree_users_;
  return true;
}

void World::open_scope(const Command& command) {
  if (handles_.size() == handles_.capacity()) return;
  const Agent parent = agent(command.a), other = agent(command.b);
  const std::string parent_id = parent.id(), other_id = other.id(),
                    id = "a" + std::to_string(handles_.size());
  const auto policy = command.b % 2 == 0 ? StopVerb::terminate : StopVerb::stop;
  auto made = std::make_unique<OpenScope>(OpenScope{TerminateScope(parent, policy)});
  AgentSpec wanted = spec(static_cast<std::uint32_t>(handles_.size()));
  wanted.handler = nullptr;
  if (Result<Agent> child = made->scope.create(std::move(wanted))) {
    add_agent(id, parent_id, child.value());
    made->ids.push_back(id);
  }
  if (command.b >= 4 && made->scope.attach(other)) made->ids.push_back(other_id);
  scopes_.push_back(std::move(made));
}

bool World::act_on_scope(const Command& command) {
  if (command.act != Act::close_scope && command.act != Act::release_scope) return false;
  if (scopes_.empty()) return true;
  const auto chosen = scopes_.begin() + static_cast<std::ptrdiff_t>(command.a % scopes_.size());
  std::unique_ptr<OpenScope> open = std::move(*chosen);  // no other thread may use it
  scopes_.erase(chosen);
  if (command.act == Act::release_scope) {
    static_cast<void>(open->scope.release());
    return true;
  }
  any_close_ = true;
  const std::size_t model_calls = destroyed_ ? 0 : client_->calls(), tools = held_.size();
  const std::uint64_t called = stops_.now();
  const std::vector<std::string> ids = open->ids;
  if (command.b % 2 == 0)
    open->scope.close();
  else
    open.reset();
  if (destroyed_) return true;
  std::vector<std::string> closed;
  for (const std::string& id : ids)
    for (const std::string& below : family_.below(id, true)) closed.push_back(below);
  stops_.close(closed, called, {.quiet = false, .poll = polls_});
  note_creation();
  std::erase_if(closed, [this](const std::string& id) { return stops_.find(id) == nullptr; });
  check_cut(closed, model_calls, tools);
  return true;
}

void World::let_go(const Agent& agent) {
  Agent copy = agent;
  Agent other = std::move(copy);
  copy = other;
  other = {};
  if (!destroyed_) return;
  for (Agent& handle : handles_) Agent(std::move(handle));
}

}  // namespace agentcore::interleaved
