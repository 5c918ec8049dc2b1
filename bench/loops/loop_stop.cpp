// Stops of streaming agents in a host's event loop, beside the same in a loop of poll(2).
//
//   loop_stop_NAME PORT RECORD STREAMS SECONDS STOPS
//
// Opens STREAMS agents' streams from the stream server, and stops STOPS of them one by one from another
// thread: in turn ten in the loop NAME with its adapter, and ten in a loop of poll(2). Reports for both how
// long it took until the server saw the connection close, and until the loop thread reported the agent as
// settled.
#include "loops/host_loop.hpp"
#include "stream_figures.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/http_llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <poll.h>

namespace {

using namespace agentcore;

constexpr Duration patience = std::chrono::minutes(2);
constexpr std::size_t stops_in_turn = 10;

// The samples of one kind of loop, in microseconds.
struct Samples {
  void report(std::string_view peer) {
    const std::string loop = AGENTCORE_HOST_LOOP;
    bench::report_peer("loop_stop", loop + ", closed, median", bench::quantile(closed, 0.5), "us", peer);
    bench::report_peer("loop_stop", loop + ", settled, median", bench::quantile(settled, 0.5), "us", peer);
    bench::report_peer("loop_stop", loop + ", settled, p99", bench::quantile(settled, 0.99), "us", peer);
  }
  std::vector<double> closed, settled;
};

class Host {
 public:
  Host(const bench::StreamPlan& plan, const bench::StreamRecord& record)
      : plan_(plan), record_(record), order_(plan.shuffled()), settled_(plan.streams) {}

  void open_streams() {
    for (std::size_t stream = 0; stream < plan_.streams; ++stream) {
      const std::string number = std::to_string(stream);
      agents_.push_back(tree_.create({.id = number}).value());
      if (!agents_.back().send("stream " + number)) std::abort();
    }
    bench::drive_until(
        "opening streams", [&] { return record_.opened == plan_.streams; },
        [&] { runtime_.run_for(std::chrono::milliseconds(20)); });
  }

  void stop_some() {
    const auto loop = loops_test::make_host_loop();
    for (std::size_t done = 0; done < plan_.stops; done += 2 * stops_in_turn) {
      loop->attach(runtime_);
      stop_next(in_loop_, [&] { loop->turn(); });
      loop->detach();
      pollfd watched{.fd = runtime_.poll_descriptor(), .events = POLLIN, .revents = 0};
      stop_next(in_poll_, [&] {
        ::poll(&watched, 1, -1);
        runtime_.poll();
      });
    }
    in_loop_.report("");
    in_poll_.report("poll(2)");
  }

 private:
  template <typename Turn>
  void stop_next(Samples& samples, Turn turn) {
    std::vector<std::uint64_t> called(stops_in_turn);
    std::thread other([&] {
      for (std::size_t i = 0; i < stops_in_turn; ++i) {
        bench::pace_ms(3);
        called[i] = bench::now();
        if (!agents_[order_[first_ + i]].stop().took_effect()) std::abort();
      }
    });
    const std::size_t goal = first_ + stops_in_turn;
    bench::drive_until(
        "single ends", [&] { return ended_ == goal && record_.closed >= goal; }, turn);
    other.join();
    for (std::size_t i = 0; i < stops_in_turn; ++i) {
      const std::size_t stream = order_[first_ + i];
      samples.closed.push_back(microseconds(called[i], record_.seen[stream]));
      samples.settled.push_back(microseconds(called[i], settled_[stream]));
    }
    first_ = goal;
  }

  static double microseconds(std::uint64_t from, std::uint64_t to) {
    return to > from ? static_cast<double>(to - from) / 1e3 : 0;
  }

  const bench::StreamPlan& plan_;
  const bench::StreamRecord& record_;
  const std::vector<std::size_t> order_;
  std::vector<std::uint64_t> settled_;  // by stream: when the loop thread reported its agent as settled
  std::size_t first_ = 0;               // of order_: the next stream to stop
  std::size_t ended_ = 0;               // agents that have settled
  Samples in_loop_, in_poll_;
  Runtime runtime_;
  HttpLlmClient llm_{runtime_,
                     {.base_url = "http://127.0.0.1:" + plan_.port,
                      .model = "m",
                      .connect_timeout = patience,
                      .first_byte_timeout = patience,
                      .stall_timeout = patience,
                      .proxy = "none"}};
  AgentTree tree_{runtime_, {.llm = &llm_}};
  Subscription events_ = tree_.on<Settled>([this](const Settled& event) {
    settled_[std::strtoull(event.agent.id().c_str(), nullptr, 10)] = bench::now();
    ++ended_;
  });
  std::vector<Agent> agents_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto plan = bench::StreamPlan::parse(argc, argv, "");
  bench::raise_descriptor_limit(plan.streams);
  Host host(plan, bench::map_record(plan.record, false));
  host.open_streams();
  host.stop_some();
}
