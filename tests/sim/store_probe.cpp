#include "sim/store_probe.hpp"

#include <agentcore/history.hpp>
#include <agentcore/tool_registry.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::sim {
namespace {

constexpr std::string_view rule = "damage";
constexpr std::uint64_t kind_of_tree = 1, kind_of_context = 4, kind_of_history = 7;

std::string damaged(const std::string& body, std::uint32_t how) {
  switch (how % 5) {
    case 0:
      return body.substr(0, how * 7919 % body.size());
    case 1:
      return "garbage" + body;
    case 2:
      return {};
    case 3:
      return "[" + body + "]";
    default:
      return body.substr(0, body.size() / 2) + '\xff' + body.substr(body.size() / 2);
  }
}

}  // namespace

CodeRegistry code_of_another(test::FakeClient& llm, bool complete) {
  CodeRegistry code;
  code.add_tools("tools", std::make_shared<ToolRegistry>());
  code.add_llm("llm", &llm);
  code.add_llm("other_llm", &llm);
  if (!complete) return code;
  code.add_handler("handler", [](const Agent&, const Message&) {});
  code.add_tool_policy("policy", [](const ToolRequest&) { return ToolDecision(); });
  return code;
}

StoreProbe::Life::Life(Clock& clock, const MemoryStore& from)
    : records(from), runtime({.clock = &clock}), llm(runtime), tree(runtime, {.llm = &llm}) {
  events = tree.on_event([this](const Event& event) {
    if (const auto* dropped_one = event.get<MessageDropped>()) dropped.insert(dropped_one->id);
    const auto* const restored = event.get<AgentRestored>();
    if (restored == nullptr) return;
    if (!restored->damage.empty()) damage[restored->agent.id()] = restored->damage;
    if (!restored->unbound.empty()) unbound.insert(restored->agent.id());
  });
}

StoreProbe::StoreProbe(Verdict& verdict, Clock& clock, const MemoryStore& records, InterruptedTurns turns)
    : verdict_(verdict), clock_(clock), turns_(turns), plain_(std::make_unique<Life>(clock, records)) {
}

Result<RestoreReport> StoreProbe::restore(Life& life, bool complete) const {
  auto report = life.tree.restore(&life.records, {.sync = StoreSync::process,
                                                  .turns = turns_,
                                                  .max_attempts = 1'000'000,
                                                  .code = code_of_another(life.llm, complete)});
  life.tree.walk([&](const Agent& agent) {
    const AgentStatus status = agent.status().value();
    Seen& seen = life.agents[agent.id()];
    seen.state = status.state;
    seen.is_paused = status.paused;
    seen.is_held = status.queue_held;
    const auto parent = agent.parent();
    if (parent) seen.parent = parent.value().id();
    for (const QueuedMessage& message : agent.queued().value()) seen.queue.push_back(message.id);
    const auto history = agent.conversation();
    if (history)
      seen.history = history_to_json(history.value());
    else
      seen.unreadable = history.error().code;
  });
  return report;
}

std::map<RecordKey, std::string> StoreProbe::records_of(MemoryStore& store) {
  std::map<RecordKey, std::string> records;
  static_cast<void>(store.read({}, RecordKey{RecordKey::max, RecordKey::max, RecordKey::max},
                               [&](const RecordKey& key, std::string_view body) {
                                 records.emplace(key, body);
                                 return true;
                               }));
  return records;
}

std::string StoreProbe::damage(std::uint32_t which, std::uint32_t how) {
  auto records = records_of(plain_->records);
  if (records.empty()) return "no record";
  Life life(clock_, plain_->records);
  const auto chosen = std::next(records.begin(), static_cast<std::ptrdiff_t>(which % records.size()));
  RecordKey key = chosen->first;
  StoreBatch batch;
  const bool is_newer = how % 7 == 6;
  if (is_newer) {
    key = {.kind = kind_of_tree};
    nlohmann::json tree = nlohmann::json::parse(records.at(key));
    tree["format"] = 1'000'000;
    batch.put(key, tree.dump());
  } else {
    batch.put(key, damaged(chosen->second, how));
  }
  verdict_.require(bool(life.records.commit(batch, StoreSync::process)), rule, "the copy takes no damage");
  const auto plain = restore(*plain_, true);
  verdict_.require(bool(plain), rule, "a copy of the store cannot be restored");
  if (!plain) return "no copy";
  const auto before = records_of(life.records);
  const auto found = restore(life, true);
  if (!found) {
    verdict_.require(found.error().code == (is_newer ? Errc::store_newer : Errc::store_corrupt), rule,
                     "a damaged record is refused as " + std::string(to_string(found.error().code)) + ": " +
                         found.error().message);
    check_refused(life, found.error(), before);
    return "refused";
  }
  const bool is_lazy = key.kind == kind_of_history || key.kind == kind_of_context;
  verdict_.require(is_lazy, rule,
                   "a restart finds no damage in a record of kind " + std::to_string(key.kind));
  check_others(life, plain.value().deleted != 0);
  check_unreadable(life);
  return "one agent";
}

void StoreProbe::check_refused(Life& life, const Error& error,
                               const std::map<RecordKey, std::string>& before) const {
  verdict_.require(!error.message.empty(), rule, "a restore is refused without a word");
  verdict_.require(life.tree.size() == 0, rule, "a restore is refused, and there are agents");
  auto after = records_of(life.records);
  for (const auto& [key, body] : before) {
    const auto found = after.extract(key);
    verdict_.require(found && (key.kind == kind_of_tree || found.mapped() == body), rule,
                     "a restore that was refused has changed a record of kind " + std::to_string(key.kind));
  }
  verdict_.require(after.empty(), rule, "a restore that was refused has made records");
}

// One damaged record takes agents out of work that have it in their conversation, and no others.
void StoreProbe::check_others(const Life& life, bool some_are_deleted) const {
  std::size_t unreadable = 0;
  for (const auto& [id, is] : life.agents) {
    const auto before = plain_->agents.find(id);
    verdict_.require(before != plain_->agents.end(), rule, "a damage makes an agent: " + id);
    if (before == plain_->agents.end()) continue;
    const Seen& was = before->second;
    const bool is_damaged = is.unreadable != Errc::none || life.damage.contains(id);
    unreadable += is_damaged ? 1 : 0;
    verdict_.require(is.parent == was.parent && is.is_paused == was.is_paused, rule,
                     "a damage has changed the place or the pause of " + id);
    if (is_damaged) {
      verdict_.require(is.state == was.state || is.state == AgentState::stopped, rule,
                       "an agent with a damage is " + std::string(to_string(is.state)) + ": " + id);
      verdict_.require(!life.damage.contains(id) || is.state == AgentState::stopped, rule,
                       "AgentRestored::damage of an agent that is not stopped: " + id);
      continue;
    }
    verdict_.require(is.state == was.state && is.queue == was.queue && is.is_held == was.is_held, rule,
                     "the damage of another agent has changed " + id);
    verdict_.require(is.history == was.history, rule,
                     "the conversation of " + id + " has changed, and is not said to be damaged");
  }
  verdict_.require(life.agents.size() == plain_->agents.size(), rule, "a damage has taken an agent away");
  verdict_.require(unreadable != 0 || some_are_deleted, rule, "a damaged record of a conversation is read");
}

// They begin no turn.
void StoreProbe::check_unreadable(Life& life) const {
  for (int i = 0; i < 20; ++i) life.runtime.poll();
  for (const test::FakeClient::Call* const call : life.llm.open_calls()) {
    const auto agent = life.agents.find(call->request.agent_id);
    verdict_.require(agent == life.agents.end() || agent->second.unreadable == Errc::none, rule,
                     "an agent goes on whose conversation cannot be read: " + call->request.agent_id);
  }
  for (const auto& [id, was] : life.agents) {
    const auto agent = life.tree.find(id);
    if (was.unreadable == Errc::none || !agent) continue;
    const auto code = agent.value().conversation();
    verdict_.require(
        !code && (code.error().code == Errc::store_corrupt || code.error().code == Errc::store_newer), rule,
        "the conversation of " + id + " was damaged, and is read");
    const AgentState state = agent.value().state().value();
    const bool is_person = agent.value().role().value() == AgentRole::user;  // which is not stopped
    verdict_.require(was.queue.empty() || was.is_paused || was.is_held || is_person || !can_process(state),
                     rule, "messages wait for an agent that cannot begin a turn: " + id);
  }
}

void StoreProbe::lose_code(const std::set<std::string>& handled) {
  Life life(clock_, plain_->records);
  const auto plain = restore(*plain_, true);
  const auto found = restore(life, false);
  verdict_.require(plain && found, rule, "a restore without a part of the code is refused");
  if (!plain || !found) return;
  verdict_.require(found.value().unbound == life.unbound.size() && plain.value().unbound == 0, rule,
                   "RestoreReport::unbound is another number than that of AgentRestored");
  for (const std::string& id : handled)
    verdict_.require(!life.agents.contains(id) || life.unbound.contains(id), rule,
                     "the handler of " + id + " is not there, and nobody says so");
  for (const auto& [id, was] : plain_->agents) {
    const auto now = life.agents.find(id);
    verdict_.require(now != life.agents.end(), rule, "an agent without its code is gone: " + id);
    if (now == life.agents.end()) continue;
    const Seen& is = now->second;
    if (!life.unbound.contains(id)) {
      verdict_.require(is.state == was.state && is.queue == was.queue && is.history == was.history, rule,
                       "the missing code of another agent has changed " + id);
      continue;
    }
    verdict_.require(is.state == AgentState::stopped, rule, "an agent without its code is open: " + id);
    for (const MessageId message : was.queue)
      verdict_.require(life.dropped.contains(message), rule,
                       "a message of an agent without its code is not reported: " + to_string(message));
  }
  // The store keeps the messages for a restart that finds the code.
  verdict_.require(bool(life.tree.flush()), rule, "a tree without a part of its code cannot write");
  Life again(clock_, life.records);
  if (!restore(again, true)) return verdict_.fail(rule, "a restart that finds the code again is refused");
  for (const std::string& id : life.unbound)
    verdict_.require(again.agents[id].queue == plain_->agents[id].queue, rule,
                     "the messages of " + id + " are lost, with its code alone");
}

}  // namespace agentcore::sim
