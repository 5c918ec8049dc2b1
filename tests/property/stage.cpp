#include "property/stage.hpp"

#include <algorithm>
#include <cctype>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

namespace property_test {

using namespace agentcore;
using namespace agentcore::test;

namespace {

constexpr std::string_view cue = "now";

std::size_t number_of(std::string_view id) {
  return std::stoul(std::string(id.substr(1)));
}

std::vector<ChatMessage> history_of(const Agent& agent) {
  return agent.conversation().value_or(std::vector<ChatMessage>{});
}

std::optional<std::size_t> parent_of(const Scene& scene, std::size_t i) {
  const auto up = static_cast<std::size_t>(scene.members[i].up);
  if (i == 0 || up == 0) return std::nullopt;
  return i - 1 - (up - 1) % i;
}

// Neither `i` nor an agent above it was what `was` says.
void open_way(Scene& scene, std::size_t i, Was was) {
  for (std::optional<std::size_t> up = i; up; up = parent_of(scene, *up))
    if (scene.members[*up].was == was) scene.members[*up].was = Was::open;
}

// As a word of its own: generated ids may contain the same letters.
bool mentions(const std::string& text, const std::string& id) {
  const auto joins = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (std::size_t at = text.find(id); at != std::string::npos; at = text.find(id, at + 1))
    if (!(at > 0 && joins(at - 1)) && !joins(at + id.size())) return true;
  return false;
}

bool is_urgent(const std::string& message) {
  return message.starts_with('u');
}

}  // namespace

// The host of the place has to be able to play it, and the target is open.
Scene Stage::normal(Scene scene) {
  const std::size_t n = scene.members.size();
  scene.target %= n;
  scene.host %= n;
  for (auto* steps : {&scene.before, &scene.after})
    for (Step& step : *steps) step.agent %= n;
  Member& host = scene.members[scene.host];
  const bool between = scene.place == Place::outside || scene.place == Place::thread;
  if (scene.place == Place::handler) host.handler = true;
  const bool may_be_handler = between || scene.place == Place::handler || scene.place == Place::answer;
  if (!may_be_handler) host.handler = false;
  if (!between) host.asked = !host.handler;
  if (!between) host.work = Work::words;
  open_way(scene, scene.target, Was::stopped);
  if (!between)
    for (const Was was : {Was::paused, Was::held, Was::stopped}) open_way(scene, scene.host, was);
  for (Member& member : scene.members) {
    // No stop from another thread may end a call there, and a stop before the scene's own has settled.
    if (member.on_stop == OnStop::at_once && scene.place == Place::thread) member.on_stop = OnStop::post;
    if (member.was == Was::stopped) member.on_stop = OnStop::post;
  }
  return scene;
}

Stage::Stage(Scene scene, const Adjust& adjust) : scene_(normal(std::move(scene))) {
  t.check_at_end = false;  // a counterexample says it
  accepted.resize(size());
  handled_.resize(size());
  t.llm->on_chat = [this](FakeClient&, FakeClient::Call& call) {
    call.on_stop = member(number_of(call.request.agent_id)).on_stop;
  };
  hook_ = t.tree->on_event([this](const Event& event) {
    // Dropped by an earlier stop, or because the call that it served has ended.
    if (const auto* dropped = event.get<MessageDropped>();
        dropped && (before.states.empty() || dropped->message.text.starts_with('c')))
      std::erase(accepted[number_of(event.agent().id())], dropped->message.text);
    if (is_cue(event)) run_verb();
  });
  add_tools();
  populate(adjust);
}

void Stage::hold(const ToolContext& context, ToolDone done, bool task) {
  auto call = std::make_shared<HeldCall>(number_of(context.agent().id()), std::move(done), task);
  held_.push_back(call);
  call->on_stop.emplace(context.stop(), [this, weak = std::weak_ptr(call)] {
    t.runtime->post([weak] {
      const auto late = weak.lock();
      if (!late || std::exchange(late->over, true)) return;
      late->done(ToolResult::failed("it was ended"));
    });
  });
}

void Stage::add_tools() {
  const auto holds = [this](bool task) -> ToolStart {
    return [this, task](const nlohmann::json&, const ToolContext& context, ToolDone done) {
      hold(context, std::move(done), task);
    };
  };
  tools_->add({{.name = "held"}, holds(false)});
  tools_->add({{.name = "task", .mode = ToolMode::async}, holds(true)});
  tools_->add(make_ask_human_tool());
  for (std::size_t i = 0; i < size(); ++i) {
    AgentToolOptions child;
    child.tool.name = "to_" + id(i);
    child.agent.id = id(i);
    child.write_message = [this, i](const nlohmann::json&) {
      std::string message = "c" + std::to_string(i) + "." + std::to_string(accepted[i].size());
      if (state(i) && can_process(*state(i))) accepted[i].push_back(message);
      return message;
    };
    tools_->add(make_agent_tool(std::move(child)));
  }
}

void Stage::populate(const Adjust& adjust) {
  for (std::size_t i = 0; i < size(); ++i) {
    AgentSpec spec;
    if (member(i).handler)
      spec.handler = [this, i](const Agent&, const Message& message) {
        handled_[i].push_back(message.text);
        if (message.text == cue && scene_.place == Place::handler) run_verb();
      };
    spec.tools = tools_;
    spec.limits.background_tasks = 2;
    if (adjust) adjust(t, spec);
    parents_.push_back(parent_of(scene_, i));
    agents_.push_back(parents_[i] ? t.child(agents_[*parents_[i]], id(i), spec) : t.root(id(i), spec));
  }
  for (std::size_t i = 0; i < size(); ++i)
    if (member(i).asked) send(i);
  t.settle();
  for (std::size_t i = 0; i < size(); ++i)
    for (int d = 0; d < member(i).deltas; ++d) t.llm->delta(id(i), "d");
  for (std::size_t i = 0; i < size(); ++i)
    if (member(i).asked) work(i);
  t.settle();
}

std::optional<std::size_t> Stage::child_with_model(std::size_t i) const {
  for (std::size_t child = i + 1; child < size(); ++child)
    if (parents_[child] == i && !member(child).handler) return child;
  return std::nullopt;
}

std::vector<ToolCall> Stage::calls_of(std::size_t i) const {
  if (member(i).work == Work::words) return {};
  auto child = member(i).work == Work::child ? child_with_model(i) : std::nullopt;
  // A call would create a child of the same name anew.
  if (child && (!agents_[*child].exists() || state(*child) == AgentState::terminating)) child.reset();
  ToolCall call{.name = "held"};
  if (member(i).work == Work::task) call.name = "task";
  if (member(i).work == Work::question) call = {.name = "ask_human", .arguments = R"({"question":"Which?"})"};
  if (child) call = {.name = "to_" + id(*child), .arguments = R"({"message":"x"})"};
  return {std::move(call)};
}

// The model of `i`, if it is asked, answers with what its agent is to do.
void Stage::work(std::size_t i) {
  if (auto calls = calls_of(i); !calls.empty()) t.llm->call_tools(id(i), std::move(calls));
}

// What earlier verbs have left. They have settled.
void Stage::leave() {
  t.settle();
  for (std::size_t i = 0; i < size(); ++i) {
    if (member(i).was == Was::paused) static_cast<void>(agents_[i].pause());
    if (member(i).was == Was::held) static_cast<void>(agents_[i].interrupt({.queue = QueueAction::hold}));
    if (member(i).was == Was::stopped) static_cast<void>(agents_[i].stop({.scope = Scope::agent}));
  }
  t.settle();
}

void Stage::open_up() {
  for (const Agent& agent : agents_) {
    static_cast<void>(agent.unpause());
    static_cast<void>(agent.release_queue());
  }
}

void Stage::fill() {
  for (std::size_t i = 0; i < size(); ++i)
    for (int m = 0; m < member(i).queued; ++m) send(i, member(i).urgent && m % 2 == 1);
}

bool Stage::is_cue(const Event& event) const {
  if (!verb_ || event.agent() != agents_[scene_.host]) return false;
  const auto* ended = event.get<TurnEnded>();
  if (scene_.place == Place::delta) return event.get<DeltaReceived>() != nullptr;
  if (scene_.place == Place::answer) return ended && ended->result->outcome == TurnOutcome::completed;
  if (scene_.place == Place::failure) return ended && ended->result->outcome == TurnOutcome::failed;
  return scene_.place == Place::abort && ended && ended->result->outcome == TurnOutcome::aborted;
}

void Stage::act(const std::function<void()>& verb) {
  play(scene_.before);
  leave();
  const std::size_t host = scene_.host;
  if (scene_.place != Place::outside && scene_.place != Place::thread) {
    t.settle();
    if (!member(host).handler && open_calls(host).empty()) send(host);
    t.settle();
  }
  if (host % 2 == 1 || !member(host).handler) fill();
  verb_ = verb;
  enter();
  if (host % 2 == 0 && member(host).handler) fill();
  for (int polls = 0; verb_ && polls < 1000; ++polls) t.poll();
  if (verb_) wrong.emplace_back("the verb was not called");
}

// Has the verb called at its place, now or in one of the next polls.
void Stage::enter() {
  const std::size_t host = scene_.host;
  if (scene_.place == Place::outside || scene_.place == Place::thread) return run_verb();
  if (member(host).handler) {  // its next message is the cue
    if (agents_[host].send(std::string(cue)).accepted()) accepted[host].emplace_back(cue);
    return;
  }
  if (scene_.place == Place::delta) t.llm->delta(id(host), "d");
  if (scene_.place == Place::answer) t.llm->answer(id(host), "d");
  if (scene_.place == Place::failure) t.llm->fail(id(host));
  if (scene_.place == Place::abort) static_cast<void>(agents_[host].abort());
}

void Stage::run_verb() {
  const auto verb = std::exchange(verb_, nullptr);
  if (!verb) return;
  before = look();
  waiting_.clear();
  for (std::size_t i = 0; i < size(); ++i) waiting_.push_back(waits_for_child(i));
  if (scene_.place == Place::thread)
    std::thread(verb).join();
  else
    verb();
  after = look();
}

void Stage::play(const std::vector<Step>& steps, const std::function<void()>& check) {
  for (const Step& next : steps) {
    step(next);
    check();
  }
}

void Stage::step(const Step& step) {
  switch (step.act) {
    case Act::small_poll:
      t.clock.set_tick(std::chrono::milliseconds(1));
      t.poll();
      t.clock.set_tick(Duration(0));
      break;
    case Act::poll:
      t.poll();
      break;
    case Act::delta:
      t.llm->delta(id(step.agent), "d");
      break;
    case Act::answer:
      t.llm->answer(id(step.agent), "d");
      break;
    case Act::fail:
      t.llm->fail(id(step.agent));
      break;
    case Act::send:
      send(step.agent);
      break;
    case Act::work:
      work(step.agent);
      break;
    case Act::result:
      give_result(step.agent);
      break;
    case Act::reply:
      reply(step.agent);
      break;
    case Act::unpause:
      static_cast<void>(agents_[step.agent].unpause());
      break;
    case Act::release:
      static_cast<void>(agents_[step.agent].release_queue());
      break;
  }
}

// The oldest call of a tool that `i` waits for ends.
void Stage::give_result(std::size_t i) {
  for (const auto& call : held_) {
    if (call->agent != i || call->task || std::exchange(call->over, true)) continue;
    return call->done(ToolResult::done("r"));
  }
}

void Stage::reply(std::size_t i) {
  for (const OpenQuestion& question : t.tree->questions())
    if (question.agent_id == id(i))
      return static_cast<void>(question.kind == QuestionKind::approval
                                   ? t.tree->approve(question.id)
                                   : t.tree->answer(question.id, "that one"));
}

void Stage::rest() {
  t.settle();
  if (scene_.grace_over) t.advance(std::chrono::seconds(6));
  for (FakeClient::Call* call : t.llm->open_calls()) {
    if (!call->stop.stop_requested()) continue;
    call->sink.delta("d");
    FakeClient::finish(*call, ChatOutcome::completed(FinishReason::complete));
  }
  t.settle();
}

bool Stage::send(std::size_t i, bool urgent) {
  std::string text = (urgent ? "u" : "m") + std::to_string(i) + "." + std::to_string(accepted[i].size());
  const auto priority = urgent ? MessagePriority::urgent : MessagePriority::normal;
  if (!agents_[i].send({.text = text, .priority = priority}).accepted()) return false;
  accepted[i].push_back(std::move(text));
  return true;
}

std::optional<AgentState> Stage::state(std::size_t i) const {
  const auto state = agents_[i].state();
  return state ? std::optional(*state) : std::nullopt;
}

bool Stage::within(std::size_t i, std::size_t root) const {
  for (std::optional<std::size_t> up = i; up; up = parents_[*up])
    if (*up == root) return true;
  return false;
}

bool Stage::is_below(const std::string& id, const std::string& root) const {
  return id != root && within(number_of(id), number_of(root));
}

std::string Stage::marked(std::size_t i, std::string_view mark) const {
  std::string history = before.histories[i];
  if (!before.in_turn[i]) return history;
  history.insert(before.question_ends[i], mark);
  constexpr std::string_view begun =
      "interrupted: it had begun when its turn ended, and its effect is unknown";
  if (waiting_[i] && history.ends_with(begun)) {
    history.resize(history.size() - begun.size());
    history += "not started: its turn ended before it began";
  }
  return history;
}

// A call of an agent tool begins when its child takes the message (G9).
bool Stage::waits_for_child(std::size_t i) const {
  const auto child = member(i).work == Work::child ? child_with_model(i) : std::nullopt;
  if (!child) return false;
  const auto is_delegated = [](const std::string& message) { return message.starts_with('c'); };
  const auto last = std::find_if(accepted[*child].rbegin(), accepted[*child].rend(), is_delegated);
  const auto& taken = before.taken[*child];
  return last != accepted[*child].rend() && std::find(taken.begin(), taken.end(), *last) == taken.end();
}

bool Stage::may_linger(std::size_t i) const {
  return before.calling[i] != 0 && member(i).on_stop == OnStop::deaf;
}

std::vector<std::string> Stage::open_descendants(std::size_t root) const {
  std::vector<std::string> ids = descendants(root);
  std::erase_if(ids, [this](const std::string& id) { return is_stopped(*before.states[number_of(id)]); });
  return ids;
}

std::vector<std::string> Stage::descendants(std::size_t root) const {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < size(); ++i)
    if (i != root && within(i, root)) ids.push_back(id(i));
  return sorted(std::move(ids));
}

std::vector<std::string> Stage::taken(std::size_t i) const {
  std::vector<std::string> texts = handled_[i];
  for (const ChatMessage& message : history_of(agents_[i]))
    if (message.role == Role::user)  // perhaps after a report of background tasks that have ended
      texts.push_back(message.content().substr(message.content().rfind('\n') + 1));
  return texts;
}

View Stage::look() const {
  View view;
  for (std::size_t i = 0; i < size(); ++i) {
    view.states.push_back(state(i));
    view.shown.push_back(t.seen.reported_state(agents_[i]).value_or(AgentState::idle));
    view.queued.push_back(agents_[i].queue_length().value_or(0U));
    const std::vector<ChatMessage> history = history_of(agents_[i]);
    view.histories.push_back(written(history));
    const auto question = std::find_if(history.rbegin(), history.rend(),
                                       [](const ChatMessage& message) { return message.role == Role::user; });
    const bool has_ended = question == history.rend() || question->interruption != Interruption::none;
    view.in_turn.push_back(!has_ended &&
                           (state(i) == AgentState::waiting_llm || history.back().role == Role::tool));
    view.question_ends.push_back(written({history.begin(), question.base()}).size());
    view.taken.push_back(taken(i));
    view.calling.push_back(open_calls(i).size());
  }
  view.calls = t.llm->calls();
  for (std::size_t c = 0; c < view.calls; ++c) view.cut.push_back(t.llm->call(c).stop.stop_requested());
  view.lines = t.seen.lines.size();
  return view;
}

std::vector<FakeClient::Call*> Stage::open_calls(std::size_t i) const {
  std::vector<FakeClient::Call*> open = t.llm->open_calls();
  std::erase_if(open, [&](const FakeClient::Call* call) { return call->request.agent_id != id(i); });
  return open;
}

std::size_t Stage::owner(std::size_t call) const {
  return number_of(t.llm->call(call).request.agent_id);
}

std::vector<std::string> Stage::told(std::string_view what, std::size_t i) const {
  const std::string start = (what.empty() ? "" : std::string(what) + " ") + id(i);
  std::vector<std::string> found;
  for (std::size_t n = before.lines; n < t.seen.lines.size(); ++n) {
    const std::string& line = t.seen.lines[n];
    if (line == start || line.starts_with(start + " ")) found.push_back(line);
  }
  return found;
}

std::vector<std::string> Stage::in_flight(std::size_t root) const {
  std::vector<std::string> found;
  for (const RunningTask& task : t.tree->tasks())
    if (within(number_of(task.agent_id), root))
      found.push_back(task.agent_id + " " + std::string(to_string(task.kind)) + " " + task.tool);
  for (const OpenQuestion& question : t.tree->questions())
    if (within(number_of(question.agent_id), root)) found.push_back(question.agent_id + " " + question.id);
  for (const auto& call : held_)
    if (!call->over && within(call->agent, root)) found.push_back(id(call->agent) + " runs a tool");
  return found;
}

std::string Stage::broken() const {
  return text(t.seen.violations) + text(wrong);
}

std::string Stage::gossip(std::size_t root) const {
  std::string found;
  for (std::size_t i = 0; i < size(); ++i) {
    if (within(i, root)) continue;
    const std::vector<std::string> got = taken(i);
    if (!in_order(got, accepted[i], member(i).was == Was::held) ||
        got.size() + agents_[i].queue_length().value_or(0U) != accepted[i].size())
      found += id(i) + " got: " + text(got) + " of: " + text(accepted[i]) + "; ";
  }
  for (std::size_t c = 0; c < t.llm->calls(); ++c)
    for (const ChatMessage& message : t.llm->call(c).request.messages) {
      const auto& sent = accepted[owner(c)];
      const bool said =
          message.role == Role::assistant && message.content().find_first_not_of('d') == std::string::npos;
      const bool asked =
          message.role == Role::user && std::find(sent.begin(), sent.end(), message.content()) != sent.end();
      // What tools returned: it may say that an agent was stopped, but neither which one nor why.
      const bool returned = message.role == Role::tool && !mentions(message.content(), id(root)) &&
                            !mentions(message.content(), "over");
      if (!said && !asked && !returned) found += "the model was told: " + message.content() + "; ";
    }
  return found;
}

bool in_order(const std::vector<std::string>& got, const std::vector<std::string>& sent, bool held) {
  // Urgent messages pass the others, and the message of a call passes what a hold keeps back.
  const auto lane = [held](const std::string& message) {
    return is_urgent(message) ? 1 : held && message.starts_with('c') ? 2 : 0;
  };
  for (const int wanted : {0, 1, 2}) {
    std::vector<std::string> expected = sent;
    std::vector<std::string> found = got;
    for (auto* const list : {&expected, &found})
      std::erase_if(*list, [&](const std::string& message) { return lane(message) != wanted; });
    if (found.size() > expected.size() || !std::equal(found.begin(), found.end(), expected.begin()))
      return false;
  }
  return true;
}

bool all_in_order(const std::vector<std::string>& got, const std::vector<std::string>& sent) {
  return got.size() == sent.size() && in_order(got, sent);
}

std::string text(const std::vector<std::string>& words) {
  return joined(words);
}

std::vector<std::string> sorted(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  return words;
}

std::string out_of_order(const Stage& stage, const std::vector<std::string>& ids) {
  for (std::size_t a = 0; a < ids.size(); ++a)
    for (std::size_t b = a + 1; b < ids.size(); ++b)
      if (stage.is_below(ids[b], ids[a])) return ids[a] + " before " + ids[b];
  return "";
}

}  // namespace property_test
