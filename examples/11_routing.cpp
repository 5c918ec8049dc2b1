// Two models, one client: what passes is tried again, and what is the first model's fault is asked of the
// second. Runs without a network: in place of the two scripted models stand HttpLlmClients in a real program.
#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstdio>
#include <string>

using namespace std::chrono_literals;

namespace {

agentcore::testing::ScriptedReply fails_with(std::string message, bool retryable, bool model_specific) {
  agentcore::testing::ScriptedReply reply;
  reply.error = {.code = agentcore::Errc::api_error,
                 .message = std::move(message),
                 .retryable = retryable,
                 .model_specific = model_specific};
  return reply;
}

}  // namespace

int main() {
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient large{runtime}, small{runtime};
  large.enqueue(fails_with("busy, come back later", true, false));
  large.enqueue(fails_with("this model's context is too small", false, true));

  // [snippet: routing]
  agentcore::LlmRouter llm{
      runtime,
      {.routes = {{.client = &large, .model = "large"}, {.client = &small, .model = "small"}},
       .retry = {.max_attempts = 3, .first_delay = 200ms, .max_retry_after = 60s, .timeout = 2min},
       .breaker = {.failures = 5, .open_for = 30s},
       .limits = {.total = 8, .per_agent = 1, .requests_per_minute = 500},
       .on_retry = [](const agentcore::RetryNotice& notice) {
         std::printf("%s; going on with route %zu\n", notice.error.message.c_str(), notice.next_route + 1);
       }}};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};  // a stop ends attempts, back-offs and waits alike
  // [/snippet]

  std::string answer;
  auto events = tree.on_event([&](const agentcore::Event& event) {
    if (auto* end = event.get<agentcore::TurnEnded>()) answer = end->result->text;
  });
  const agentcore::Agent agent = tree.create(agentcore::AgentSpec{}).value();
  if (!agent.send("Say this back.")) return 1;
  runtime.run_until_idle();
  std::printf("%s\n", answer.c_str());
  return answer == "Say this back." ? 0 : 1;
}
