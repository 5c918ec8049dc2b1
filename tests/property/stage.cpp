#include "property/stage.hpp"

#include <algorithm>
#include <utility>

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

}  // namespace

// The host of the place has to be able to play it.
Scene Stage::normal(Scene scene) {
  const std::size_t n = scene.members.size();
  scene.target %= n;
  scene.host %= n;
  for (auto* steps : {&scene.before, &scene.after})
    for (Step& step : *steps) step.agent %= n;
  Member& host = scene.members[scene.host];
  if (scene.place == Place::handler) host.handler = true;
  const bool may_be_handler =
      scene.place == Place::outside || scene.place == Place::handler || scene.place == Place::answer;
  if (!may_be_handler) host.handler = false;
  if (scene.place != Place::outside) host.asked = !host.handler;
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
    if (is_cue(event)) run_verb();
  });
  populate(adjust);
}

void Stage::populate(const Adjust& adjust) {
  for (std::size_t i = 0; i < size(); ++i) {
    AgentSpec spec;
    if (member(i).handler)
      spec.handler = [this, i](const Agent&, const Message& message) {
        handled_[i].push_back(message.text);
        if (message.text == cue && scene_.place == Place::handler) run_verb();
      };
    if (adjust) adjust(t, spec);
    const auto up = static_cast<std::size_t>(member(i).up);
    const bool is_root = i == 0 || up == 0;
    parents_.push_back(is_root ? std::nullopt : std::optional(i - 1 - (up - 1) % i));
    agents_.push_back(is_root ? t.root(id(i), spec) : t.child(agents_[*parents_[i]], id(i), spec));
  }
  for (std::size_t i = 0; i < size(); ++i)
    if (member(i).asked) send(i);
  t.settle();
  for (std::size_t i = 0; i < size(); ++i)
    for (int d = 0; d < member(i).deltas; ++d) t.llm->delta(id(i), "d");
}

void Stage::fill() {
  for (std::size_t i = 0; i < size(); ++i)
    for (int m = 0; m < member(i).queued; ++m) send(i);
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
  const std::size_t host = scene_.host;
  if (scene_.place != Place::outside) {
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
  if (scene_.place == Place::outside) return run_verb();
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
  }
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

bool Stage::send(std::size_t i) {
  std::string text = "m" + std::to_string(i) + "." + std::to_string(accepted[i].size());
  if (!agents_[i].send(text).accepted()) return false;
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

std::vector<std::string> Stage::descendants(std::size_t root) const {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < size(); ++i)
    if (i != root && within(i, root)) ids.push_back(id(i));
  return sorted(std::move(ids));
}

std::vector<std::string> Stage::taken(std::size_t i) const {
  std::vector<std::string> texts = handled_[i];
  for (const ChatMessage& message : history_of(agents_[i]))
    if (message.role == Role::user) texts.push_back(message.content);
  return texts;
}

View Stage::look() const {
  View view;
  for (std::size_t i = 0; i < size(); ++i) {
    view.states.push_back(state(i));
    view.shown.push_back(t.seen.reported_state(agents_[i]).value_or(AgentState::idle));
    view.queued.push_back(agents_[i].queue_length().value_or(0U));
    view.histories.push_back(written(history_of(agents_[i])));
    view.taken.push_back(taken(i));
    view.calling.push_back(!open_calls(i).empty());
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

std::string Stage::broken() const {
  return text(t.seen.violations) + text(wrong);
}

std::string Stage::gossip(std::size_t root) const {
  std::string found;
  for (std::size_t i = 0; i < size(); ++i) {
    if (within(i, root)) continue;
    const std::vector<std::string> got = taken(i);
    const bool in_order =
        got.size() <= accepted[i].size() && std::equal(got.begin(), got.end(), accepted[i].begin());
    if (!in_order || got.size() + agents_[i].queue_length().value_or(0U) != accepted[i].size())
      found += id(i) + " got: " + text(got) + " of: " + text(accepted[i]) + "; ";
  }
  for (std::size_t c = 0; c < t.llm->calls(); ++c)
    for (const ChatMessage& message : t.llm->call(c).request.messages) {
      const auto& sent = accepted[owner(c)];
      const bool said =
          message.role == Role::assistant && message.content.find_first_not_of('d') == std::string::npos;
      const bool asked =
          message.role == Role::user && std::find(sent.begin(), sent.end(), message.content) != sent.end();
      if (!said && !asked) found += "the model was told: " + message.content + "; ";
    }
  return found;
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
