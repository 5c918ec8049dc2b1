// Agents in a store: messages, turns, a restart. FOLDER is an existing folder on a disk, for the files.
//
//   store_bench messages FOLDER         store_messages: acknowledged messages, beside plain SQLite
//   store_bench process-messages FOLDER the same with StoreSync::process alone
//   store_bench turns FOLDER            store_turn: a whole turn, with and without a store
//   store_bench restart FOLDER [agents] store_restart
#include "forest.hpp"
#include "harness.hpp"
#include "plain_sqlite.hpp"

#include <agentcore/llm_client.hpp>
#include <agentcore/memory_store.hpp>
#include <agentcore/sqlite_store.hpp>
#include <agentcore/store_events.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace bench;

const std::string question(100, 'q');
const std::string answer(200, 'a');

// Answers all calls when it is told to: the answers of real models come in later polls, too.
class WaitingModel final : public LlmClient {
 public:
  void chat(ChatRequest, StopToken, ChatSink sink) override { calls_.push_back(std::move(sink)); }
  bool abort(std::string_view) override { return false; }
  bool has_active_request(std::string_view) const override { return false; }

  void answer_all() {
    for (ChatSink& call : std::exchange(calls_, {})) {
      call.delta(answer);
      call.finish(ChatOutcome::completed(FinishReason::complete));
    }
  }

 private:
  std::vector<ChatSink> calls_;
};

// A database file that is new, and removed at the end.
class NewFile {
 public:
  explicit NewFile(const std::filesystem::path& folder)
      : path_((folder / ("bench-" + std::to_string(::getpid()) + ".db")).string()) {
    remove();
  }
  ~NewFile() { remove(); }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  void remove() const {
    for (const char* end : {"", "-wal", "-shm", "-lock"}) std::filesystem::remove(path_ + end);
  }

  const std::string path_;
};

SharedAgentSpec stored_spec(SharedOrBorrowed<LlmClient> model) {
  AgentSpec spec;
  spec.llm = std::move(model);
  spec.system_prompt = "You are short.";
  spec.code.llm = "main";
  return std::make_shared<const AgentSpec>(std::move(spec));
}

RestoreOptions with_code(RestoreOptions options, SharedOrBorrowed<LlmClient> model) {
  options.code.add_llm("main", std::move(model));
  return options;
}

void demand(bool holds) {
  if (!holds) std::abort();
}

// --- messages ---

constexpr std::size_t agents_of_messages = 1000;

struct MessageCase {
  Durability durability;
  StoreSync sync;
  std::size_t together;  // messages that are sent between two polls

  std::size_t messages() const { return together > 1 ? 10'000 : 1000; }
  std::string name() const {
    return std::string(to_string(durability)) + (sync == StoreSync::disk ? ", disk" : ", process") +
           (together > 1 ? ", " + std::to_string(together) + " at a time" : ", one at a time");
  }
  // A disk makes the thread wait. Without one, CPU time excludes what other programs do.
  std::uint64_t time() const { return sync == StoreSync::disk ? now() : cpu(); }
};

// 1,000 agents. Each message is the question of a turn, which a model answers. Null: without a store.
class MessageHost {
 public:
  MessageHost(const MessageCase& what, Store* store) : what_(what), has_store_(store != nullptr) {
    const auto restored = [&] {
      return forest_.tree.restore(store,
                                  with_code({.durability = what.durability, .sync = what.sync}, &model_));
    };
    if (has_store_) demand(restored().has_value());
    forest_.grow(agents_of_messages, stored_spec(&model_), Shape::star);
    forest_.runtime.poll();
  }

  // Until the store has all messages and answers; without one, until the turns have ended.
  void run() {
    std::size_t sent = 0;
    while (sent < what_.messages()) {
      for (std::size_t i = 0; i < what_.together; ++i)
        demand(forest_.agents[sent++ % agents_of_messages].send(question).accepted());
      while ((has_store_ ? acknowledged_ : ended_) < sent) {
        forest_.runtime.poll();
        model_.answer_all();
      }
    }
  }

 private:
  const MessageCase what_;
  const bool has_store_;
  WaitingModel model_;
  Forest forest_;
  std::size_t acknowledged_ = 0, ended_ = 0;
  Subscription persisted_ = forest_.tree.on<MessagePersisted>(
      [this](const MessagePersisted& event) { acknowledged_ += event.ended ? 1 : 0; });
  Subscription ends_ = forest_.tree.on<TurnEnded>([this](const TurnEnded& event) {
    demand(event.result->outcome == TurnOutcome::completed);
    ++ended_;
  });
};

std::uint64_t time_run(const MessageCase& what, Store* store) {
  MessageHost host(what, store);
  const std::uint64_t begin = what.time();
  host.run();
  return what.time() - begin;
}

std::uint64_t time_with_store(const MessageCase& what, const std::string& folder) {
  const NewFile file(folder);
  const auto store = SqliteStore::open(file.path()).value();
  return time_run(what, store.get());
}

// The batches that a MessageHost commits; `first` are those before run().
struct RecordedBatches {
  std::vector<StoreBatch> first, later;
};

RecordedBatches record(const MessageCase& what) {
  RecordedBatches recorded;
  RecordingStore store;
  MessageHost host(what, &store);
  recorded.first = std::exchange(store.batches, {});
  host.run();
  recorded.later = std::exchange(store.batches, {});
  return recorded;
}

std::uint64_t time_inserts(const MessageCase& what, const RecordedBatches& batches,
                           const std::string& folder) {
  const NewFile file(folder);
  PlainSqlite plain(file.path(), what.sync);
  for (const StoreBatch& batch : batches.first) plain.commit(batch);
  const std::uint64_t begin = what.time();
  for (const StoreBatch& batch : batches.later) plain.commit(batch);
  return what.time() - begin;
}

// The peer is a program that runs the same turns, and writes what is to be kept itself.
void measure_messages(const MessageCase& what, const std::string& folder) {
  const RecordedBatches batches = record(what);
  std::vector<double> ours, plain, alone;
  const auto rate = [&](std::uint64_t time) {
    return static_cast<double>(what.messages()) * 1e9 / static_cast<double>(time);
  };
  for (int round = 0; round < 3; ++round) {
    ours.push_back(rate(time_with_store(what, folder)));
    const std::uint64_t turns = time_run(what, nullptr), inserts = time_inserts(what, batches, folder);
    plain.push_back(rate(turns + inserts));
    alone.push_back(rate(inserts));
  }
  report("store_messages", what.name(), quantile(ours, 0.5), "1/s");
  report_peer("store_messages", what.name(), quantile(plain, 0.5), "1/s", "plain SQLite");
  report_peer("store_messages", what.name(), quantile(alone, 0.5), "1/s", "limit: its inserts alone");
}

void measure_messages(const std::string& folder, const std::vector<StoreSync>& syncs) {
  for (const StoreSync sync : syncs)
    for (const std::size_t together : {agents_of_messages, std::size_t{1}})
      for (const Durability durability :
           {Durability::each_turn, Durability::each_step, Durability::each_message})
        measure_messages({durability, sync, together}, folder);
}

// --- turns ---

// CPU time of a turn: the answer comes in ten pieces.
double time_turns(Store* store, std::size_t together) {
  constexpr std::size_t rounds = 10;
  Forest forest;
  const auto model = std::make_shared<testing::ScriptedClient>(forest.runtime, [](const ChatRequest&) {
    return testing::ScriptedReply{.deltas = std::vector<std::string>(10, std::string(20, 'a'))};
  });
  if (store) demand(forest.tree.restore(store, with_code({.sync = StoreSync::process}, model)).has_value());
  forest.grow(agents_of_messages, stored_spec(model), Shape::star);
  forest.settle();
  const std::uint64_t begin = cpu();
  for (std::size_t i = 0; i < rounds * agents_of_messages; ++i) {
    demand(forest.agents[i % agents_of_messages].send(question).accepted());
    if (i % together == together - 1) forest.settle();
  }
  forest.settle();
  return static_cast<double>(cpu() - begin) / static_cast<double>(rounds * agents_of_messages);
}

void measure_turns(const std::string& folder) {
  for (const std::size_t together : {agents_of_messages, std::size_t{1}}) {
    const std::string name =
        together > 1 ? ", " + std::to_string(together) + " at a time" : ", one at a time";
    std::vector<double> without, memory, file;
    for (int round = 0; round < 3; ++round) {
      without.push_back(time_turns(nullptr, together));
      MemoryStore memory_store;
      memory.push_back(time_turns(&memory_store, together));
      const NewFile new_file(folder);
      file.push_back(time_turns(SqliteStore::open(new_file.path()).value().get(), together));
    }
    const double none = quantile(without, 0.5);
    for (const auto& [store, times] : {std::pair("MemoryStore", &memory), std::pair("SqliteStore", &file)}) {
      report("store_turn", store + name, quantile(*times, 0.5), "ns");
      report_peer("store_turn", store + name, none, "ns", "no store");
    }
  }
}

// --- restart ---

// Every tenth agent has a conversation of two turns, every twentieth three messages that wait.
void write_tree(const std::string& path, std::size_t count) {
  const auto store = SqliteStore::open(path).value();
  WaitingModel model;
  Forest forest;
  demand(forest.tree.restore(store.get(), with_code({.sync = StoreSync::process}, &model)).has_value());
  forest.grow(count, stored_spec(&model), Shape::tree);
  for (int turn = 0; turn < 2; ++turn) {
    for (std::size_t i = 0; i < count; i += 10) demand(forest.agents[i].send(question).accepted());
    while (forest.tree.busy()) {
      forest.runtime.poll();
      model.answer_all();
    }
  }
  for (std::size_t i = 5; i < count; i += 20) {
    demand(forest.agents[i].pause().took_effect());
    for (int message = 0; message < 3; ++message) demand(forest.agents[i].send(question).accepted());
  }
  demand(forest.tree.flush().has_value());
}

// In a process of its own: a restart has memory that nothing has used.
void in_child(const std::function<void()>& function) {
  const pid_t child = ::fork();
  if (child == 0) {
    function();
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  demand(child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void measure_restart(const std::string& folder, std::size_t count) {
  const NewFile file(folder);
  in_child([&] { write_tree(file.path(), count); });
  const std::string name = std::to_string(count);
  in_child([&] {
    std::unique_ptr<SqliteStore> store;
    WaitingModel model;
    Forest forest;
    const std::uint64_t begin = process_cpu();
    store = SqliteStore::open(file.path()).value();
    const auto found = forest.tree.restore(store.get(), with_code({.sync = StoreSync::process}, &model));
    const std::uint64_t end = process_cpu();
    demand(found.has_value() && found->agents == count && found->messages > 0 && found->unbound == 0);
    report("store_restart", name, static_cast<double>(end - begin) / 1e9, "s");
  });
  in_child([&] {
    const std::uint64_t begin = process_cpu();
    PlainSqlite plain(file.path(), StoreSync::process);
    demand(plain.read({1, 2, 3, 5}) > 0);  // all but conversations
    report_peer("store_restart", name, static_cast<double>(process_cpu() - begin) / 1e9, "s",
                "limit: SQLite reads the rows");
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 2 ? argv[1] : "";
  const std::string folder = argc > 2 ? argv[2] : "";
  const std::size_t count = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 100'000;
  if (what == "messages") return measure_messages(folder, {StoreSync::process, StoreSync::disk}), 0;
  if (what == "process-messages") return measure_messages(folder, {StoreSync::process}), 0;
  if (what == "turns") return measure_turns(folder), 0;
  if (what == "restart") return measure_restart(folder, count), 0;
  std::fprintf(stderr, "usage: store_bench messages|process-messages|turns|restart FOLDER [agents]\n");
  return 2;
}
