// What a model has made up is not sent as it is, and stays in the history. TurnFixture checks each request.
#include "integration/llm/turn_fixture.hpp"
#include "support/catch.hpp"

#include <string>

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("a server accepts a conversation in which the model has called a tool that there is not",
          "[integration][llm][tools]") {
  const Dialect dialect = GENERATE(Dialect::openai_chat, Dialect::anthropic_messages);
  TurnFixture f(5, {}, options_for(dialect));
  const Agent agent = f.ask("/call get.weather in <Oslo>\n/call functions.add {\"a\":\n/then\n/say Sorry.");
  REQUIRE(f.drive_to_end());
  CHECK(f.end.result->text == "Sorry.");
  REQUIRE(f.requests() == 2);
  CHECK(f.request(2).dump().find("\"name\":\"get_weather\"") != std::string::npos);
  CHECK(f.request(2).dump().find("\"name\":\"get.weather\"") == std::string::npos);
  const std::vector<ChatMessage> history = agent.conversation().value();
  REQUIRE(history.size() == 5);
  CHECK(history[1].tool_calls()[0].name == "get.weather");
  CHECK(history[1].tool_calls()[1].name == "functions.add");
}
