// HttpLlmClient logs once for each conversation that it changes requests.
#include "support/catch.hpp"
#include "support/observe/chat_record.hpp"
#include "unit/llm/dialects/messages.hpp"

#include <agentcore/http_llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// A client whose calls end at the key, after the check.
struct CheckedClient {
  std::vector<std::string> records;
  std::function<void()> in_log;
  int keys = 0;
  Runtime runtime{{.log = [this](const LogRecord& record) {
    std::string text(record.message);
    for (const LogField& field : record.fields)
      text.append(" ").append(field.key).append("=").append(field.value);
    records.push_back(std::move(text));
    if (in_log) in_log();
  }}};
  HttpLlmClient llm{runtime, options()};

  HttpLlmOptions options() {
    return {.base_url = "https://server.example/v1",
            .api_key_source =
                [this] {
                  ++keys;
                  return std::string();
                },
            .model = "m"};
  }
  Errc chat(std::string agent, std::string tool, StopToken stop = {}, std::uint64_t tree = 1) {
    ChatRequest request;
    request.agent_id = std::move(agent);
    request.tree = tree;
    request.messages = {ChatMessage::user("q"), answer("", {{"c1", std::move(tool), "{}"}}),
                        result("c1", "r")};
    ChatRecord heard;
    llm.chat(std::move(request), std::move(stop), heard.sink());
    REQUIRE(heard.ended());
    return heard.error().code;
  }
};

}  // namespace

TEST_CASE("a change of requests is logged once for each conversation", "[llm][dialects]") {
  CheckedClient client;
  client.chat("a", "look");
  CHECK(client.records.empty());
  client.chat("a", "look at it");
  client.chat("a", "look at it");
  REQUIRE(client.records.size() == 1);
  CHECK(client.records[0] ==
        "what the server would refuse was changed in a request, and not in the history agent=a "
        "changes=names of called tools changed: 1");
  client.chat("b", "look at it");
  client.chat("a", "look at it", {}, 2);  // of another tree
  CHECK(client.records.size() == 3);
  client.chat("", "look at it");
  client.chat("", "look at it");  // who knows whether it is the same
  CHECK(client.records.size() == 5);
  CHECK(client.keys == 7);
}

TEST_CASE("a log sink may stop the call of which it is told", "[llm][dialects][G5]") {
  CheckedClient client;
  StopSource stop;
  client.in_log = [&] { stop.request_stop(); };
  CHECK(client.chat("a", "look at it", stop.get_token()) == Errc::cancelled);
  CHECK(client.keys == 0);
}
