// What the standard library offers for a tree: one std::stop_source per agent, chained to its parent's by a
// std::stop_callback. A request on the root has closed every gate when it returns.
//
//   peer_stop_callbacks [AGENTS]
#include "harness.hpp"

#include <cstdlib>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace {

struct PassOn {
  std::stop_source* source;
  void operator()() const noexcept { source->request_stop(); }
};

struct Node {
  std::stop_source source;
  std::optional<std::stop_callback<PassOn>> chain;
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  std::vector<Node> nodes(count);
  for (std::size_t i = 1; i < count; ++i)
    nodes[i].chain.emplace(nodes[(i - 1) / 8].source.get_token(), PassOn{&nodes[i].source});
  const std::uint64_t begin = bench::now();
  nodes[0].source.request_stop();
  const std::uint64_t end = bench::now();
  if (!nodes.back().source.stop_requested()) std::abort();
  bench::report_peer("stop_gate_1m", "tree of 8, " + std::to_string(count),
                     static_cast<double>(end - begin) / 1e3, "us", "std::stop_callback chain");
}
