// A consumer of the clients over HTTP: a call to a port at which no server listens fails with a clear error.
#include <agentcore/http_llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>

int main() {
  agentcore::Runtime runtime;
  agentcore::HttpLlmClient llm(runtime, {.base_url = "http://127.0.0.1:1/v1", .model = "any"});
  std::string error;
  agentcore::ChatSink sink(
      {}, [&error](const agentcore::ChatOutcome& outcome) { error = outcome.error.message; });
  llm.chat({}, {}, std::move(sink));
  const bool idle = runtime.run_until_idle(std::chrono::seconds(60)).is_idle();
  std::cout << "no server: " << error << '\n';
  return idle && error.find("127.0.0.1") != std::string::npos ? EXIT_SUCCESS : EXIT_FAILURE;
}
