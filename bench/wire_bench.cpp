// Streams on the wire: an agent tree with an HttpLlmClient against the stream server.
//
//   wire_bench PORT RECORD STREAMS SECONDS STOPS
//
// In this order: opens STREAMS agents' streams (stream_bytes), receives for SECONDS (chunk_cpu), stops STOPS
// agents one by one from another thread (stop_wire), as many again while the loop thread is busy in the
// host's code (stop_wire_busy_loop), and then the root (stop_wire_all). The server records when it detected
// each end.
#include "stream_figures.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/http_llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <atomic>
#include <chrono>
#include <thread>

namespace {

using namespace agentcore;
using Stops = std::vector<std::pair<std::size_t, std::uint64_t>>;

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
    const auto grown = static_cast<double>(bench::resident() - before);
    plan_.report("stream_bytes", "", grown / static_cast<double>(plan_.streams), "bytes");
  }

  void receive() {
    bench::measure_chunks(plan_, chunks_, [&] { step(); });
  }

  void stop_some() {
    Stops stops;
    std::thread stopper([&] {
      for (std::size_t i = 0; i < plan_.stops; ++i) {
        bench::pace_ms(3);
        stop_next(stops);
      }
    });
    drive_until_stopped(plan_.stops);
    stopper.join();
    bench::report_stops(plan_, "stop_wire", record_, stops);
    plan_.report("stop_wire", ", p99, until stop() returned", bench::quantile(calls_, 0.99), "us");
  }

  void stop_some_while_busy() {
    Stops stops;
    const std::size_t goal = stopped_.load() + busy_stops();
    std::thread stopper([&] {
      while (stopped_.load() < goal) stop_during_one_callback(stops);
    });
    drive_until_stopped(goal);
    stopper.join();
    bench::report_stops(plan_, "stop_wire_busy_loop", record_, stops);
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
        "stopping all", [&] { return record_.closed == plan_.streams && !tree_.busy(); }, [&] { step(); });
    stopper.join();
    bench::report_stop_all(plan_, record_, called, order_, stopped_);
    plan_.report("stop_wire_all", ", until stop() returned", static_cast<double>(returned - called) / 1e6,
                 "ms");
  }

 private:
  // Only a stop ends a stream here.
  static void expect_stopped(const TurnEnded& end) {
    if (end.result->outcome == TurnOutcome::stopped) return;
    std::fprintf(stderr, "a turn failed: %s\n", end.result->error.message.c_str());
    std::abort();
  }

  void step() { runtime_.run_for(std::chrono::milliseconds(20)); }

  void open_next(const SharedAgentSpec& spec) {
    agents_.push_back(root_.create_child(spec).value());
    if (!agents_.back().send("stream " + std::to_string(agents_.size() - 1))) std::abort();
  }

  void stop_next(Stops& stops) {
    const std::size_t stream = order_[stopped_];
    stops.emplace_back(stream, bench::now());
    if (!agents_[stream].stop().took_effect()) std::abort();
    calls_.push_back(static_cast<double>(bench::now() - stops.back().second) / 1e3);
    ++stopped_;
  }

  // The loop thread counts to 100 ms in a callback of the host's; meanwhile this thread stops agents.
  void stop_during_one_callback(Stops& stops) {
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
      if (phase == 1) stop_next(stops);
    }
    phase.wait(1);
  }

  std::size_t busy_stops() const { return std::min<std::size_t>(plan_.stops, 10 * stops_per_busy_time); }

  void drive_until_stopped(std::size_t goal) {
    bench::drive_until(
        "single stops", [&] { return stopped_ >= goal && record_.closed == stopped_; }, [&] { step(); });
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
      expect_stopped(*end);
  });
  Agent root_;
  std::vector<Agent> agents_;
  std::vector<double> calls_;             // how long each stop() took, microseconds
  std::atomic<std::size_t> stopped_ = 0;  // of order_, from the front
};

}  // namespace

int main(int argc, char** argv) {
  const auto plan = bench::StreamPlan::parse(argc, argv, "");
  bench::raise_descriptor_limit(plan.streams);
  Host host(plan, bench::map_record(plan.record, false));
  host.open_streams();
  host.receive();
  host.stop_some();
  host.stop_some_while_busy();
  host.stop_all();
}
