// Streams on the wire: an agent tree with an HttpLlmClient against the stream server.
//
//   wire_bench PORT RECORD STREAMS SECONDS STOPS
//
// In this order: opens STREAMS agents' streams (stream_bytes), receives for SECONDS (chunk_cpu), interrupts
// STOPS agents one by one from another thread (interrupt_wire), steers as many at once (steer_wire), stops as
// many (stop_wire), and more while the loop thread is busy in the host's code (stop_wire_busy_loop), and then
// the root (stop_wire_all). An interrupted agent gets its message again, and a steered one asks its model
// again by itself: so as many streams are open afterwards as before. The server records when it detected each
// end.
#include "stream_figures.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/http_llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <atomic>
#include <chrono>
#include <thread>

namespace {

using namespace agentcore;
using Ends = std::vector<std::pair<std::size_t, std::uint64_t>>;  // of a stream, and when it was called for

constexpr Duration patience = std::chrono::minutes(2);
constexpr std::uint64_t busy_time = 100'000'000;
constexpr std::size_t stops_per_busy_time = 8;

class Host {
 public:
  Host(const bench::StreamPlan& plan, const bench::StreamRecord& record)
      : plan_(plan), record_(record), order_(plan.shuffled()) {}

  void open_streams() {
    const std::size_t before = bench::resident();
    root_ = tree_.create({.id = "root"}).value();
    const auto spec = std::make_shared<const AgentSpec>();
    bench::drive_until(
        "opening streams", [&] { return record_.opened == plan_.streams; },
        [&] {
          while (agents_.size() < plan_.streams && agents_.size() - record_.opened < bench::max_opening)
            open_next(spec);
          step();
        });
    opened_ = plan_.streams;
    const auto grown = static_cast<double>(bench::resident() - before);
    plan_.report("stream_bytes", "", grown / static_cast<double>(plan_.streams), "bytes");
  }

  void receive() {
    bench::measure_chunks(plan_, chunks_, [&] { step(); });
  }

  void interrupt_some() {
    const Ends ends = end_some("interrupt_wire", &Host::interrupt_next);
    for (const auto& [stream, called] : ends) ask(stream);
    drive_until_reopened(ends.size());
  }

  void steer_some() { drive_until_reopened(end_some("steer_wire", &Host::steer_next).size()); }

  void stop_some() {
    first_ = 0;
    end_some("stop_wire", &Host::stop_next);
    plan_.report("stop_wire", ", p99, until stop() returned", bench::quantile(calls_, 0.99), "us");
  }

  void stop_some_while_busy() {
    Ends ends;
    const std::size_t goal = ended_.load() + busy_stops();
    std::thread stopper([&] {
      while (ended_.load() < goal) stop_during_one_callback(ends);
    });
    drive_until_closed(goal);
    stopper.join();
    bench::report_stops(plan_, "stop_wire_busy_loop", record_, ends);
  }

  void stop_all() {
    std::uint64_t called = 0;
    std::uint64_t returned = 0;
    std::thread stopper([&] {
      called = bench::now();
      if (!root_.stop().took_effect()) std::abort();
      returned = bench::now();
    });
    bench::drive_until(
        "stopping all", [&] { return record_.closed == opened_ && !tree_.busy(); }, [&] { step(); });
    stopper.join();
    bench::report_stop_all(plan_, record_, called, order_, first_);
    plan_.report("stop_wire_all", ", until stop() returned", static_cast<double>(returned - called) / 1e6,
                 "ms");
  }

 private:
  // Only verbs end streams here.
  static void expect_ended_by_verb(const TurnEnded& end) {
    const TurnOutcome outcome = end.result->outcome;
    if (outcome == TurnOutcome::stopped || outcome == TurnOutcome::interrupted) return;
    std::fprintf(stderr, "a turn failed: %s\n", end.result->error.message.c_str());
    std::abort();
  }

  void step() { runtime_.run_for(std::chrono::milliseconds(20)); }

  void open_next(const SharedAgentSpec& spec) {
    agents_.push_back(root_.create_child(spec).value());
    ask(agents_.size() - 1);
  }

  void ask(std::size_t stream) {
    if (!agents_[stream].send("stream " + std::to_string(stream))) std::abort();
  }

  // Ends the streams of plan_.stops agents from another thread, and reports how long each end took.
  Ends end_some(std::string_view id, void (Host::*end_next)(Ends&)) {
    Ends ends;
    const std::size_t goal = ended_ + plan_.stops;
    std::thread other([&] {
      for (std::size_t i = 0; i < plan_.stops; ++i) {
        bench::pace_ms(3);
        (this->*end_next)(ends);
      }
    });
    drive_until_closed(goal);
    other.join();
    bench::report_stops(plan_, id, record_, ends);
    return ends;
  }

  const Agent& next(Ends& ends) {
    const std::size_t stream = order_[first_++ % order_.size()];
    ends.emplace_back(stream, bench::now());
    return agents_[stream];
  }

  void interrupt_next(Ends& ends) {
    if (!next(ends).interrupt().took_effect()) std::abort();
    ++ended_;
  }

  void steer_next(Ends& ends) {
    if (!next(ends).steer("Shorter, please.", {.when = SteerWhen::now}).ended_call) std::abort();
    ++ended_;
  }

  void stop_next(Ends& ends) {
    if (!next(ends).stop().took_effect()) std::abort();
    calls_.push_back(static_cast<double>(bench::now() - ends.back().second) / 1e3);
    ++ended_;
  }

  // The loop thread counts to 100 ms in a callback of the host's; meanwhile this thread stops agents.
  void stop_during_one_callback(Ends& ends) {
    std::atomic<int> phase = 0;
    runtime_.post([&phase] {
      phase = 1;
      phase.notify_one();
      const std::uint64_t end = bench::now() + busy_time;
      while (bench::now() < end) bench::keep(end);
      phase = 2;
      phase.notify_one();
    });
    phase.wait(0);
    for (std::size_t i = 0; i < stops_per_busy_time; ++i) {
      bench::pace_ms(5);
      if (phase == 1) stop_next(ends);
    }
    phase.wait(1);
  }

  std::size_t busy_stops() const { return std::min<std::size_t>(plan_.stops, 10 * stops_per_busy_time); }

  void drive_until_closed(std::size_t goal) {
    bench::drive_until(
        "single ends", [&] { return ended_ >= goal && record_.closed == ended_; }, [&] { step(); });
  }

  void drive_until_reopened(std::size_t streams) {
    opened_ += streams;
    bench::drive_until(
        "opening streams again", [&] { return record_.opened == opened_; }, [&] { step(); });
  }

  const bench::StreamPlan& plan_;
  const bench::StreamRecord& record_;
  const std::vector<std::size_t> order_;
  std::size_t chunks_ = 0;
  Runtime runtime_;
  HttpLlmClient llm_{runtime_,
                     {.base_url = "http://127.0.0.1:" + plan_.port,
                      .model = "m",
                      .connect_timeout = patience,
                      .first_byte_timeout = patience,
                      .stall_timeout = patience,
                      .proxy = "none"}};
  AgentTree tree_{runtime_, {.llm = &llm_}};
  Subscription events_ = tree_.on_event([this](const Event& event) {
    if (event.get<DeltaReceived>())
      ++chunks_;
    else if (const auto* end = event.get<TurnEnded>())
      expect_ended_by_verb(*end);
  });
  Agent root_;
  std::vector<Agent> agents_;
  std::vector<double> calls_;           // how long each stop() took, microseconds
  std::size_t first_ = 0;               // of order_: the next stream to end
  std::size_t opened_ = 0;              // streams that were opened so far
  std::atomic<std::size_t> ended_ = 0;  // streams that a verb has ended so far
};

}  // namespace

int main(int argc, char** argv) {
  const auto plan = bench::StreamPlan::parse(argc, argv, "");
  bench::raise_descriptor_limit(plan.streams);
  Host host(plan, bench::map_record(plan.record, false));
  host.open_streams();
  host.receive();
  host.interrupt_some();
  host.steer_some();
  host.stop_some();
  host.stop_some_while_busy();
  host.stop_all();
}
