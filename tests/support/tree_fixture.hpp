// A tree of agents under full control of the test: a clock moved by hand, a model that says what the test
// says, and everything that happens written down.
#pragma once

#include "support/catch.hpp"
#include "support/checked.hpp"

#include <agentcore/agentcore.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace agentcore::test {

// Time passes by hand, or by `tick` at each look, so that a poll's budget ends after a few steps.
class TestClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return TimePoint(Duration(now_.fetch_add(tick_))); }
  bool runs_by_itself() const noexcept override { return false; }
  void advance(Duration step) { now_ += step.count(); }
  void set_tick(Duration tick) { tick_ = tick.count(); }

 private:
  mutable std::atomic<Duration::rep> now_{0};
  std::atomic<Duration::rep> tick_{0};
};

// What a FakeClient does when the stop token of a call is triggered.
enum class OnStop {
  post,     // ends the call in the next poll, as a good client does
  at_once,  // ends it from within the stop callback
  deaf,     // nothing: the call ends when the test says so
};

// A model whose every word the test says.
class FakeClient final : public LlmClient {
 public:
  struct Call {
    ChatRequest request;
    StopToken stop;
    ChatSink sink;
    OnStop on_stop = OnStop::post;
    std::size_t number = 0;
    std::optional<std::stop_callback<std::function<void()>>> callback = {};

    bool open() const { return static_cast<bool>(sink); }
  };

  explicit FakeClient(Runtime& runtime) : engine_(runtime.engine()) {}
  ~FakeClient() override;

  OnStop on_stop = OnStop::post;                    // for the calls to come
  std::function<void(FakeClient&, Call&)> on_chat;  // runs inside chat()

  void chat(ChatRequest request, StopToken stop, ChatSink sink) override;
  bool abort(std::string_view agent_id) override;
  bool has_active_request(std::string_view agent_id) const override;

  // The newest open call of that agent, or null.
  CheckedPointer<Call*> find(std::string_view agent_id) const;
  // All open calls, oldest first.
  std::vector<Call*> open_calls() const;
  Call& call(std::size_t number) const { return *calls_.at(number); }
  std::size_t calls() const { return calls_.size(); }

  void delta(std::string_view agent_id, std::string_view text);
  void think(std::string_view agent_id, std::string_view text);
  // Says `text`, if any, and completes the newest open call of that agent.
  void answer(std::string_view agent_id, std::string_view text);
  // The same with an answer that asks for tools.
  void call_tools(std::string_view agent_id, std::vector<ToolCall> calls, std::string_view text = {});
  void fail(std::string_view agent_id, Errc code = Errc::network_error);
  static void finish(Call& call, ChatOutcome outcome);

 private:
  std::shared_ptr<loop::Engine> engine_;
  std::vector<std::shared_ptr<Call>> calls_;
};

// Writes down what a tree tells, one line each, and checks the order that the events promise:
//   "created a", "started a 1", "delta a 1 text", "ended a 1 completed", "settled a stopped", "discarded a 1
//   answer", "deleted a", "a idle>waiting_llm", "tool a call_1_1 add {}", "tool-end a call_1_1 completed ok",
//   "progress a call_1_1 half", "asked a q_1 question Why?", "closed a q_1 answered", "task a add started",
//   "abandoned a tool call add".
class Recorder {
 public:
  void watch(AgentTree& tree, bool states = true);
  void unwatch();

  std::vector<std::string> lines;
  std::vector<std::string> violations;  // of the promises that event.hpp makes

  // Lines that begin with `prefix`.
  std::vector<std::string> with(std::string_view prefix) const;
  std::size_t count(std::string_view prefix) const { return with(prefix).size(); }
  // Where the line is; -1: nowhere.
  int index(std::string_view line) const;
  void clear() { lines.clear(); }
  // The state last told.
  std::optional<AgentState> told(const Agent& agent) const;

 private:
  struct Seen {
    AgentState state = AgentState::idle;
    std::uint64_t turn = 0;
    bool in_turn = false;
    bool deleted = false;
    int tools = 0, questions = 0, tasks = 0;  // begun and not ended
  };
  void on_state(const StateChange& change);
  void on_event(const Event& event);
  std::string tool_line(const Event& event, const std::string& id);
  void number(std::uint64_t sequence);
  void broken(const std::string& what) {
    violations.push_back(what + " after: " + (lines.empty() ? "" : lines.back()));
  }
  void begin_turn(Seen& seen, std::uint64_t turn);

  Subscription states_;
  Subscription events_;
  std::uint64_t last_ = 0;
  std::unordered_map<Agent, Seen> seen_;
};

struct TreeFixture {
  explicit TreeFixture(TreeOptions options = {}, bool watch_states = true);
  ~TreeFixture();

  TestClock clock;
  std::vector<std::string> log;  // "level message key=value ..."
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<FakeClient> llm;
  std::unique_ptr<AgentTree> tree;
  Recorder seen;
  bool check_at_end = true;  // that no promise was broken

  Agent root(std::string id, AgentSpec spec = {});
  Agent child(const Agent& parent, std::string id, AgentSpec spec = {});
  Agent operator[](std::string_view id) const { return tree->find(id).value_or(Agent{}); }

  void poll() { runtime->poll(); }
  // Polls until nothing is ready.
  void settle();
  void advance(Duration time);
  AgentState state(std::string_view id) const { return tree->state(id).value(); }
  bool logged(std::string_view part) const;

  // Sends `text` and drives the agent into its model call.
  void ask(const Agent& agent, std::string text = "question");
};

// "a b c"
std::string joined(const std::vector<std::string>& words);
// "system:you, user:hello!aborted, user:add, assistant:[add id], tool:id=5, assistant:hi"
std::string written(const std::vector<ChatMessage>& history);

}  // namespace agentcore::test

namespace Catch {
template <>
struct StringMaker<agentcore::AgentState> {
  static std::string convert(agentcore::AgentState state) { return std::string(agentcore::to_string(state)); }
};
template <>
struct StringMaker<agentcore::Errc> {
  static std::string convert(agentcore::Errc code) {
    return code == agentcore::Errc::none ? "none" : std::string(agentcore::to_string(code));
  }
};
}  // namespace Catch
