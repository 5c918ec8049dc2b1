#include "support/tree_fixture.hpp"

#include "loop/engine.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::test {

FakeClient::~FakeClient() {
  for (auto& call : calls_) call->callback.reset();
}

void FakeClient::chat(ChatRequest request, StopToken stop, ChatSink sink) {
  auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->stop = stop;
  call->sink = std::move(sink);
  call->on_stop = on_stop;
  call->number = calls_.size();
  calls_.push_back(call);
  call->callback.emplace(std::move(stop), [this, weak = std::weak_ptr(call)] {
    const auto stopped = weak.lock();
    if (!stopped || stopped->on_stop == OnStop::deaf) return;
    if (stopped->on_stop == OnStop::at_once) return finish(*stopped, ChatOutcome::cancelled());
    engine_->post([weak] {
      if (const auto late = weak.lock()) finish(*late, ChatOutcome::cancelled());
    });
  });
  if (on_chat) on_chat(*this, *call);
}

bool FakeClient::abort(std::string_view agent_id) {
  Call* const call = find(agent_id);
  if (!call) return false;
  finish(*call, ChatOutcome::cancelled());
  return true;
}

bool FakeClient::has_active_request(std::string_view agent_id) const {
  const Call* const call = find(agent_id);
  return call && !call->stop.stop_requested();
}

CheckedPointer<FakeClient::Call*> FakeClient::find(std::string_view agent_id) const {
  for (std::size_t i = calls_.size(); i-- > 0;)
    if (calls_[i]->open() && calls_[i]->request.agent_id == agent_id) return calls_[i].get();
  return {};
}

std::vector<FakeClient::Call*> FakeClient::open_calls() const {
  std::vector<Call*> open;
  for (const auto& call : calls_)
    if (call->open()) open.push_back(call.get());
  return open;
}

void FakeClient::think(std::string_view agent_id, std::string_view text) {
  if (Call* const call = find(agent_id)) call->sink.reasoning(text);
}

void FakeClient::delta(std::string_view agent_id, std::string_view text) {
  if (Call* const call = find(agent_id)) call->sink.delta(text);
}

void FakeClient::answer(std::string_view agent_id, std::string_view text) {
  Call* const call = find(agent_id);
  if (!call) return;
  call->sink.delta(text);
  finish(*call, ChatOutcome::completed(FinishReason::complete));
}

void FakeClient::call_tools(std::string_view agent_id, std::vector<ToolCall> calls, std::string_view text) {
  Call* const call = find(agent_id);
  if (!call) return;
  call->sink.delta(text);
  ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls, {10, 5, 15});
  outcome.tool_calls = std::move(calls);
  finish(*call, std::move(outcome));
}

void FakeClient::fail(std::string_view agent_id, Errc code) {
  if (Call* const call = find(agent_id)) finish(*call, ChatOutcome::failed({code, "as the test says"}));
}

void FakeClient::finish(Call& call, ChatOutcome outcome) {
  ChatSink sink = std::move(call.sink);  // whoever is told may look at this client
  sink.finish(std::move(outcome));
}

void Recorder::watch(AgentTree& tree, bool states) {
  if (states) states_ = tree.on_state_change([this](const StateChange& change) { on_state(change); });
  events_ = tree.on_event([this](const Event& event) { on_event(event); });
}

void Recorder::unwatch() {
  states_.reset();
  events_.reset();
}

std::vector<std::string> Recorder::with(std::string_view prefix) const {
  std::vector<std::string> found;
  for (const auto& line : lines)
    if (line.starts_with(prefix)) found.push_back(line);
  return found;
}

int Recorder::index(std::string_view line) const {
  const auto place = std::find(lines.begin(), lines.end(), line);
  return place == lines.end() ? -1 : static_cast<int>(place - lines.begin());
}

std::optional<AgentState> Recorder::told(const Agent& agent) const {
  const auto place = seen_.find(agent);
  if (place == seen_.end()) return std::nullopt;
  return place->second.state;
}

void Recorder::number(std::uint64_t sequence) {
  if (sequence <= last_) broken("sequence " + std::to_string(sequence) + " follows " + std::to_string(last_));
  last_ = sequence;
}

void Recorder::on_state(const StateChange& change) {
  number(change.sequence);
  lines.push_back(change.agent.id() + " " + std::string(to_string(change.from)) + ">" +
                  std::string(to_string(change.to)));
  Seen& seen = seen_[change.agent];
  if (seen.deleted) broken("a state after the end");
  if (seen.state != change.from) broken("states do not join");
  if (!is_allowed(change.from, change.to)) broken("a forbidden edge");
  seen.state = change.to;
}

void Recorder::begin_turn(Seen& seen, std::uint64_t turn) {
  if (seen.in_turn) broken("turns overlap");
  if (turn != seen.turn + 1) broken("turns are not numbered in order");
  seen.in_turn = true;
  seen.turn = turn;
}

std::string Recorder::tool_line(const Event& event, const std::string& id) {
  Seen& seen = seen_[event.agent()];
  if (const auto* started = event.get<ToolStarted>()) {
    if (!seen.in_turn || started->turn != seen.turn) broken("a tool call outside its turn");
    ++seen.tools;
    return "tool " + id + " " + started->call_id + " " + started->tool + " " + started->arguments;
  }
  if (const auto* progress = event.get<ToolProgress>())
    return "progress " + id + " " + progress->call_id + " " + progress->text;
  if (const auto* ended = event.get<ToolEnded>()) {
    if (!seen.in_turn || ended->turn != seen.turn || seen.tools-- == 0) broken("an end of no tool call");
    return "tool-end " + id + " " + ended->call_id + " " + std::string(to_string(ended->outcome)) +
           (ended->result.success ? " ok" : " failed");
  }
  if (const auto* asked = event.get<QuestionAsked>()) {
    ++seen.questions;
    return "asked " + id + " " + asked->question.id + " " + std::string(to_string(asked->question.kind)) +
           " " + asked->question.text;
  }
  if (const auto* closed = event.get<QuestionClosed>()) {
    if (seen.questions-- == 0) broken("an end of no question");
    return "closed " + id + " " + closed->question_id + " " + std::string(to_string(closed->outcome));
  }
  if (const auto* task = event.get<TaskChanged>()) {
    seen.tasks += task->state == TaskState::started ? 1 : -1;
    if (seen.tasks < 0) broken("an end of no task");
    return "task " + id + " " + task->tool + " " + std::string(to_string(task->state));
  }
  const auto& abandoned = *event.get<Abandoned>();
  return "abandoned " + id + " " + std::string(abandoned.what) + (abandoned.name.empty() ? "" : " ") +
         abandoned.name;
}

void Recorder::on_event(const Event& event) {
  number(event.sequence);
  const std::string id = event.agent().id();
  Seen& seen = seen_[event.agent()];
  std::string line;
  if (event.get<AgentCreated>()) {
    line = "created " + id;
  } else if (const auto* started = event.get<TurnStarted>()) {
    line = "started " + id + " " + std::to_string(started->turn);
  } else if (const auto* delta = event.get<DeltaReceived>()) {
    line = "delta " + id + " " + std::to_string(delta->turn) + " " + std::string(delta->text);
  } else if (const auto* thought = event.get<ReasoningReceived>()) {
    line = "thought " + id + " " + std::to_string(thought->turn) + " " + std::string(thought->text);
  } else if (const auto* ended = event.get<TurnEnded>()) {
    line = "ended " + id + " " + std::to_string(ended->turn) + " " + std::string(to_string(ended->outcome));
  } else if (const auto* settled = event.get<Settled>()) {
    line = "settled " + id + " " + std::string(to_string(settled->end)) +
           (settled->abandoned ? " abandoned" : "");
  } else if (const auto* discarded = event.get<Discarded>()) {
    line = "discarded " + id + " " + std::to_string(discarded->turn) + " " + std::string(discarded->what);
  } else if (event.get<AgentDeleted>()) {
    line = "deleted " + id;
  } else {
    line = tool_line(event, id);
  }
  lines.push_back(line);
  if (id.empty()) broken("an event of nobody");
  if (seen.deleted) broken("an event after the end");
  if (const auto* started = event.get<TurnStarted>()) begin_turn(seen, started->turn);
  if (const auto* delta = event.get<DeltaReceived>(); delta && (!seen.in_turn || delta->turn != seen.turn))
    broken("a delta outside its turn");
  if (const auto* thought = event.get<ReasoningReceived>();
      thought && (!seen.in_turn || thought->turn != seen.turn))
    broken("a thought outside its turn");
  if (const auto* ended = event.get<TurnEnded>()) {
    if (!seen.in_turn || ended->turn != seen.turn) broken("an end without a beginning");
    if (seen.tools != 0) broken("a tool call without an end");
    seen.in_turn = false;
    const auto history = event.agent().conversation();
    if (history && !is_valid_history(*history)) broken("an invalid history");
  }
  if (event.get<Settled>() && seen.in_turn) broken("settled within a turn");
  if (event.get<Settled>() && (seen.questions != 0 || seen.tasks != 0)) broken("settled with something open");
  if (event.get<AgentDeleted>()) seen.deleted = true;
}

TreeFixture::TreeFixture(TreeOptions options, bool watch_states) {
  RuntimeOptions how;
  how.clock = &clock;
  how.seed = 1;
  how.log = [this](const LogRecord& record) {
    std::string line = std::string(to_string(record.level)) + " " + std::string(record.message);
    for (const auto& field : record.fields)
      line += " " + std::string(field.key) + "=" + std::string(field.value);
    log.push_back(line);
  };
  runtime = std::make_unique<Runtime>(std::move(how));
  llm = std::make_unique<FakeClient>(*runtime);
  if (!options.llm) options.llm = llm.get();
  tree = std::make_unique<AgentTree>(*runtime, options);
  seen.watch(*tree, watch_states);
}

TreeFixture::~TreeFixture() {
  seen.unwatch();
  tree.reset();
  if (!check_at_end) return;
  CHECK(seen.violations == std::vector<std::string>{});
}

Agent TreeFixture::root(std::string id, AgentSpec spec) {
  spec.id = std::move(id);
  return tree->create(std::move(spec)).value();
}

Agent TreeFixture::child(const Agent& parent, std::string id, AgentSpec spec) {
  spec.id = std::move(id);
  return parent.create_child(std::move(spec)).value();
}

void TreeFixture::settle() {
  for (int i = 0; i < 100'000 && runtime && runtime->poll(); ++i) {
  }
}

void TreeFixture::advance(Duration time) {
  clock.advance(time);
  settle();
}

bool TreeFixture::logged(std::string_view part) const {
  return std::any_of(log.begin(), log.end(),
                     [&](const std::string& line) { return line.find(part) != line.npos; });
}

void TreeFixture::ask(const Agent& agent, std::string text) {
  REQUIRE(agent.send(std::move(text)).accepted);
  settle();
  REQUIRE(agent.state().value() == AgentState::waiting_llm);
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const auto& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

std::string written(const std::vector<ChatMessage>& history) {
  std::string all;
  for (const auto& message : history) {
    all += (all.empty() ? "" : ", ") + std::string(to_string(message.role)) + ":";
    if (message.role == Role::tool) all += message.tool_call_id + "=";
    all += message.content;
    for (const auto& call : message.tool_calls) all += "[" + call.name + " " + call.id + "]";
    if (message.interruption != Interruption::none) all += "!" + std::string(to_string(message.interruption));
  }
  return all;
}

}  // namespace agentcore::test
