// Liveness: from one moment on no fault happens in a part of the world, while the rest goes on as before.
#include "sim/held_call.hpp"
#include "sim/world.hpp"
#include "sim/world_run.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace agentcore::sim {
namespace {

// What the rest of the world does meanwhile. It answers nothing: its models and tools hang.
constexpr std::array<Act, 14> outside_acts = {
    Act::send,       Act::send,         Act::stop,         Act::resume,       Act::pause,
    Act::unpause,    Act::terminate,    Act::interrupt,    Act::model_fails,  Act::tool_fails,
    Act::model_text, Act::tool_dropped, Act::create_child, Act::store_refuses};

// The n-th of `count` choices that are numbered by place, so that World::agent() does not take it for one
// that is gone.
std::uint32_t number_of(std::size_t index, std::size_t count) {
  std::size_t n = index;
  while (n % 16 >= 8) n += count;  // the others mean something else: World::agent()
  return static_cast<std::uint32_t>(n);
}

}  // namespace

// One of the indices for which `is_outside` is true.
std::optional<std::size_t> World::any_outside(Random& random, const std::vector<bool>& is_outside) {
  const auto count = static_cast<std::uint32_t>(std::ranges::count(is_outside, true));
  if (count == 0) return std::nullopt;
  std::uint32_t left = random.below(count);
  for (std::size_t i = 0; i < is_outside.size(); ++i)
    if (is_outside[i] && left-- == 0) return i;
  return std::nullopt;
}

void World::act_outside(Random& random, const Part& part, bool store_fails) {
  Command command{.act = outside_acts[random.below(outside_acts.size())]};
  for (std::uint32_t& n : command.n) n = random.below(1000);
  if (command.act == Act::store_refuses && !store_fails) return;
  std::vector<bool> outside;
  if (command.act == Act::model_fails || command.act == Act::model_text)
    for (const test::FakeClient::Call* const call : run_->llm.open_calls())
      outside.push_back(!part.contains(call->request.agent_id));
  else if (command.act == Act::tool_fails || command.act == Act::tool_dropped)
    for (const auto& call : held_) outside.push_back(!part.contains(call->context.agent().id()));
  else
    run_->tree->walk([&](const Agent& one) { outside.push_back(!part.contains(one.id())); });
  const auto chosen = any_outside(random, outside);
  if (!chosen || outside.size() % 16 == 0) return;
  command.n[0] = number_of(*chosen, outside.size());
  if (command.act == Act::create_child) command.n[1] = command.n[1] / 16 * 16;
  act(command);
}

// The models, tools and people of the part answer, and what it shares with the rest works.
void World::serve(const Part& part) {
  while (executor_.run_one()) {
  }
  for (test::FakeClient::Call* const call : run_->llm.open_calls())
    if (part.contains(call->request.agent_id))
      end_model_call(*call, ChatOutcome::completed(FinishReason::complete));
  if (run_->http) run_->http->answer_all();
  for (const auto& call : std::vector(held_)) {
    const std::string id = call->context.agent().id();
    if (id.empty() || part.contains(id)) end_tool(*call, ToolResult::done("in time"));
  }
  for (const auto& program : process_rules_.running())
    if (part.contains(process_rules_.agent_of(*program))) processes_->end(*program);
  for (const OpenQuestion& question : run_->tree->questions())
    if (part.contains(question.agent_id)) static_cast<void>(run_->tree->decline(question.id));
}

// Empty: nothing of the part is in progress any more.
std::string World::unsettled(const Part& part) {
  for (const std::string& id : part)
    if (const auto agent = run_->tree->find(id); agent && agent.value().busy()) return id + " is busy";
  for (const RunningTask& task : run_->tree->tasks())
    if (part.contains(task.agent_id))
      return "the task " + without_task_id(task.id) + " of " + task.agent_id + " runs";
  for (const test::FakeClient::Call* const call : run_->llm.open_calls())
    if (part.contains(call->request.agent_id))
      return "a model call of " + call->request.agent_id + " is open";
  for (const std::string& id : part)
    if (const MessageId message = messages_.open_of(id))
      return "message " + to_string(message) + " of " + id + " has no end";
  return {};
}

void World::calm(const Command& command) {
  if (in_poll_ || depth_ != 0 || handles_.empty()) return;
  if ((is_left_ && !goes_on_in_memory()) || setup_[Knob::after_failure] == 3) return;  // a failure stops all
  std::vector<Agent> roots;
  run_->tree->walk([&](const Agent& one) {
    if (!one.parent()) roots.push_back(one);
  });
  if (roots.empty()) return note(command, "nobody");
  const std::string root = roots[command.n[0] % roots.size()].id();
  const std::vector<Command> later = std::exchange(pending_, {});
  throws_ = false;
  store_.calm();
  processes_->calm();
  network_->faults.calm();
  opened_.clear();
  // A request that is under way may be for a pause.
  for (ConsoleClient& client : people_.clients) client.send(client.unsent(), verbs_);
  poll_until_quiet();
  // An answer may wait for a commit, or for one that is tried again, and the request that follows for that
  // answer.
  for (int i = 0; i < 60 && people_.is_asking() && !killed_; ++i) {
    while (executor_.run_one()) {
    }
    ask_for_deadline();
    clock_.advance(std::chrono::seconds(1));
    poll_until_quiet();
  }
  for (ConsoleClient& client : people_.clients) client.leave(true);  // the answer may be that of a task
  poll_until_quiet();
  if (killed_ || tree_is_destroyed_ || !problem().empty()) return;
  ++verbs_;  // an answer that is under way says how it was before
  static_cast<void>(run_->tree->unpause_all());
  gates_.paused_all(false);
  // A deferred stop of all agents waits for the turns of all.
  std::vector<std::string> tops = {root};
  if (all_deferred_)
    for (const Agent& other : roots) tops.push_back(other.id());
  Part part;
  for (const std::string& top : tops) part.merge(gates_.subtree(top));
  for (const std::string& id : part) {
    const auto agent = run_->tree->find(id);
    if (!agent) continue;
    static_cast<void>(agent.value().unpause());
    static_cast<void>(agent.value().release_queue());
    gates_.paused(id, false);
  }
  Random random(command.n[1] * 1000 + command.n[2]);
  const std::size_t most = 60 + 4 * messages_.open_count();
  std::string left = "it was not looked at";
  for (std::size_t round = 0; round < most && !left.empty() && problem().empty(); ++round) {
    for (std::uint32_t n = random.below(3); n != 0; --n) act_outside(random, part, round < 20);
    serve(part);
    ask_for_deadline();
    clock_.advance(std::chrono::seconds(20));
    poll_until_quiet();
    if (killed_ || tree_is_destroyed_) break;
    check();
    for (const std::string& top : tops) part.merge(gates_.subtree(top));
    left = unsettled(part);
  }
  verdict_.require(left.empty(), "liveness", "where no fault happens any more, " + left);
  pending_.insert(pending_.begin(), later.begin(), later.end());
  note(command, "done");
}

}  // namespace agentcore::sim
