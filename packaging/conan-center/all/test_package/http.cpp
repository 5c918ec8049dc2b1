// A consumer of the clients over HTTP: a call to a port at which no server listens fails with a clear error.
// Types of the library work across its border, also where it is shared.
#include <agentcore/error.hpp>
#include <agentcore/http_llm_client.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>

namespace {

bool types_are_known(agentcore::LlmClient& client) {
  if (dynamic_cast<agentcore::HttpLlmClient*>(&client) == nullptr) return false;
  try {
    agentcore::Result<int>(agentcore::Error{agentcore::Errc::out_of_memory, "none"}).value();
  } catch (const agentcore::BadResultAccess& thrown) {
    return std::string(thrown.what()).find("none") != std::string::npos;
  }
  return false;
}

}  // namespace

int main() {
  agentcore::Runtime runtime;
  agentcore::HttpLlmClient llm(runtime, {.base_url = "http://127.0.0.1:1/v1", .model = "any"});
  std::string error;
  agentcore::ChatSink sink(
      {}, [&error](const agentcore::ChatOutcome& outcome) { error = outcome.error.message; });
  llm.chat({}, {}, std::move(sink));
  const bool idle = runtime.run_until_idle(std::chrono::seconds(60));
  std::cout << "no server: " << error << '\n';
  return types_are_known(llm) && idle && error.find("127.0.0.1") != std::string::npos ? EXIT_SUCCESS
                                                                                      : EXIT_FAILURE;
}
