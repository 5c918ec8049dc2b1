// ai-sdk-cpp: one client for all threads; the iterator of a stream blocks, and the stream has a thread of
// its own besides. Nothing is logged.
#include "../thread_per_stream.hpp"

#include <ai/logger.h>
#include <ai/openai.h>

int main(int argc, char** argv) {
  const auto plan = bench::StreamPlan::parse(argc, argv, "ai-sdk-cpp");
  ai::logger::install_logger(std::make_shared<ai::logger::NullLogger>());
  ai::Client client = ai::openai::create_client("none", "http://127.0.0.1:" + plan.port);
  bench::run_threads(plan, [&](const std::string& text) {
    const ai::StreamResult stream = client.stream_text(ai::StreamOptions(ai::GenerateOptions("m", text)));
    for (const ai::StreamEvent& event : stream) {
      if (event.is_text_delta()) bench::count_chunk();
      if (event.is_error()) throw std::runtime_error(event.error.value_or("an error"));
    }
  });
}
