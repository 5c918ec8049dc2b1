// gaia: a LemonadeClient for each thread, because it may not be shared; chatCompletionsStreaming() blocks.
#include "../thread_per_stream.hpp"

#include <gaia/lemonade_client.h>

int main(int argc, char** argv) {
  const auto plan = bench::StreamPlan::parse(argc, argv, "gaia");
  bench::run_threads(plan, [&](const std::string& text) {
    gaia::LemonadeClient client({.baseUrl = "http://127.0.0.1:" + plan.port + "/v1", .model = "m"});
    const gaia::json message{{"role", "user"}, {"content", text}};
    client.chatCompletionsStreaming({{"model", "m"}, {"messages", gaia::json::array({message})}},
                                    [](const std::string&) { bench::count_chunk(); });
  });
}
