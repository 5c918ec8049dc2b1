// The header that names the agent of a call.
#include "integration/llm/turn_fixture.hpp"

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("the stand-in records the agent of a request if the client names it", "[standin][agent_header]") {
  standin::ServerThread server(TurnFixture::options(3));
  Runtime runtime;
  for (const bool told : {true, false}) {
    HttpLlmOptions options{.base_url = server->base_url(), .model = "m", .proxy = "none"};
    if (told) options.agent_header = "x-agent-id";
    HttpLlmClient llm(runtime, options);
    AgentTree tree(runtime, {.llm = &llm});
    for (const char* const id : {"scout", "a\r\nb"})
      REQUIRE(tree.create({.id = id})->send("hello").accepted());
    REQUIRE(drive(runtime, nullptr, [&] { return !tree.busy(); }));
  }
  std::vector<std::string> agents;
  for (const standin::Record& record : server->records()) agents.push_back(record.agent);
  CHECK(agents == std::vector<std::string>{"scout", "a%0D%0Ab", "", ""});
}
