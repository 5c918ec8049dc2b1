// One question to a real server. Set OPENAI_BASE_URL (and OPENAI_API_KEY, OPENAI_MODEL where the server wants
// them), e.g. http://127.0.0.1:8080/v1 for agentcore-standin --port 8080.
#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

int main() {
  // [snippet: client]
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::HttpLlmClient llm{runtime,
                               {.base_url = from_environment("OPENAI_BASE_URL"),
                                .api_key = from_environment("OPENAI_API_KEY"),
                                .model = from_environment("OPENAI_MODEL")}};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  auto events = tree.on_event([](const agentcore::Event& event) {
    if (auto* delta = event.get<agentcore::DeltaReceived>())
      std::fwrite(delta->text.data(), 1, delta->text.size(), stdout);
    else if (auto* end = event.get<agentcore::TurnEnded>();
             end && end->result->outcome == agentcore::TurnOutcome::failed)
      std::fprintf(stderr, "%s\n", end->result->error.message.c_str());
  });
  const agentcore::Agent agent = tree.create({.model = {.max_tokens = 200}}).value();
  if (!agent.send("Why is the sky blue?")) return 1;
  const bool done = runtime.run_until_idle().is_idle();
  // [/snippet]
  std::putchar('\n');
  return done ? 0 : 1;
}
