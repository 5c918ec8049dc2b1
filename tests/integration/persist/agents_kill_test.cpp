// [G14] A process with agents is killed at any instant. What it had acknowledged is there after the restart,
// nothing that was stopped or deleted has come back, and no tool has run twice.
#include "support/catch.hpp"
#include "support/store/faulty_vfs.hpp"
#include "support/store/store_folder.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/sqlite_store.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace agentcore;
using agentcore::test::FaultyVfs;
using agentcore::test::StoreFolder;

namespace {

constexpr int roots = 4;
constexpr int children = 2;

void write_line(int descriptor, const std::string& line) {
  const std::string text = line + "\n";
  if (::write(descriptor, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(4);
}

// A model that calls the tool for each message, and then says "done".
testing::ScriptedReply answer(const ChatRequest& request) {
  testing::ScriptedReply reply;
  const ChatMessage& last = request.messages.back();
  if (last.role == Role::user)
    reply.tool_calls = {{.id = "", .name = "effect", .arguments = R"({"of":")" + last.content() + R"("})"}};
  else
    reply.deltas = {"done"};
  return reply;
}

// Each call appends a line to a file: its effect.
std::shared_ptr<ToolRegistry> make_tools(const std::string& effects) {
  auto tools = std::make_shared<ToolRegistry>();
  ToolSpec spec{.name = "effect"};
  spec.parameters = R"({"type":"object","properties":{"of":{"type":"string"}}})";
  tools->add(make_tool(std::move(spec), [effects](const nlohmann::json& arguments, const ToolContext&) {
    const int file = ::open(effects.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    write_line(file, arguments.at("of").get<std::string>());
    ::close(file);
    return ToolResult::done("effect");
  }));
  return tools;
}

// A second passes in a millisecond: a commit that has failed is tried again soon. The time of day of each run
// is an hour before that of the last one: the machine's clock is set back.
class FastClock final : public Clock {
 public:
  explicit FastClock(unsigned run) : run_(run) {}
  TimePoint now() const noexcept override {
    return TimePoint(std::chrono::steady_clock::now().time_since_epoch() % std::chrono::hours(24) * 1000);
  }
  WallTime wall_time() const noexcept override { return Clock::wall_time() - std::chrono::hours(run_); }

 private:
  unsigned run_;
};

struct Trial {
  Durability durability = Durability::each_turn;
  unsigned faults = 0;  // of so many calls of the operating system one fails; 0: none
};

// The program that is killed. It reports over the pipe, a line each:
//   Q agent text   the message is in the store      E agent text   so is the end of its turn
//   S agent        a stop is in the store           D agent        a delete is
//   c agent        before it stops or deletes: messages that wait may go
//   r agent        before it resumes or creates: a stop or a delete may be over
//   d agent text   the message was dropped
//   F number       so many calls of the operating system have failed
class Program {
 public:
  Program(const std::string& path, const std::string& effects, int pipe, unsigned run, const Trial& trial)
      : pipe_(pipe), run_(run), random_(run), store_(open(path, trial.faults)), clock_(run) {
    RestoreOptions options{.durability = trial.durability, .sync = StoreSync::process};
    options.code.add_tools("tools", make_tools(effects));
    on_message_ = tree_.on<MessagePersisted>([this](const MessagePersisted& event) {
      const auto text = texts_.find(event.message);
      if (text != texts_.end() && still_holds(event))
        report((event.ended ? "E " : "Q ") + event.agent.id() + ' ' + text->second);
    });
    on_stop_ = tree_.on<StopPersisted>([this](const StopPersisted& event) {
      if (still_holds(event)) report((event.deleted ? "D " : "S ") + event.agent_id);
    });
    on_dropped_ = tree_.on<MessageDropped>([this](const MessageDropped& event) {
      if (event.agent.exists()) report("d " + event.agent.id() + ' ' + event.message.text);
    });
    if (!tree_.restore(store_.get(), std::move(options))) ::_exit(3);
    tree_.walk([](const Agent& agent) { static_cast<void>(agent.release_queue()); });
    constexpr std::array faults{FaultyVfs::Fault::once, FaultyVfs::Fault::full, FaultyVfs::Fault::torn};
    if (vfs_) vfs_->fail_at_random(run, trial.faults, faults[run % faults.size()]);
  }

  [[noreturn]] void run() {
    for (;;) {
      act();
      runtime_.poll();
      if (vfs_ && vfs_->failures() != failures_) report("F " + std::to_string(failures_ = vfs_->failures()));
    }
  }

 private:
  std::unique_ptr<SqliteStore> open(const std::string& path, unsigned faults) {
    if (faults != 0) vfs_.emplace();
    auto store = SqliteStore::open(path, {.vfs = faults != 0 ? FaultyVfs::name : ""});
    if (!store) ::_exit(2);
    return *std::move(store);
  }
  void report(const std::string& line) const { write_line(pipe_, line); }
  // After commits that failed, an acknowledgement comes late: what it is about may be dropped, resumed, or
  // created again.
  bool still_holds(const MessagePersisted& event) const {
    const auto state = event.agent.state();
    if (!state) return false;
    const bool is_closed =
        *state == AgentState::stopped || *state == AgentState::stopping || *state == AgentState::terminating;
    return event.ended || (!is_closed && tree_.message(event.message).stage != MessageInfo::Stage::unknown);
  }
  bool still_holds(const StopPersisted& event) {
    const std::pair key(event.agent_id, event.deleted);
    if (++acknowledged_[key] < called_[key]) return false;  // one of an earlier agent, or before a resume
    const auto agent = tree_.find(event.agent_id);
    if (event.deleted) return !agent;
    return agent && agent->state().value() == AgentState::stopped;
  }
  int pick(int most) { return std::uniform_int_distribution<int>(0, most - 1)(random_); }

  static std::vector<std::string> subtree(const std::string& root) {
    std::vector<std::string> ids{root};
    for (int child = 0; child < children; ++child) ids.push_back(root + "." + std::to_string(child));
    return ids;
  }

  void act() {
    const std::string root = "r" + std::to_string(pick(roots));
    const std::vector<std::string> ids = subtree(root);
    auto agent = tree_.find(root);
    if (!agent) return create(ids);
    switch (const int what = pick(40)) {
      case 0:
        for (const std::string& id : ids) report("c " + id);
        called_[{root, true}] += agent->terminate().took_effect() ? 1 : 0;
        return;
      case 1:
      case 2:
        for (const std::string& id : ids) report("c " + id);
        called_[{root, false}] += agent->stop().took_effect() ? 1 : 0;
        return;
      case 3:
      case 4:
      case 5:
        for (const std::string& id : ids) report("r " + id);
        static_cast<void>(agent->resume());
        return;
      default:
        send(ids[static_cast<std::size_t>(what) % ids.size()]);
    }
  }

  void create(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) report("r " + id);
    AgentSpec spec;
    spec.code.tools = "tools";
    spec.limits.turn_timeout = std::chrono::minutes(10);
    spec.id = ids[0];
    const auto root = tree_.create(spec);
    if (!root) return;  // the delete has not settled yet
    for (std::size_t i = 1; i < ids.size(); ++i) {
      spec.id = ids[i];
      static_cast<void>(root->create_child(spec));
    }
  }

  void send(const std::string& id) {
    const auto agent = tree_.find(id);
    if (!agent) return;
    const std::string text = std::to_string(run_) + "-" + std::to_string(++sent_);
    SendOptions options;
    if (sent_ % 4 == 0) options.deadline = clock_.now() + std::chrono::minutes(2);
    if (const SendResult sent = agent->send(text, std::move(options))) texts_[sent.id] = text;
  }

  const int pipe_;
  const unsigned run_;
  std::mt19937 random_;
  std::optional<FaultyVfs> vfs_;
  std::size_t failures_ = 0;
  std::unique_ptr<SqliteStore> store_;
  FastClock clock_;
  Runtime runtime_{{.clock = &clock_}};
  testing::ScriptedClient llm_{runtime_, answer};
  AgentTree tree_{runtime_, {.llm = &llm_, .mailbox_limit = 20}};
  Subscription on_message_, on_stop_, on_dropped_;
  std::map<MessageId, std::string> texts_;
  std::map<std::pair<std::string, bool>, int> called_, acknowledged_;  // stops; true: deletes
  int sent_ = 0;
};

// What the reports say of an agent.
struct Acknowledged {
  enum class State { unknown, stopped, deleted };
  State state = State::unknown;
  std::set<std::string> in_store;  // messages that must be there, waiting or in the conversation
  std::set<std::string> ended;     // messages whose turns must be in the conversation, and that do not wait
};
struct Reports {
  std::map<std::string, Acknowledged> agents;
  std::size_t failures = 0;  // of calls of the operating system, in this run
};

void note(Reports& reports, const std::string& line) {
  std::istringstream words(line);
  std::string what, id, text;
  words >> what >> id >> text;
  if (what == "F") {
    reports.failures = std::stoul(id);
    return;
  }
  Acknowledged& agent = reports.agents[id];
  if (what == "Q") agent.in_store.insert(text);
  if (what == "E") {
    agent.in_store.erase(text);
    agent.ended.insert(text);
  }
  if (what == "d") agent.in_store.erase(text);
  if (what == "c") agent.in_store.clear();
  if (what == "r") agent.state = Acknowledged::State::unknown;
  if (what == "S") agent.state = Acknowledged::State::stopped;
  if (what == "D") agent = {.state = Acknowledged::State::deleted, .in_store = {}, .ended = {}};
  if (what == "r" || what == "D") agent.ended.clear();  // a new agent may have the id from now on
}

// Reads the complete lines that are in the pipe; returns whether there may be more.
bool read_reports(int pipe, std::string& buffer, Reports& reports) {
  std::array<char, 4096> chunk{};
  const ssize_t count = ::read(pipe, chunk.data(), chunk.size());
  if (count <= 0) return false;
  buffer.append(chunk.data(), static_cast<std::size_t>(count));
  for (std::size_t end = 0; (end = buffer.find('\n')) != std::string::npos; buffer.erase(0, end + 1))
    note(reports, buffer.substr(0, end));
  return true;
}

std::string problem_of(AgentTree& tree, const std::string& id, const Acknowledged& acknowledged) {
  const auto agent = tree.find(id);
  if (acknowledged.state == Acknowledged::State::deleted) return agent ? "a deleted agent is there" : "";
  if (!agent) return acknowledged.in_store.empty() ? "" : "an agent with messages is gone";
  if (acknowledged.state == Acknowledged::State::stopped && agent->state().value() != AgentState::stopped)
    return "a stopped agent is not stopped";
  const auto history = agent->conversation();
  if (!history) return history.error().message;
  if (!is_valid_history(*history)) return "the history is not valid";
  std::multiset<std::string> asked, waiting;
  for (const ChatMessage& message : *history)
    if (message.is_question()) asked.insert(message.content());
  for (const QueuedMessage& message : agent->queued().value()) waiting.insert(message.message.text);
  for (const std::string& text : acknowledged.in_store)
    if (asked.count(text) + waiting.count(text) == 0) return "the message " + text + " is lost";
  for (const std::string& text : acknowledged.ended) {
    if (asked.count(text) == 0) return "the turn of " + text + " is lost";
    if (waiting.count(text) != 0) return "the message " + text + " waits again";
  }
  for (const std::string& text : asked)
    if (asked.count(text) + waiting.count(text) > 1) return "the message " + text + " is there twice";
  return "";
}

// Restarts in this process, and compares.
void check(const std::string& path, const std::string& effects, Reports& reports) {
  auto store = SqliteStore::open(path).value();
  Runtime runtime;
  AgentTree tree(runtime);
  RestoreOptions options{.sync = StoreSync::process};
  options.code.add_tools("tools", make_tools(effects));
  const auto restored = tree.restore(store.get(), std::move(options));
  if (!restored) FAIL(restored.error().message);
  CHECK(restored->unbound == 0);
  for (auto& [id, acknowledged] : reports.agents) {
    INFO("agent " << id);
    REQUIRE(problem_of(tree, id, acknowledged) == "");
  }
  const auto damage = store->check();
  REQUIRE(damage);
  REQUIRE(damage->empty());
  std::map<std::string, int> runs;
  std::ifstream lines(effects);
  for (std::string line; std::getline(lines, line);) REQUIRE(++runs[line] == 1);
}

// Returns how many calls of the operating system have failed.
std::size_t kill_and_check(unsigned kills, const Trial& trial) {
  const StoreFolder folder;
  const std::string effects = folder.file("effects");
  std::mt19937 random(kills);
  Reports reports;
  std::size_t failures = 0;
  for (unsigned kill = 1; kill <= kills; ++kill) {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::close(pipe[0]);
      Program(folder.file(), effects, pipe[1], kill, trial).run();
    }
    ::close(pipe[1]);
    std::string buffer;
    bool alive = true;
    const auto reads = std::uniform_int_distribution<int>(1, 60)(random);
    for (int read = 0; alive && read < reads; ++read) alive = read_reports(pipe[0], buffer, reports);
    const auto instant = std::chrono::steady_clock::now() +
                         std::chrono::microseconds(std::uniform_int_distribution<int>(0, 3000)(random));
    while (std::chrono::steady_clock::now() < instant) {
    }
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    while (read_reports(pipe[0], buffer, reports)) {
    }
    ::close(pipe[0]);
    INFO("kill " << kill << ", status " << status);
    REQUIRE(alive);
    REQUIRE(WIFSIGNALED(status));
    check(folder.file(), effects, reports);
    failures += std::exchange(reports.failures, 0);
  }
  return failures;
}

}  // namespace

TEST_CASE("what agents have acknowledged survives SIGKILL of their process",
          "[persist][kills][G14][T8][Y7]") {
  for (const Durability durability : {Durability::each_turn, Durability::each_step, Durability::each_message})
    CHECK(kill_and_check(10, {durability}) == 0);
}

TEST_CASE("what agents have acknowledged survives SIGKILL and calls of the system that fail",
          "[persist][kills][faults][G14][T8]") {
  for (const Durability durability : {Durability::each_turn, Durability::each_step, Durability::each_message})
    CHECK(kill_and_check(9, {durability, 6}) > 4);
}

// On purpose: test_integration '[.kills]'
TEST_CASE("thousands of processes with agents are killed", "[.kills][persist]") {
  kill_and_check(500, {Durability::each_turn});
  kill_and_check(500, {Durability::each_step});
  kill_and_check(1000, {Durability::each_message});
}

// The same. Says how many calls of the system have failed.
TEST_CASE("thousands of processes are killed whose calls of the system fail", "[.kills][persist][faults]") {
  for (const Durability durability : {Durability::each_turn, Durability::each_step, Durability::each_message})
    for (const unsigned one_in : {5U, 20U, 100U, 500U})
      WARN("one in " << one_in << ": " << kill_and_check(150, {durability, one_in})
                     << " calls of the system have failed");
}
