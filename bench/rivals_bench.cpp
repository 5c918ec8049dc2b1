// Streams beside those of other SDKs: an agent tree with an HttpLlmClient against the stream server.
//
//   rivals_bench PORT RECORD STREAMS SECONDS STOPS
//
// Opens STREAMS agents' streams and receives for SECONDS; STOPS is not used. The same of others is in
// bench/rivals and bench/peers/go.
#include "stream_figures.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/http_llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <chrono>

namespace {

using namespace agentcore;

class Host {
 public:
  explicit Host(const std::string& port)
      : llm_(runtime_, {.base_url = "http://127.0.0.1:" + port, .model = "m", .proxy = "none"}) {}

  void open(std::size_t stream) {
    agents_.push_back(root_.create_child(spec_).value());
    if (!agents_.back().send("stream " + std::to_string(stream))) std::abort();
  }

  void step() { runtime_.run_for(std::chrono::milliseconds(20)); }

  std::size_t opened() const { return agents_.size(); }
  std::size_t chunks() const { return chunks_; }

 private:
  void count(const Event& event) {
    if (event.get<DeltaReceived>())
      ++chunks_;
    else if (const auto* end = event.get<TurnEnded>())
      std::fprintf(stderr, "a turn ended: %s\n", end->result->error.message.c_str()), std::abort();
  }

  std::size_t chunks_ = 0;
  Runtime runtime_;
  HttpLlmClient llm_;
  AgentTree tree_{runtime_, {.llm = &llm_}};
  Subscription events_ = tree_.on_event([this](const Event& event) { count(event); });
  SharedAgentSpec spec_ = std::make_shared<const AgentSpec>();
  Agent root_ = tree_.create({.id = "root"}).value();
  std::vector<Agent> agents_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto plan = bench::StreamPlan::parse(argc, argv, "");
  bench::raise_descriptor_limit(plan.streams);
  const bench::StreamRecord& record = bench::map_record(plan.record, false);
  Host host(plan.port);
  bench::drive_until(
      "opening streams", [&] { return record.opened == plan.streams; },
      [&] {
        while (host.opened() < plan.streams) host.open(host.opened());
        host.step();
      });
  bench::measure_rival(
      plan, [&] { return host.chunks(); }, [&] { host.step(); });
  std::_Exit(0);  // the streams have no end
}
