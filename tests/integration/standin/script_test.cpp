// Answers that the message dictates.
#include "raw_client.hpp"
#include "standin/server_thread.hpp"
#include "standin/tool_script.hpp"
#include "support/catch.hpp"

#include <string>

#include <nlohmann/json.hpp>

using standin::ScriptedCall;

namespace {

standin::Options fast() {
  standin::Options options;
  options.pace = {.tokens = 4, .rate = 0, .first_token_ms = 0};
  options.keep_requests = true;
  return options;
}

}  // namespace

TEST_CASE("stand-in: a message can dictate several answers", "[standin][tools]") {
  const std::string message =
      "Hello /say no\r\n/say\n/say one\n/callx\n/call  no name\n/call a {\"x\": 1}\n/say  two\n/then\n/call "
      "b\n"
      "/thenx\n/then\n/then\n/say last";
  const auto script = [&](std::size_t round) { return standin::script_of(message, round); };
  CHECK(script(0).text == "one\n two");
  CHECK(script(0).calls == std::vector<ScriptedCall>{{"a", "{\"x\": 1}"}});
  CHECK(script(1).text.empty());
  CHECK(script(1).calls == std::vector<ScriptedCall>{{"b", ""}});
  CHECK(script(2).text.empty());
  CHECK(script(2).calls.empty());
  CHECK(script(3).text == "last");
  CHECK(script(4).text.empty());
  CHECK(standin::script_of("", 0).text.empty());
}

TEST_CASE("stand-in: dictated text is sent with and without streaming and tools", "[standin][tools]") {
  const std::string text = "<a>  \"quoted\" and \\ and \xE2\x98\x83 " + std::string(100'000, 'x');
  standin::ServerThread server(fast());
  RawClient client(server->port());
  for (const std::string stream : {"true", "false"}) {
    const nlohmann::json body = {{"stream", stream == "true"},
                                 {"max_tokens", 3},
                                 {"messages", {{{"role", "user"}, {"content", "Say it.\n/say " + text}}}}};
    REQUIRE(client.send(request("POST", "/v1/chat/completions", {}, body.dump())));
    const RawAnswer answer = client.read_answer();
    REQUIRE(answer.complete);
    if (stream == "true") {
      CHECK(content_of(answer.body) == text);
      continue;
    }
    const auto choice = nlohmann::json::parse(answer.body)["choices"][0];
    CHECK(choice["message"]["content"] == text);
    CHECK(choice["finish_reason"] == "stop");
  }
}

TEST_CASE("stand-in: a record keeps its request when the options say so", "[standin]") {
  const bool kept = GENERATE(true, false);
  standin::Options options = fast();
  options.keep_requests = kept;
  standin::ServerThread server(options);
  RawClient client(server->port());
  const std::string body = R"({"messages": [{"role":"user","content":"hi"}]})";
  for (const std::string& sent : {body, std::string("{broken")}) {
    REQUIRE(client.send(request("POST", "/v1/chat/completions", {}, sent)));
    CHECK(client.read_answer().complete);
    CHECK(server->records().back().request == (kept ? sent : ""));
  }
}
