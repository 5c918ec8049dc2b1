// What the terminal view sends to answer a question, and what it says then.
#include "console/top/answering.hpp"
#include "support/catch.hpp"
#include "support/wire/socket_server.hpp"

#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>

using namespace console_app::top;

namespace {

constexpr KeyPress enter{Key::enter};

// A person before a server that gives one answer to each request.
class Exchange {
 public:
  Exchange(int status, const std::string& body)
      : server_([this, status, body](agentcore::test::Peer& peer) {
          request_.set_value(peer.read_request());
          peer.write(fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                                 body.size(), body));
        }) {}

  void open(bool is_approval) {
    questions.apply(
        {{"type", "question"},
         {"question",
          {{"id", "q/1"}, {"kind", is_approval ? "approval" : "question"}, {"agentId", "scout"}}}});
    answering.open(questions.all().back());
  }
  void type(const std::string& text) {
    for (const char c : text) answering.press({Key::character, static_cast<char32_t>(c)});
  }
  // Until the note says what became of it.
  void run() {
    const auto give_up = SteadyClock::now() + std::chrono::seconds(30);
    while (note.text.empty()) {
      REQUIRE(SteadyClock::now() < give_up);
      std::vector<pollfd> watched;
      http.add_descriptors(watched);
      const auto until = http.deadline();
      ::poll(watched.data(), watched.size(), until && *until <= SteadyClock::now() ? 0 : 10);
      http.run(watched, SteadyClock::now());
    }
  }
  // METHOD PATH BODY
  std::string sent() {
    const std::string request = request_.get_future().get();
    return request.substr(0, request.find(" HTTP/")) + " " + request.substr(request.find("\r\n\r\n") + 4);
  }

 private:
  std::promise<std::string> request_ = {};
  agentcore::test::SocketServer server_;

 public:
  Http http = {};
  Api api{http, {.url = fmt::format("http://127.0.0.1:{}", server_.port())}};
  Questions questions = {};
  Prompt prompt = {};
  Note note = {};
  Answering answering{api, questions, prompt, note};
};

const std::string accepted = R"({"ok":true,"questionId":"q/1"})";

}  // namespace

TEST_CASE("an answer is sent without the blanks before it, and closes its question", "[console_top]") {
  Exchange exchange(200, accepted);
  exchange.open(false);
  exchange.type("  2 days ");
  exchange.answering.press(enter);
  exchange.run();
  CHECK(exchange.sent() == R"(POST /api/questions/q%2F1/answer {"text":"2 days "})");
  CHECK(exchange.note.text == "scout: answered");
  CHECK(exchange.questions.all().empty());
}

TEST_CASE("an approval is sent with its scope", "[console_top]") {
  const auto [keys, scope] =
      GENERATE(std::pair("y", "once"), std::pair("sy", "agent"), std::pair("ssy", "subtree"));
  Exchange exchange(200, accepted);
  exchange.open(true);
  exchange.type(keys);
  exchange.run();
  CHECK(exchange.sent() == fmt::format(R"(POST /api/questions/q%2F1/approve {{"scope":"{}"}})", scope));
}

TEST_CASE("a reason is sent if there is one", "[console_top]") {
  const auto [keys, body] =
      GENERATE(std::pair("n", "{}"), std::pair("nno money", R"({"reason":"no money"})"));
  Exchange exchange(200, accepted);
  exchange.open(true);
  exchange.type(keys);
  exchange.answering.press(enter);
  exchange.run();
  CHECK(exchange.sent() == fmt::format("POST /api/questions/q%2F1/decline {}", body));
  CHECK(exchange.note.text == "scout: declined");
}

TEST_CASE("an answer that another person was faster than is too late", "[console_top]") {
  const auto [status, code] =
      GENERATE(std::pair(409, "question_closed"), std::pair(404, "question_not_found"));
  Exchange exchange(status, fmt::format(R"({{"ok":false,"error":"{}","message":"m"}})", code));
  exchange.open(true);
  exchange.type("y");
  exchange.run();
  CHECK(exchange.note.text == "scout: too late, this question is closed");
  CHECK(exchange.note.failed);
  CHECK(exchange.questions.all().empty());
}

TEST_CASE("an answer that was not accepted is kept for the next time", "[console_top]") {
  Exchange exchange(409, R"({"ok":false,"error":"agent_stopping","message":"the agent is being stopped"})");
  exchange.open(false);
  exchange.type("Rome");
  exchange.answering.press(enter);
  exchange.run();
  CHECK(exchange.note.text == "scout: the agent is being stopped");
  REQUIRE(exchange.questions.all().size() == 1);
  exchange.answering.open(exchange.questions.all().front());
  CHECK(exchange.prompt.line.text() == "Rome");
}
