// agent-sdk: an OpenAIProvider for each stream, because each can have one, on one io_context in one thread.
// Nothing is logged.
#include "stream_figures.hpp"

#include <llm/provider.hpp>
#include <spdlog/spdlog.h>

namespace {

using namespace agent;

std::size_t chunks = 0;

void count(const llm::StreamEvent& event) {
  if (std::holds_alternative<llm::TextDelta>(event)) ++chunks;
  if (const auto* error = std::get_if<llm::StreamError>(&event))
    std::fprintf(stderr, "%s\n", error->message.c_str()), std::_Exit(1);
}

void ended() {
  std::fprintf(stderr, "a stream ended\n"), std::_Exit(1);
}

std::shared_ptr<llm::Provider> open(const std::string& port, std::size_t stream, asio::io_context& io) {
  const ProviderConfig config{"openai", "none", "http://127.0.0.1:" + port, {}, {}};
  auto provider = llm::ProviderFactory::instance().create("openai", config, io);
  llm::LlmRequest request;
  request.model = "m";
  request.messages.push_back(Message::user("stream " + std::to_string(stream)));
  provider->stream(request, count, ended);
  return provider;
}

}  // namespace

int main(int argc, char** argv) {
  const auto plan = bench::StreamPlan::parse(argc, argv, "agent-sdk");
  bench::raise_descriptor_limit(plan.streams);
  const bench::StreamRecord& record = bench::map_record(plan.record, false);
  spdlog::set_level(spdlog::level::off);
  asio::io_context io;
  std::vector<std::shared_ptr<llm::Provider>> providers;
  const auto step = [&] { io.run_for(std::chrono::milliseconds(20)); };
  bench::drive_until(
      "opening streams", [&] { return record.opened == plan.streams; },
      [&] {
        while (providers.size() < plan.streams) providers.push_back(open(plan.port, providers.size(), io));
        step();
      });
  bench::measure_rival(
      plan, [] { return chunks; }, step);
  std::_Exit(0);
}
