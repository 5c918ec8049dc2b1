// What stop() itself costs the thread that calls it, with one open connection and a loop that waits.
//
//   stop_call_bench PORT RECORD STREAMS SECONDS STOPS
//
// Opens STOPS streams one after the other for each StopCut that it compares. Each is stopped from another
// thread while the loop thread waits, and the next one is opened when the server has seen its end. STREAMS
// and SECONDS have no meaning here.
#include "stream_figures.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/http_llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <atomic>
#include <chrono>
#include <thread>

namespace {

using namespace agentcore;

class Host {
 public:
  Host(const bench::StreamPlan& plan, const bench::StreamRecord& record) : plan_(plan), record_(record) {}

  void run(StopCut cut, const std::string& variant) {
    calls_.clear();
    ends_.clear();
    std::thread other([this, cut] {
      for (std::size_t i = 0; i < plan_.stops; ++i) stop(first_ + i, cut);
    });
    for (std::size_t i = 0; i < plan_.stops; ++i) stream(first_ + i);
    other.join();
    first_ += plan_.stops;
    bench::report("stop_call", variant + ", until stop() returned", bench::quantile(calls_, 0.5), "us");
    bench::report("stop_call", variant, bench::quantile(ends_, 0.5), "us");
  }

 private:
  // The loop thread: opens a stream, and drives it until the other thread has stopped it.
  void stream(std::size_t number) {
    agent_ = tree_.create().value();
    if (!agent_.send("stream " + std::to_string(number))) std::abort();
    opened_.store(number + 1, std::memory_order_release);
    bench::drive_until(
        "a stop", [&] { return record_.closed == number + 1 && !tree_.busy(); },
        [&] { runtime_.run_for(std::chrono::milliseconds(20)); });
    bench::drive_until(
        "the thread that stops", [&] { return stopped_.load(std::memory_order_acquire) == number + 1; },
        [&] { runtime_.run_for(std::chrono::milliseconds(1)); });
  }

  // The other thread.
  void stop(std::size_t number, StopCut cut) {
    while (opened_.load(std::memory_order_acquire) <= number || record_.opened <= number) bench::pace_ms(1);
    bench::pace_ms(5);
    const std::uint64_t called = bench::now();
    if (!agent_.stop({.cut = cut}).took_effect()) std::abort();
    calls_.push_back(static_cast<double>(bench::now() - called) / 1e3);
    while (record_.seen[number] == 0) bench::pace_ms(1);
    ends_.push_back(static_cast<double>(record_.seen[number] - called) / 1e3);
    stopped_.store(number + 1, std::memory_order_release);
  }

  const bench::StreamPlan& plan_;
  const bench::StreamRecord& record_;
  Runtime runtime_;
  HttpLlmClient llm_{runtime_, {.base_url = "http://127.0.0.1:" + plan_.port, .model = "m", .proxy = "none"}};
  AgentTree tree_{runtime_, {.llm = &llm_}};
  std::size_t first_ = 0;  // the number of the next stream
  Agent agent_;            // written while the other thread waits for the stream
  std::atomic<std::size_t> opened_ = 0;
  std::atomic<std::size_t> stopped_ = 0;
  std::vector<double> calls_;  // how long each stop() took, microseconds
  std::vector<double> ends_;   // from each call until the server saw the connection close
};

}  // namespace

int main(int argc, char** argv) {
  const auto plan = bench::StreamPlan::parse(argc, argv, "");
  Host host(plan, bench::map_record(plan.record, false));
  host.run(StopCut::all, "StopCut::all");
  host.run(StopCut::none, "StopCut::none");
}
