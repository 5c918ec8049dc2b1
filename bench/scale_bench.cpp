// Two Runtimes on two threads beside one, fed from memory.
//
//   scale_bench   scale: CPU time of the thread per streamed chunk, and per turn
#include "harness.hpp"
#include "stream_record.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace agentcore;

constexpr std::size_t streams = 200;              // of each Runtime
constexpr std::size_t pieces_per_round = 50;      // to each stream
constexpr std::size_t pieces_of_answer = 50'000;  // below TreeOptions::max_answer_bytes
constexpr std::size_t pieces_of_turn = 20;
constexpr std::size_t turns_per_round = 1;

void demand(bool holds) {
  if (!holds) std::abort();
}

// What a Host did in a round.
struct Round {
  double cost = 0;          // CPU time of the thread in nanoseconds, per chunk or turn
  std::uint64_t begin = 0;  // wall clock, nanoseconds
  std::uint64_t end = 0;
  std::uint64_t cpu = 0;  // CPU time of the thread, nanoseconds
};

// True if each of the two threads had a processor of its own nearly all the time. Only such rounds count:
// after a thread has waited for its processor, its caches are cold.
bool ran_together(const Round& a, const Round& b) {
  const std::uint64_t wall = std::max(a.end, b.end) - std::min(a.begin, b.begin);
  return std::min(a.cpu, b.cpu) * 10 >= wall * 8;
}

// Keeps all calls open, and delivers the next piece to each of them.
class FedClient final : public LlmClient {
 public:
  void chat(ChatRequest, StopToken, ChatSink sink) override { open_.push_back(std::move(sink)); }
  bool abort(std::string_view) override { return false; }
  bool has_active_request(std::string_view) const override { return false; }

  std::size_t open() const { return open_.size(); }
  void deliver() {
    for (ChatSink& sink : open_) sink.delta("a piece of an answer ");
  }
  void finish() {
    for (ChatSink& sink : std::exchange(open_, {}))
      sink.finish(ChatOutcome::completed(FinishReason::complete));
  }

 private:
  std::vector<ChatSink> open_;
};

// A Runtime with the streams of its agents.
class Host {
 public:
  explicit Host(SharedAgentSpec spec) : spec_(std::move(spec)) {}

  // Per piece.
  Round stream() {
    if (delivered_ > pieces_of_answer) close();
    if (agents_.empty()) open();
    return measured(streams * pieces_per_round, [this] { deliver(pieces_per_round); });
  }
  // Per turn of an agent that is created before it and deleted after it.
  Round turns() {
    close();
    return measured(streams * turns_per_round, [this] {
      for (std::size_t i = 0; i < turns_per_round; ++i) {
        open();
        deliver(pieces_of_turn);
        close();
      }
    });
  }

 private:
  template <typename Work>
  Round measured(std::size_t count, Work work) {
    Round round{.begin = bench::now()};
    const std::uint64_t begin = bench::cpu();
    work();
    round.cpu = bench::cpu() - begin;
    round.end = bench::now();
    round.cost = static_cast<double>(round.cpu) / static_cast<double>(count);
    return round;
  }

  void open() {
    while (agents_.size() < streams) {
      agents_.push_back(tree_.create(spec_).value());
      demand(agents_.back().send("What is there?").accepted());
    }
    while (client_.open() < streams) runtime_.poll();
  }
  void deliver(std::size_t pieces) {
    const std::size_t before = received_;
    for (std::size_t i = 0; i < pieces; ++i) {
      runtime_.post([this] { client_.deliver(); });
      runtime_.poll();
    }
    delivered_ += pieces;
    demand(received_ - before == pieces * streams);
  }
  void close() {
    runtime_.post([this] { client_.finish(); });
    while (runtime_.poll() || client_.open() > 0) {
    }
    for (const Agent& agent : agents_) demand(agent.terminate().took_effect());
    while (tree_.busy()) runtime_.poll();
    demand(tree_.size() == 0);
    agents_.clear();
    delivered_ = 0;
  }

  Runtime runtime_{{.poll_budget = std::chrono::seconds(100)}};
  FedClient client_;
  AgentTree tree_{runtime_, {.llm = &client_}};
  SharedAgentSpec spec_;
  std::vector<Agent> agents_;
  std::size_t delivered_ = 0;  // to each agent that exists
  std::size_t received_ = 0;
  Subscription events_ =
      tree_.on<DeltaReceived>([this](const DeltaReceived& delta) { received_ += !delta.text.empty(); });
};

enum class Work : char { chunks, turns };

// Runs a Host on a thread of its own, and asks it for rounds.
class Lane {
 public:
  Lane() {
    int orders[2];
    int rounds[2];
    demand(pipe(orders) == 0 && pipe(rounds) == 0);
    next_order_ = orders[0];
    orders_ = orders[1];
    rounds_ = rounds[0];
    next_round_ = rounds[1];
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void begin(Work work) { demand(write(orders_, &work, sizeof work) == sizeof work); }
  Round end() {
    Round round;
    demand(read(rounds_, &round, sizeof round) == sizeof round);
    return round;
  }
  Round run(Work work) { return begin(work), end(); }

  // What the thread does until no_more(). The lane may be in another process.
  void serve(SharedAgentSpec spec) {
    Host host(std::move(spec));
    for (Work work{}; read(next_order_, &work, sizeof work) == sizeof work;) {
      const Round round = work == Work::chunks ? host.stream() : host.turns();
      demand(write(next_round_, &round, sizeof round) == sizeof round);
    }
  }
  void no_more() { close(orders_); }

 private:
  int next_order_ = -1;
  int orders_ = -1;
  int rounds_ = -1;
  int next_round_ = -1;
};

class Meter {
 public:
  Meter(Lane& first, Lane& second, Lane& apart) : first_(first), second_(second), apart_(apart) {}

  // False: the machine had no two processors for it.
  bool run(Work work, std::string_view variant) {
    for (std::vector<double>* costs : {&one_, &two_, &processes_}) costs->clear();
    const std::uint64_t last = bench::now() + 20'000'000'000U;
    while (std::min(two_.size(), processes_.size()) < 2 * rounds && bench::now() < last) {
      run_one(work, first_);
      run_one(work, second_);
      run_two(work, second_, two_);
      run_two(work, apart_, processes_);
    }
    if (std::min(two_.size(), processes_.size()) < 40) return false;
    bench::report("scale", variant, bench::quantile(two_, 0.5), "ns");
    bench::report_peer("scale", variant, bench::quantile(one_, 0.5), "ns", "one Runtime");
    bench::report_peer("scale", variant, bench::quantile(processes_, 0.5), "ns", "two processes");
    return true;
  }

 private:
  static constexpr std::size_t rounds = 200;

  void run_one(Work work, Lane& lane) {
    const Round round = lane.run(work);
    if (ran_together(round, round)) one_.push_back(round.cost);
  }
  void run_two(Work work, Lane& other, std::vector<double>& costs) {
    first_.begin(work);
    other.begin(work);
    const Round a = first_.end();
    const Round b = other.end();
    if (ran_together(a, b)) costs.insert(costs.end(), {a.cost, b.cost});
  }

  Lane& first_;
  Lane& second_;
  Lane& apart_;
  std::vector<double> one_, two_, processes_;
};

}  // namespace

int main() {
  Lane lanes[3];
  auto& [first, second, apart] = lanes;
  const auto spec = std::make_shared<const AgentSpec>();  // shared by all agents of a process
  const pid_t child = fork();
  if (child == 0) {
    for (Lane& lane : lanes) lane.no_more();
    apart.serve(spec);
    _exit(0);
  }
  bool measured = false;
  {
    const std::jthread first_thread([&] { first.serve(spec); });
    const std::jthread second_thread([&] { second.serve(spec); });
    Meter meter(first, second, apart);
    measured = meter.run(Work::chunks, "chunk") && meter.run(Work::turns, "turn");
    for (Lane& lane : lanes) lane.no_more();
  }
  waitpid(child, nullptr, 0);
  return measured ? 0 : bench::too_slow;
}
