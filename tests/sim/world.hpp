// World: the real library under scripted actors. Nothing in it runs by itself: models, tools, people, the
// loop, time, the store and the end of the process are commands.
#pragma once

#include "sim/approval_rules.hpp"
#include "sim/block_rules.hpp"
#include "sim/budget_rules.hpp"
#include "sim/command.hpp"
#include "sim/conversation_rules.hpp"
#include "sim/coverage.hpp"
#include "sim/faults.hpp"
#include "sim/gate_rules.hpp"
#include "sim/http_models.hpp"
#include "sim/message_rules.hpp"
#include "sim/network.hpp"
#include "sim/people.hpp"
#include "sim/process_rules.hpp"
#include "sim/question_rules.hpp"
#include "sim/random.hpp"
#include "sim/report_rules.hpp"
#include "sim/sim_processes.hpp"
#include "sim/sim_store.hpp"
#include "sim/time_rules.hpp"
#include "sim/tool_rules.hpp"
#include "sim/transfer_rules.hpp"
#include "sim/turn_rules.hpp"
#include "sim/verdict.hpp"
#include "sim/waits.hpp"
#include "sim/wire_clients.hpp"
#include "support/clients/fake_client.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/observe/host_code.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/checkpoint.hpp>
#include <agentcore/console.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::sim {

struct Documents;  // world_documents.hpp
struct ExportedAgents;
struct ScopeOfHost;  // world_scopes.hpp
struct Scopes;

// A word of the host that no agent may hear of (G11).
constexpr std::string_view secret = "SECRET";

// Moved by commands. It goes on over restarts.
class SimClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return TimePoint(passed_); }
  WallTime wall_time() const noexcept override {
    return WallTime(std::chrono::hours(400'000) + std::chrono::duration_cast<WallTime::duration>(passed_));
  }
  bool runs_by_itself() const noexcept override { return false; }
  void advance(Duration step) noexcept override { passed_ += step; }

 private:
  Duration passed_{std::chrono::hours(1)};
};

// Runs nothing until a command says so.
class SimExecutor final : public Executor {
 public:
  void submit(std::function<void()> job) override;
  bool run_one();
  void forget() { jobs_.clear(); }
  bool empty() const noexcept { return jobs_.empty(); }

  Failing refused, dropped;

 private:
  std::deque<std::function<void()>> jobs_;
};

// How often what was done, for the report of a run.
struct Counts {
  std::map<std::string, std::uint64_t> done;  // "stop: done", "in ToolStarted", "event ToolStarted"
  Coverage coverage;

  void add(const std::string& what) { ++done[what]; }
  void add(const Counts& other) {
    for (const auto& [what, count] : other.done) done[what] += count;
    coverage.add(other.coverage);
  }
};

class World {
 public:
  explicit World(const Setup& setup, const Faults& faults = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void run(const Command& command);
  // From now on no fault happens, and everybody answers: all must come to rest, and each message must end.
  void finish();

  const std::string& problem() const noexcept { return verdict_.problem(); }
  std::uint64_t hash() const noexcept { return hash_; }
  const std::vector<std::string>& trace() const noexcept { return trace_; }
  const Counts& counts() const noexcept { return counts_; }
  // How many calls there were until finish() that could have failed.
  FaultCounts fault_counts() const noexcept;
  void keep_trace(bool keep) { keeps_trace_ = keep; }

 private:
  struct Run;
  struct HeldCall;

  // The time of the process.
  void begin_run();
  void install(Runtime& runtime);
  void end_run(bool killed);
  void restart(bool killed);
  void check_restored();
  void let_all_go_on();
  void check_store();  // world_store.cpp
  // What a restart keeps (world_restart.cpp).
  struct Stored {
    bool is_closed = false, goes = false, may_go = false, is_stopping = false, is_paused = false,
         is_held = false;
    std::string parent;
    std::vector<MessageId> queue;
  };
  std::map<std::string, Stored> stored_agents() const;
  std::optional<std::map<std::string, Stored>> flushed_agents();
  void check_kept(const std::map<std::string, Stored>& before);
  std::map<std::string, std::string> seen_agents();
  // Work that is due is announced: asks before each poll whether one is due, and fails if a poll did
  // something that was not.
  void poll(std::optional<Duration> budget = {});
  void poll_until_quiet();
  // Knob::real (world_real.cpp).
  bool is_real() const noexcept { return sim::is_real(setup_); }
  bool is_io_ready();  // as the descriptor of the loop says
  bool serve();
  bool wait_for_system();
  bool is_due();
  void ask_for_deadline();
  void check();

  // Commands (world_acts.cpp). Each function returns false if the command is none of its kind.
  void act(const Command& command);
  void act_by_kind(const Command& command);
  void restore();
  RestoreOptions restore_options();
  CodeRegistry code(bool complete);
  void event_was_lost();
  bool comes_to_rest();
  bool fault_came() const noexcept;
  bool act_on_loop(const Command& command);
  bool act_on_agent(const Command& command);
  bool act_by_stop(const Command& command);
  bool act_on_mailbox(const Command& command);
  void grant(const Command& command, const Agent& who, Scope scope);
  void edit(const Command& command, const Agent& who, MessageId id);
  bool act_on_conversation(const Command& command);
  bool act_on_tree(const Command& command);
  // Agents as documents (world_documents.cpp).
  bool act_on_documents(const Command& command);
  void export_some(const Command& command);
  void add_to_document(ExportedAgents& one, const Agent& agent, bool descendants, bool may_be_missing);
  void check_not_exported(const Agent& who, const Error& error);
  void check_in_another_tree(const ExportedAgents& one);
  void import_some(const Command& command);
  void import_one(const Command& command, const ExportedAgents& one, const std::string& text,
                  const ImportOptions& options, bool is_complete, bool is_damaged);
  // `from`: the id in the document; empty: it is not known.
  void note_imported(const ExportedAgents& one, const Agent& agent, const std::string& from,
                     const ImportReport& made);
  // TerminateScope (world_scopes.cpp).
  bool act_on_scopes(const Command& command);
  void open_scope(const Command& command);
  void use_scope(const Command& command);
  void create_in_scope(const Command& command, ScopeOfHost& one);
  void close_scope(ScopeOfHost& one, std::uint32_t how);
  void check_scope(const ScopeOfHost& one);
  // Who owns the store (world_owners.cpp).
  bool act_on_owner(const Command& command);
  bool act_on_copy(const Command& command);
  void restore_another(const Command& command);
  void leave_store();
  void owner_ends();
  void end_first_owner();
  bool goes_on_in_memory() const noexcept;
  void check_acknowledged(const Event& event);
  void check_intent(const std::string& call_id, bool may_repeat);
  std::function<AfterStoreFailure(const Error&)> on_store_failure();
  bool act_as_model(const Command& command);
  bool act_as_server(const Command& command);
  bool act_as_tool(const Command& command);
  bool act_as_client(const Command& command);
  bool act_as_fault(const Command& command);
  bool act_on_disk(const Command& command);     // world_disk.cpp
  bool act_as_program(const Command& command);  // world_programs.cpp
  // Sockets (world_sockets.cpp).
  void begin_sockets(const Faults& faults);
  bool act_on_sockets(const Command& command);
  void knock_at_console();
  void check_listener();
  void kill_process(std::uint64_t seed);
  void count_faults_of_disk();
  bool has_store_failed();
  // `agent` and `call`: of that callback. Its command may choose them.
  void run_pending(Place place, const std::string& agent = {}, const std::string& call = {});
  void throw_if_due();
  void note_coverage(const Command& command);
  void note(const Command& command, const std::string& outcome);
  template <typename R>
  void note_result(const Command& command, const R& result);
  void note_send(const Command& command, const Agent& agent, const SendResult& sent, bool watched);
  void note_created(const std::string& id, const AgentSpec& spec);

  // Liveness (world_calm.cpp). A part: the ids of a root and of all that is or was below it.
  using Part = std::set<std::string>;
  void calm(const Command& command);
  void act_outside(Random& random, const Part& part, bool store_fails);
  static std::optional<std::size_t> any_outside(Random& random, const std::vector<bool>& is_outside);
  void serve(const Part& part);
  std::string unsettled(const Part& part);

  // What commands choose from. `n` is taken modulo the number of choices.
  // One that exists, or sometimes one that did. Within a restore it is the one that is being reported: what
  // is done to one that is reported later would be told before that.
  Agent agent(std::uint32_t n) const;
  HeldCall* held(std::uint32_t n) const;
  test::FakeClient::Call* model_call(std::uint32_t n) const;
  MessageId some_message(std::uint32_t n) const;
  std::string some_call(const Agent& agent, TaskKind kind, std::uint32_t n) const;
  std::string some_question(std::uint32_t n) const;
  AgentSpec spec(std::uint32_t kind);
  Message message(bool urgent = false);
  void settled(std::size_t number);  // on_settled, on_rest
  SendOptions send_options(std::uint32_t n);
  void note_resumed(const std::string& id, bool cascade);
  void note_opened(const std::set<std::string>& opened);
  // On whose behalf a verb is called: the host, the parent of the agent, or another one, which may not.
  // A verb was called that drops messages of the agent.
  void may_drop(const std::string& agent);
  std::string caller(const Command& command, const std::string& id) const;
  void check_caller(const std::string& caller, const std::string& id, const VerbResult& result);
  std::string text_for(const std::string& question, std::string_view word);
  std::uint64_t turn_between_polls(const std::string& id) const;
  std::optional<TimePoint> escalation(std::optional<Duration> after) const;

  // The actors.
  void add_tools();
  std::optional<Duration> own_timeout(std::string_view tool) const;
  void begin_tool(const std::string& name, bool may_repeat, const ToolContext& context, ToolDone done);
  void end_tool(HeldCall& call, std::optional<ToolResult> result);
  void note_tool(const std::string& name, bool may_repeat, const ToolContext& context);
  void tell_context(const Command& command, HeldCall& call);
  bool may_act(const HeldCall& call) const;
  static Question question(const Command& command);
  void forget_ended_calls();
  static std::string without_task_id(const std::string& call_id);
  void begin_model_call(test::FakeClient::Call& call);
  void end_model_call(test::FakeClient::Call& call, ChatOutcome outcome);
  // Those that a model asks for; `agent`: whose model it is.
  std::vector<ToolCall> tool_calls(std::uint32_t n, const std::string& agent);
  void answer_in_blocks(const Command& command, test::FakeClient::Call& call);
  HttpModels::Host http_host();
  void say_blocks(ModelServer& server, const std::string& agent, std::uint32_t n, std::uint32_t form);
  void check_transfers(bool after_poll);
  void may_cut_later(const StopOptions& options);
  MessageHandler handler();
  ToolPolicy policy();

  // Programs (world_programs.cpp).
  struct Returning {  // from Tool::start
    explicit Returning(ProcessRules& of) noexcept : rules(of) {}
    ~Returning() { rules.start_returned(); }
    Returning(const Returning&) = delete;
    Returning& operator=(const Returning&) = delete;
    ProcessRules& rules;
  };
  ProcessHabits process_habits() const;
  void add_programs();
  void add_program(ToolSpec spec, Duration kill_grace, std::size_t max_output);
  SubprocessCommand next_command();
  void check_programs(bool after_poll);
  void end_programs();

  // The console (world_console.cpp, world_answers.cpp).
  ConsoleOptions console_options();
  bool has_token() const noexcept;
  std::string access_header(AccessBy by) const;
  ClientNetwork& clients_network();
  Request request_about(const Command& command) const;
  Asked request_of(const Command& command);
  void expect_requests();
  void expect(Asked& asked);
  void may_take_effect(const Asked& asked);
  void take_answers();
  bool console_may_fail() const noexcept;
  bool is_last_verb(const Asked& asked) const noexcept;
  void on_answer(const Answered& answer);
  void check_status(const Answered& answer);
  void on_refusal(const Asked& asked, const nlohmann::json& body);
  void check_stored(const Asked& asked, const nlohmann::json& body);
  void on_message_accepted(const Asked& asked, const nlohmann::json& body);
  void on_verb_done(const Asked& asked, const nlohmann::json& body);
  void check_read(const Asked& asked, const nlohmann::json& body);
  void check_agent(const nlohmann::json& shown);
  void check_answered();
  void check_console();
  void check_viewer(const EventViewer& viewer);
  void check_shown(const EventViewer& viewer, const Agent& agent);
  void check_late_viewer();

  // What is seen.
  void on_event(const Event& event);
  void check_history(const Agent& agent);
  void check_rest(const Agent& agent);
  // Views that agree (world_views.cpp).
  void check_views();
  void check_view(const Agent& agent);
  void check_timers();
  void say(std::string line);

  const Setup setup_;
  Verdict verdict_;
  SimClock clock_;
  GateRules gates_{verdict_, clock_};
  MessageRules messages_{verdict_};
  ToolRules tool_rules_{verdict_};
  TimeRules time_rules_{verdict_, clock_};
  TransferRules transfer_rules_{verdict_, gates_};
  BudgetRules budget_rules_{verdict_, gates_};
  ReportRules reports_{verdict_, gates_};
  ApprovalRules approvals_{verdict_};
  Waits waits_;
  BlockRules block_rules_{verdict_};
  TurnRules turn_rules_{verdict_, clock_};
  QuestionRules questions_{verdict_};
  ConversationRules conversations_{verdict_};

  SimExecutor executor_;
  SimStore store_;
  std::array<std::size_t, 3> seen_of_disk_{};
  const std::shared_ptr<SimNetwork> network_ = std::make_shared<SimNetwork>();
  const std::shared_ptr<WireClients> wire_clients_;  // null: the console's sockets are in network_
  ProcessRules process_rules_{verdict_, gates_, clock_};
  const std::shared_ptr<SimProcesses> processes_;
  People people_{verdict_, clock_, reports_};
  std::vector<TimePoint> blocked_;  // when the viewer that reads late held up the console
  std::size_t blocked_stream_ = 0;  // with which of its streams
  bool all_deferred_ = false;       // there was a deferred stop of all agents
  bool hold_grows_ = false;         // what was below a mailbox that was held is held now, too
  bool lost_calls_ = false;         // a fault of memory or of the system came in this run
  std::shared_ptr<ToolRegistry> tools_;
  std::unique_ptr<Run> run_;
  bool killed_ = false;  // the process was killed within a callback or a commit: what follows is not seen
  bool tree_is_destroyed_ = false;
  bool resumed_in_restore_ = false;
  std::optional<Agent> here_;  // of the callback that runs
  std::string call_here_;
  std::optional<Agent> restored_;  // its AgentRestored is being delivered
  bool woken_ = false;
  bool in_poll_ = false;
  bool healed_ = false;         // finish() has begun
  bool throws_ = false;         // the next callback throws
  int depth_ = 0;               // of commands within callbacks
  bool has_budget_ = true;      // of the poll that runs
  bool paused_by_key_ = false;  // the function that returns the key of a model's server has paused an agent
  bool late_by_key_ = false;    // it has taken time
  bool has_clocks_ = false;     // a lease, or a budget of time, was given to an agent
  bool is_left_ = false;        // what the tree does reaches the store no more
  bool was_fenced_ = false;     // on_failure got store_fenced
  bool flushes_ = false;        // a flush runs, which tries a commit again
  std::uint32_t calls_when_left_ = 0;
  bool cuts_later_ = false;  // a stop has left calls to the next poll (StopCut)

  std::vector<Command> pending_;  // that wait for their callback
  std::vector<std::shared_ptr<HeldCall>> held_;
  std::vector<MessageId> sent_;
  std::vector<Agent> handles_;                // all that ever were
  std::map<std::string, AgentState> states_;  // as the last event of each agent said
  std::map<std::string, bool> stops_;         // that the store has acknowledged; true: a delete
  std::set<std::string> resumed_;             // since their last stop or delete
  std::set<std::string> opened_;              // the store has their resume, and nothing has closed them since
  std::set<std::string> resumes_by_itself_;   // AgentSpec::auto_resume
  std::set<std::string> once_resumed_;        // of any agent of that id: a restart may bring that one back
  std::shared_ptr<Documents> documents_;      // null: none yet
  std::shared_ptr<Scopes> scopes_;            // of this process; null: none yet
  std::uint32_t texts_ = 0, calls_ = 0, models_ = 0, tool_starts_ = 0, program_starts_ = 0;
  std::optional<test::FailingAllocation> allocations_;  // until finish()
  FaultCounts fault_counts_{};
  std::uint64_t steps_ = 0;
  std::uint64_t verbs_ = 0;   // commands that are no part of the loop
  std::uint64_t events_ = 0;  // and other callbacks

  std::uint64_t hash_ = 0xcbf2'9ce4'8422'2325U;
  std::vector<std::string> trace_;
  bool keeps_trace_ = false;
  Counts counts_;
};

}  // namespace agentcore::sim
