// A tree of agents that stream, with a Console on the same loop.
//
//   console_bench loop PORT RECORD STREAMS SECONDS VIEWERS
//   console_bench serve PORT STREAMS
//
// `loop` measures how late the loop is (console_loop): SECONDS without a viewer, SECONDS with VIEWERS, and
// SECONDS with VIEWERS of which every tenth does not read. Meanwhile ten agents a second are interrupted and
// get their message again, so that all viewers have events. The loop thread has real-time priority where the
// system allows that: the figure is the delay of the loop, and not that of the system's scheduler. `serve` is
// the host of click_bench: it opens STREAMS streams, prints the port of its console, and ends when its
// standard input ends.
#include "child.hpp"
#include "stream_figures.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/console.hpp>
#include <agentcore/http_llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <chrono>
#include <filesystem>

#include <poll.h>
#include <sched.h>

namespace {

using namespace agentcore;
using std::chrono::milliseconds;

constexpr Duration patience = std::chrono::minutes(2);

class Host {
 public:
  explicit Host(const std::string& model_port) : llm_(runtime_, client_options(model_port)) {
    // Requests that begin something are not the figure: no limit for them.
    Result<std::unique_ptr<Console>> opened = Console::open(runtime_, {.max_writes_per_second = 1'000'000});
    if (!opened) std::fprintf(stderr, "%s\n", opened.error().message.c_str()), std::exit(1);
    console_ = std::move(*opened);
    shown_ = console_->show(tree_);
  }

  Runtime& runtime() { return runtime_; }
  std::string port() const { return std::to_string(console_->port()); }

  void open_next() {
    const std::size_t number = agents_.size();
    agents_.push_back(tree_.create({.id = "agent-" + std::to_string(number)}).value());
    ask(number);
  }

  // The agent ends its turn, and begins another one.
  void begin_anew(std::size_t number) {
    if (!agents_[number].interrupt().took_effect()) std::abort();
    ask(number);
  }

  std::size_t agents() const { return agents_.size(); }

 private:
  static HttpLlmOptions client_options(const std::string& port) {
    return {.base_url = "http://127.0.0.1:" + port,
            .model = "m",
            .connect_timeout = patience,
            .first_byte_timeout = patience,
            .stall_timeout = patience,
            .proxy = "none"};
  }

  void ask(std::size_t number) {
    if (!agents_[number].send("stream " + std::to_string(number))) std::abort();
  }

  Runtime runtime_;
  HttpLlmClient llm_;
  AgentTree tree_{runtime_, {.llm = &llm_}};
  std::unique_ptr<Console> console_;
  Subscription shown_;
  std::vector<Agent> agents_;
};

// Drives a host by its descriptor, and takes the times of its loop.
class LoopWatch {
 public:
  explicit LoopWatch(Host& host) : host_(host) {
    start_tick();
    start_turn();
  }

  void step() {
    pollfd watched{.fd = host_.runtime().poll_descriptor(), .events = POLLIN, .revents = 0};
    poll(&watched, 1, 20);
    const std::uint64_t begin = bench::now();
    host_.runtime().poll();
    polls_.push_back(static_cast<double>(bench::now() - begin) / 1e6);
  }

  void measure(const bench::StreamPlan& plan, const std::string& variant) {
    polls_.clear();
    delays_.clear();
    const std::uint64_t end = bench::now() + static_cast<std::uint64_t>(plan.seconds * 1e9);
    while (bench::now() < end) step();
    report(variant + ", timer, median", delays_, 0.5);
    report(variant + ", timer, p99", delays_, 0.99);
    report(variant + ", timer, maximum", delays_, 1);
    report(variant + ", poll, p99", polls_, 0.99);
    report(variant + ", poll, maximum", polls_, 1);
  }

 private:
  static constexpr Duration tick = milliseconds(2);          // between two samples of the delay
  static constexpr Duration turn_pause = milliseconds(100);  // between two new turns

  static void report(const std::string& variant, std::vector<double>& samples, double share) {
    bench::report("console_loop", variant, bench::quantile(samples, share), "ms");
  }

  void start_tick() {
    const TimePoint due = host_.runtime().now() + tick;
    tick_ = host_.runtime().call_after(tick, [this, due] {
      delays_.push_back(std::chrono::duration<double, std::milli>(host_.runtime().now() - due).count());
      start_tick();
    });
  }

  void start_turn() {
    turn_ = host_.runtime().call_after(turn_pause, [this] {
      if (host_.agents() > 0) host_.begin_anew(next_++ % host_.agents());
      start_turn();
    });
  }

  Host& host_;
  std::vector<double> polls_, delays_;  // milliseconds
  std::size_t next_ = 0;
  Timer tick_, turn_;
};

// With `silent` viewers that do not read.
void measure_with_viewers(const bench::StreamPlan& plan, Host& host, LoopWatch& watch, std::size_t silent,
                          const std::string& detail) {
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "console_viewers";
  const std::string viewers = std::to_string(plan.stops);
  bench::Child child({program, host.port(), viewers, std::to_string(silent), plan.number()});
  bench::drive_until(
      "opening viewers", [&] { return child.has_line(); }, [&] { watch.step(); });
  if (child.line().empty()) std::exit(1);
  watch.measure(plan, viewers + " viewers" + detail);
  child.end_input();
  const std::string report = child.line();
  double delay = 0;
  std::size_t closed = 0;
  if (std::sscanf(report.c_str(), "%lf %zu", &delay, &closed) != 2) std::exit(1);
  if (closed > 0) std::fprintf(stderr, "%zu viewers were too slow, and were closed\n", closed);
  bench::report("console_loop", viewers + " viewers" + detail + ", an event to a viewer, p99", delay, "ms");
}

// Not of the programs that it starts.
void take_real_time_priority() {
  const sched_param first{.sched_priority = 1};
  if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) != 0)
    std::fprintf(stderr, "console_loop: without real-time priority, other programs delay the loop\n");
}

int measure_loop(const bench::StreamPlan& plan) {
  bench::raise_descriptor_limit(plan.streams + plan.stops);
  const bench::StreamRecord& record = bench::map_record(plan.record, false);
  take_real_time_priority();
  Host host(plan.port);
  LoopWatch watch(host);
  bench::drive_until(
      "opening streams", [&] { return record.opened >= plan.streams; },
      [&] {
        if (host.agents() < plan.streams) host.open_next();
        watch.step();
      });
  watch.measure(plan, "no viewers");
  measure_with_viewers(plan, host, watch, 0, "");
  measure_with_viewers(plan, host, watch, plan.stops / 10, ", a tenth does not read");
  return 0;
}

int serve(const std::string& model_port, std::size_t streams) {
  Host host(model_port);
  while (host.agents() < streams) host.open_next();
  std::printf("%s\n", host.port().c_str());
  std::fflush(stdout);
  pollfd watched[2] = {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                       {.fd = host.runtime().poll_descriptor(), .events = POLLIN, .revents = 0}};
  while (watched[0].revents == 0) {
    poll(watched, 2, -1);
    host.runtime().poll();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "loop") return measure_loop(bench::StreamPlan::parse(argc - 1, argv + 1, ""));
  if (mode == "serve" && argc == 4) return serve(argv[2], std::strtoull(argv[3], nullptr, 10));
  std::fprintf(stderr,
               "usage: console_bench loop PORT RECORD STREAMS SECONDS VIEWERS, or serve PORT STREAMS\n");
  return 2;
}
