// NeoGraph: one OpenAIProvider for all threads; complete_stream() blocks. Its coroutine makes a thread for
// each stream, too, and polls a queue beside it.
#include "../thread_per_stream.hpp"

#include <neograph/llm/openai_provider.h>

int main(int argc, char** argv) {
  const auto plan = bench::StreamPlan::parse(argc, argv, "NeoGraph");
  const auto provider = neograph::llm::OpenAIProvider::create_shared({
      .api_key = "none",
      .base_url = "http://127.0.0.1:" + plan.port,
      .default_model = "m",
      .allow_insecure_loopback = true,
  });
  bench::run_threads(plan, [&](const std::string& text) {
    neograph::CompletionParams params;
    params.model = "m";
    params.messages.push_back({.role = "user", .content = text});
    provider->complete_stream(params, [](const std::string&) { bench::count_chunk(); });
  });
}
