// RestartWorld: agents in a store, what may happen to them, and all that can be asked of them, as a text.
#pragma once

#include "support/store/store_folder.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>
#include <agentcore/sqlite_store.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::test {

// Moved by the test alone. The wall time goes on over the restarts, and now() has another origin in each run.
class WorldClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return TimePoint(std::chrono::hours(run) + passed); }
  WallTime wall_time() const noexcept override {
    return WallTime(std::chrono::hours(400'000) + std::chrono::duration_cast<WallTime::duration>(passed));
  }
  bool runs_by_itself() const noexcept override { return false; }
  void advance(Duration step) noexcept override { passed += step; }

  Duration passed{0};
  int run = 1000;
};

// How a run of the program ends.
enum class ProcessEnd : unsigned char {
  never,    // it goes on
  orderly,  // the tree is destroyed, which writes what has changed
  killed    // the next run finds what was in the store before the tree was destroyed
};

class RestartWorld {
 public:
  RestartWorld(bool in_file, ProcessEnd end, RestoreOptions options);
  ~RestartWorld() { end_run(); }
  RestartWorld(const RestartWorld&) = delete;
  RestartWorld& operator=(const RestartWorld&) = delete;

  ProcessEnd end() const noexcept { return end_; }
  // Ends the run, and begins the next one.
  void restart();
  // Polls until nothing is left to do but to wait.
  void settle();
  // The same, until all models have answered.
  void settle_slowly();
  void poll(int times);
  // True if a restart interrupts nothing: turns wait only for people, and no stop is pending.
  bool is_at_rest() const;
  // True if something is pending that a restart changes: a stop takes effect, a steered message begins a
  // turn, or is gone with SteerFallback::give_back, and an answer that was refused, with its correction, is
  // not sent to the model once more.
  bool is_waiting_by_design() const;
  // True if a turn is at work in an agent that is paused. Its model call may end in the pause; after a
  // restart the model is to be called again, which the pause withholds.
  bool is_paused_at_work() const;
  // How many messages wait for agents that are paused.
  std::size_t waiting_in_pause() const;
  // Sorted: agents that are at work at the same time ask in any order.
  std::vector<OpenQuestion> questions() const;
  // Ends all pauses.
  void unpause();

  AgentTree& tree() { return *run_->tree; }
  Store& store() { return file_ ? static_cast<Store&>(*file_) : memory_; }
  const RestoreReport& report() const { return run_->report; }
  // Since the last restart.
  std::size_t model_calls() const { return run_->llm->calls(); }
  Agent find(const std::string& id) { return tree().find(id).value_or(Agent()); }
  // The text of a message. It says what the model does with it.
  std::string text(std::string_view script) { return std::string(script) + ' ' + std::to_string(++texts_); }
  std::string note(const SendResult& sent);
  MessageId message(std::size_t number) const {
    return messages_.empty() ? MessageId() : messages_[number % messages_.size()];
  }

  // All that can be asked. With `ids`, also what is different in a world that had more restarts: the numbers
  // of messages, questions and grants.
  std::string ask_all(bool ids);

  WorldClock clock;
  Duration model_delay{0};         // of each answer
  bool tools_hold = false;         // no call ends by itself, also when it is to be stopped
  std::vector<std::string> log;    // events that no restart may change, and calls of tools
  std::vector<std::string> begun;  // calls of tools

 private:
  struct Run {
    Run(RestartWorld& world, RestoreOptions options);
    ~Run();
    Runtime runtime;
    std::unique_ptr<testing::ScriptedClient> llm;
    std::unique_ptr<AgentTree> tree;
    std::vector<Subscription> subscriptions;
    RestoreReport report;
  };

  void add_tools();
  void end_run();
  std::string number_of(MessageId id) const;
  std::string all_of(const Agent& agent, bool ids);
  void watch(Run& run);

  const ProcessEnd end_;
  StoreFolder folder_;
  MemoryStore memory_;
  std::unique_ptr<SqliteStore> file_;
  RestoreOptions options_;
  std::shared_ptr<ToolRegistry> tools_ = std::make_shared<ToolRegistry>();
  std::vector<MessageId> messages_;
  std::map<std::uint64_t, std::size_t> numbers_;  // of messages
  std::vector<ToolDone> held_;                    // of calls, with `tools_hold`
  std::set<std::string> refused_;                 // agents in a turn in which an answer was refused
  int texts_ = 0;
  std::unique_ptr<Run> run_;
};

// The kinds of agents.
constexpr int spec_kinds = 12;
AgentSpec spec_of(int kind);

}  // namespace agentcore::test
