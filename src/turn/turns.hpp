// Turns: takes one message to one result.
#pragma once

#include "core/agent_table.hpp"
#include "events/event_hub.hpp"
#include "loop/engine.hpp"
#include "loop/time.hpp"
#include "tools/call_scope.hpp"
#include "turn/flights.hpp"
#include "turn/questions.hpp"
#include "turn/turn_data.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/event.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/message.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::tools {
struct AskedCall;
}

namespace agentcore::turn {

// The part of the tree that a turn drives.
class TurnOwner {
 public:
  // Something of `node` has let go, whatever became of its turn.
  virtual void let_go(core::Node& node) noexcept = 0;
  // `node` may take its next message.
  virtual void schedule(core::Node& node) = 0;
  // A budget of `node` is used up: stops it, and all below it.
  virtual void stop_for_budget(core::Node& node, std::string reason) = 0;
  // Something of a turn is on the stack: nothing of the tree is freed until as many have left.
  virtual void enter() noexcept = 0;
  virtual void leave() noexcept = 0;

 protected:
  ~TurnOwner() = default;
};

// A turn goes round these steps, until an answer asks for no tools: message written -> context trimmed and
// rendered -> model call -> answer written -> tool calls parsed -> run in order -> results written. Every
// step goes through the agent's gate with the epoch of the turn's beginning; where it is refused, the turn
// ends right there. The history and the turn's result say at every moment what they would have to say if it
// ended then, so ending it takes no repair.
//
// turns.cpp holds the steps, turn_ends.cpp the ends; model_call.cpp, context_window.cpp and tool_calls.cpp
// what happens within them; asking.cpp the questions to people; budgets.cpp what may be used; background.cpp
// the tasks that outlive their turn. All @loop_thread.
class Turns final : public tools::CallOwner {
 public:
  struct Limits {
    LlmClient* llm;
    std::size_t max_answer_bytes;
    std::size_t max_result_bytes;
    Duration tool_timeout;      // 0: none
    Duration question_timeout;  // 0: none
  };
  Turns(core::AgentTable& table, events::EventHub& hub, loop::Engine& engine, TurnOwner& owner, Limits limits)
      : table_(table), hub_(hub), engine_(engine), owner_(owner), limits_(limits) {}

  // Allocates what the next turn of `node` begins with. If it throws, nothing has changed. Afterwards begin()
  // needs no memory until it has reported the beginning, so that no message is lost. (A simulated answer for
  // an agent with a MessageHandler is the exception: begin() allocates its turn.)
  void prepare(core::Node& node);
  // Begins a turn with `message`; the agent is idle, its gate was asked and Stepping is published.
  void begin(core::Node& node, Message message);

  // Ends the turn that is under way, if any, as aborted or stopped by what the gates say: cuts its calls,
  // closes its questions, tells the end. What it started lets go later.
  void interrupt(core::Node& node) noexcept;
  // The same, but only for a turn that began before `epoch`.
  void interrupt_before(core::Node& node, std::uint32_t epoch) noexcept;
  // The same for everything of an agent that is stopped: its turn and its background tasks (X17).
  void stop(core::Node& node) noexcept;

  // True while a turn is under way (its end not told yet).
  static bool is_active(const core::Node& node) noexcept { return active_turn(node) != nullptr; }

  // Forgets what did not let go in time; what it still says is dropped.
  void abandon(std::uint32_t slot) noexcept;

  // Questions and background tasks, as AgentTree offers them.
  AnswerResult answer(std::string_view question_id, Answer answer);
  std::vector<OpenQuestion> questions() const { return questions_.open(); }
  std::size_t open_questions(core::NodeId agent) const noexcept { return questions_.count(agent); }
  bool cancel_task(std::string_view task_id);
  std::vector<RunningTask> tasks() const;

  // Grants a budget, to the agent itself or to its subtree.
  void grant(core::Node& node, const Budget& budget, bool subtree);

  Flights& flights() noexcept { return flights_; }
  const Flights& flights() const noexcept { return flights_; }

  // The tree is gone: forgets what the host asked for, and stops all clocks.
  void clear();

  // From the client, through its sink.
  void on_delta(std::uint32_t slot, std::uint64_t serial, std::string_view text);
  void on_reasoning(std::uint32_t slot, std::uint64_t serial, std::string_view text);
  void on_outcome(std::uint32_t slot, std::uint64_t serial, ChatOutcome outcome);

  // tools::CallOwner
  void on_result(const tools::CallScope& call, ToolResult result) override;
  void on_progress(const tools::CallScope& call, std::string text) override;
  void on_ask(const tools::CallScope& call, Question question,
              std::function<void(const Answer&)> closed) override;

 private:
  // Whatever comes into the turns from outside is an action of an agent, and the tree stays while it runs.
  class Entered {
   public:
    Entered(Turns& turns, const core::Node& node) noexcept
        : guard_(turns.owner_), stepping_(turns.table_, node) {}

   private:
    struct Guard {
      explicit Guard(TurnOwner& of) noexcept : owner(of) { owner.enter(); }
      ~Guard() { owner.leave(); }
      Guard(const Guard&) = delete;
      Guard& operator=(const Guard&) = delete;
      TurnOwner& owner;
    };
    Guard guard_;
    core::Stepping stepping_;
  };

  // The steps. Each says whether the next one follows at once.
  void advance(core::Node& node);
  bool step(core::Node& node);
  bool call_model(core::Node& node);
  bool take_answer(core::Node& node);
  bool ask_again(core::Node& node, std::string text);
  bool run_calls(core::Node& node);

  // Runs a part of the turn of `node`. If it throws, as a rule for a lack of memory, the turn ends as failed.
  template <typename Part>
  void attempt(core::Node& node, Part&& part) noexcept {
    try {
      std::forward<Part>(part)();
    } catch (const std::bad_alloc&) {
      break_off(node, Errc::out_of_memory, "out of memory");
    } catch (const std::exception& error) {
      break_off(node, Errc::callback_failed, error.what());
    } catch (...) {
      break_off(node, Errc::callback_failed, "not a std::exception");
    }
  }
  void break_off(core::Node& node, Errc code, std::string_view why) noexcept;
  void end_early(core::Node& node, TurnOutcome outcome, Errc code, std::string_view why) noexcept;

  // Ends of a turn.
  void complete(core::Node& node);
  void fail(core::Node& node, ChatOutcome outcome);
  void fail_acting(core::Node& node, Error error);
  std::shared_ptr<InteractionResult> leave(core::Node& node) noexcept;
  void tell_end(core::Node& node, TurnOutcome outcome, FinishReason reason, Error error,
                std::shared_ptr<InteractionResult> result) noexcept;
  void run_handler(core::Node& node, const AgentSpec& spec, const Message& message);

  // Model calls.
  ChatRequest request_for(core::Node& node);
  void write_context(core::Node& node, ChatRequest& request);
  void trim(core::Node& node);
  void send(core::Node& node, LlmClient& client, ChatRequest request);
  bool reserve(core::Node& node, ChatRequest& request);
  void settle(core::Node& node, ActiveTurn& turn) noexcept;
  Usage usage_of(const core::Node& node, const ActiveTurn& turn) const noexcept;
  void settle_budgets(core::Node& node, ActiveTurn& turn, Usage used) noexcept;
  bool afford_turn(core::Node& node);
  bool within_budget(core::Node& node);
  void end_for_budget(core::Node& node, std::string why);
  void release(core::Node& node, ActiveTurn& turn) noexcept;
  void on_wall_clock(core::NodeId agent, bool subtree);
  void tell_delta(core::Node& node, std::string_view text);
  bool tell_held_words(core::Node& node);
  Flight* find(std::uint32_t slot, std::uint64_t serial) noexcept;
  bool hears(Flight& flight, std::uint32_t slot) noexcept;

  // Tool calls.
  void list_calls(core::Node& node, std::vector<tools::AskedCall> calls, std::string words);
  bool start(core::Node& node, std::size_t index);
  bool run(core::Node& node, std::size_t index);
  std::string look_up(core::Node& node, PendingCall& call);
  std::uint32_t open_call(core::Node& node, std::size_t index);
  std::shared_ptr<tools::CallScope> scope_of(core::Node& node, std::uint32_t slot, const Tool& tool);
  PendingCall* pending(core::Node& node, std::uint32_t slot) noexcept;
  void end_call(core::Node& node, std::uint32_t slot, ToolResult result);
  void limit(ToolResult& result) const noexcept;
  void set_result(core::Node& node, PendingCall& call, ToolOutcome outcome, ToolResult result);
  void on_timeout(std::uint32_t slot, std::uint64_t serial, Duration timeout);
  void cancel_calls(core::Node& node, std::uint64_t turn, const std::vector<PendingCall>& calls,
                    const InteractionResult& result) noexcept;

  // Background tasks.
  bool start_task(core::Node& node, std::size_t index);
  void end_task(core::Node& node, std::uint32_t slot, ToolResult result);
  void end_late_task(core::Node& node, std::uint32_t slot, const ToolResult& result);
  void note_end(core::Node& node, const FlightInfo& info, TaskState state, const ToolResult& result) noexcept;
  void tell_task(core::Node& node, const FlightInfo& info, TaskState state, ToolResult result) noexcept;
  void cancel(std::uint32_t slot) noexcept;
  void cancel_tasks(core::Node& node) noexcept;
  bool cancel_newest_task(core::Node& node) noexcept;

  // Questions.
  void ask_approval(core::Node& node, std::size_t index, std::uint32_t slot);
  void on_approval(std::uint32_t slot, std::uint64_t serial, const Answer& answer);
  void ask(core::Node& node, std::uint32_t slot, AskedQuestion question, Duration timeout);
  bool close(AskedQuestion question, const Answer& answer) noexcept;
  void close_questions(std::uint32_t slot) noexcept;

  std::string name_of(const core::Node& node) const noexcept;
  void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) noexcept;
  void discard(core::Node& node, std::uint64_t turn, std::size_t deltas, std::string_view what) noexcept;
  bool may_go_on(core::Node& node, std::uint32_t epoch) noexcept;
  bool move_from_idle(core::Node& node, std::uint32_t epoch, AgentState to);
  bool change(core::Node& node, std::uint32_t epoch, AgentState from, AgentState to);
  bool step_to(core::Node& node, std::uint32_t epoch, AgentState from, AgentState to);

  core::AgentTable& table_;
  events::EventHub& hub_;
  loop::Engine& engine_;
  TurnOwner& owner_;
  Limits limits_;
  Flights flights_;
  Questions questions_;
  std::uint64_t reservations_ = 0;  // made so far, in budgets
};

}  // namespace agentcore::turn
