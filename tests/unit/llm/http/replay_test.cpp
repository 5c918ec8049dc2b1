// A client that is answered out of a recording.
#include "support/catch.hpp"
#include "support/observe/chat_record.hpp"
#include "support/observe/recorder_lines.hpp"

#include <agentcore/http_llm_client.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <cmath>
#include <thread>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using Match = HttpReplay::Match;
using Pace = HttpReplay::Pace;
using std::chrono::seconds;

std::string words(std::string_view text) {
  return R"(data: {"choices":[{"delta":{"content":")" + std::string(text) + "\"}}]}\n\n";
}
const std::string finish =
    "data: {\"model\":\"m-2026\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],"
    "\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":500,\"total_tokens\":1500}}\n\n";

HttpExchange exchange_of(std::vector<HttpExchange::Piece> body, Errc end = Errc::none) {
  HttpExchange exchange;
  exchange.url = "https://elsewhere.example/v1/chat/completions?api-version=3";
  exchange.status = 200;
  exchange.content_type = "text/event-stream";
  exchange.body = std::move(body);
  exchange.end = end;
  exchange.ended_at = seconds(9);
  return exchange;
}
HttpExchange saying(std::string_view text) {
  return exchange_of({{Duration(0), words(text) + finish}});
}

struct ReplayFixture {
  explicit ReplayFixture(std::vector<HttpExchange> exchanges, Pace pace = Pace::at_once,
                         Match match = Match::strict) {
    options.base_url = "http://localhost:1/v1";
    options.model = "m";
    options.replay = std::make_shared<HttpReplay>(std::move(exchanges), pace, match);
  }
  void chat(std::string agent_id, ChatRecord& record, std::function<void()> then = {}) {
    if (!llm) llm = std::make_unique<HttpLlmClient>(*runtime, options);
    llm->chat(ask(std::move(agent_id)), stop.get_token(), record.sink(std::move(then)));
  }

  testing::ManualClock clock;
  std::unique_ptr<Runtime> runtime = std::make_unique<Runtime>(RuntimeOptions{.clock = &clock, .seed = 1});
  HttpLlmOptions options;
  StopSource stop;
  ChatRecord heard, other;
  std::unique_ptr<HttpLlmClient> llm;
};

}  // namespace

TEST_CASE("a replay at once delivers one piece per poll", "[llm][recording]") {
  ReplayFixture f({exchange_of({{seconds(1), words("a")}, {seconds(2), words("b")}, {seconds(3), finish}})});
  f.chat("a", f.heard);
  CHECK(f.heard.deltas.empty());
  f.runtime->poll();
  CHECK(f.heard.text() == "a");
  f.runtime->poll();
  CHECK(f.heard.text() == "ab");
  CHECK_FALSE(f.heard.ended());
  CHECK(f.runtime->run_until_idle());
  CHECK(f.heard.completed());
  CHECK(f.clock.now() == TimePoint());
}

TEST_CASE("a replay as recorded keeps the times", "[llm][recording]") {
  ReplayFixture f({exchange_of({{seconds(1), words("a")}, {seconds(5), words("b") + finish}})},
                  Pace::as_recorded);
  f.chat("a", f.heard);
  f.runtime->run_for(seconds(1) - Duration(1));
  CHECK(f.heard.deltas.empty());
  f.runtime->run_for(Duration(1));
  CHECK(f.heard.text() == "a");
  f.runtime->run_for(seconds(4));
  CHECK(f.heard.text() == "ab");
  CHECK_FALSE(f.heard.ended());  // its connection ended later
  CHECK(f.runtime->run_until_idle());
  CHECK(f.heard.completed());
}

// What a client sends for `question`.
static std::string body_for(const std::string& system_prompt, const std::string& question) {
  RecorderLines lines;
  ReplayFixture recorded({saying("x")});
  recorded.options.recorder = lines.recorder();
  recorded.llm = std::make_unique<HttpLlmClient>(*recorded.runtime, recorded.options);
  ChatRequest request;
  request.messages = {ChatMessage::system(system_prompt), ChatMessage::user(question)};
  recorded.llm->chat(std::move(request), {}, recorded.heard.sink());
  REQUIRE(recorded.runtime->run_until_idle());
  return lines.exchanges().at(0).request_body;
}

static HttpExchange answering(std::string body, std::string_view text) {
  HttpExchange exchange = saying(text);
  exchange.request_body = std::move(body);
  return exchange;
}

// The answers to the same question, asked several times; the name of the error where there is none.
static std::vector<std::string> answers_of(std::vector<HttpExchange> exchanges, Match match, int times) {
  ReplayFixture f(std::move(exchanges), Pace::at_once, match);
  f.llm = std::make_unique<HttpLlmClient>(*f.runtime, f.options);
  std::vector<std::string> answers;
  for (int i = 0; i < times; ++i) {
    ChatRecord record;
    ChatRequest request;
    request.messages = {ChatMessage::system("Be brief."), ChatMessage::user("question")};
    f.llm->chat(std::move(request), {}, record.sink());
    REQUIRE(f.runtime->run_until_idle());
    answers.push_back(record.completed() ? record.text() : record.error().message);
  }
  return answers;
}

TEST_CASE("a request gets the exchange with the same request and each exchange is used once",
          "[llm][recording]") {
  HttpExchange elsewhere = saying("elsewhere");
  elsewhere.url = "https://h/v1/other";
  const std::string same = body_for("Be brief.", "question");
  const std::vector<std::string> answers = answers_of(
      {elsewhere, saying("any"), answering(same, "first"), answering(same, "second")}, Match::strict, 4);
  CHECK(answers[0] == "first");
  CHECK(answers[1] == "second");
  CHECK(answers[2] == "any");  // one that was recorded without its request
  CHECK(answers[3].find("no exchange left for POST /v1/chat/completions") != std::string::npos);
}

TEST_CASE("another question than the recorded one fails and shows the difference", "[llm][recording]") {
  const HttpExchange other = answering(body_for("Be long.", "question"), "a lie");
  CHECK(answers_of({other}, Match::strict, 1).front() ==
        "The recording has no exchange left with this request for POST /v1/chat/completions. The next one "
        "differs in messages[0].content: recorded \"Be long.\", asked \"Be brief.\". Record the exchange "
        "again, or use HttpReplay::Match::loose.");
  CHECK(answers_of({other}, Match::loose, 1).front() == "a lie");
  const HttpExchange same = answering(body_for("Be brief.", "question"), "the answer");
  CHECK(answers_of({other, same}, Match::loose, 2) == std::vector<std::string>{"the answer", "a lie"});
}

TEST_CASE("a request without a match fails with its path", "[llm][recording]") {
  ReplayFixture f({});
  f.chat("a", f.heard);
  CHECK_FALSE(f.heard.ended());
  f.runtime->poll();
  CHECK(f.heard.failed_with(Errc::invalid_recording));
  CHECK(f.heard.error().message.find("POST /v1/chat/completions") != std::string::npos);
}

TEST_CASE("a stop ends a replayed call", "[llm][recording][A9][G5]") {
  ReplayFixture f({exchange_of({{seconds(1), words("a")}, {seconds(5), words("b")}})}, Pace::as_recorded);
  f.chat("a", f.heard);
  SECTION("between two pieces, from another thread") {
    f.runtime->run_for(seconds(2));
    std::thread([&f] { f.stop.request_stop(); }).join();
  }
  SECTION("before the first") {
    CHECK(f.llm->abort("a"));
  }
  f.runtime->poll();
  CHECK(f.heard.cancelled());
  const auto now = f.clock.now();
  CHECK(f.runtime->run_until_idle());  // nothing waits any more
  CHECK(f.clock.now() == now);
}

TEST_CASE("nothing follows a stop within a delta of a replay", "[llm][recording][G7]") {
  ReplayFixture f({exchange_of({{Duration(0), words("a") + words("b")}, {Duration(0), words("c")}})});
  f.chat("a", f.heard, [&f] { f.stop.request_stop(); });
  CHECK(f.runtime->run_until_idle());
  CHECK(f.heard.cancelled());
  CHECK(f.heard.text() == "a");
}

TEST_CASE("a call that was recorded as stopped is stopped again", "[llm][recording]") {
  ReplayFixture f({exchange_of({{Duration(0), words("a")}}, Errc::cancelled)});
  f.chat("a", f.heard);
  CHECK(f.runtime->run_until_idle());
  CHECK(f.heard.text() == "a");
  CHECK(f.heard.cancelled());
}

TEST_CASE("a replay ends with its client and with its Runtime", "[llm][recording][G7]") {
  ReplayFixture f({exchange_of({{seconds(1), words("a") + words("b")}})}, Pace::as_recorded);
  RecorderLines lines;
  f.options.recorder = lines.recorder();
  SECTION("its client goes") {
    f.chat("a", f.heard);
    f.llm.reset();
    CHECK(f.heard.cancelled());
    f.runtime->run_for(seconds(2));
  }
  SECTION("its client goes within a delta") {
    f.chat("a", f.heard, [&f] { f.llm.reset(); });
    f.runtime->run_for(seconds(2));
    CHECK(f.heard.text() == "a");
  }
  SECTION("its runtime goes") {
    f.chat("a", f.heard);
    f.runtime.reset();
  }
  SECTION("its runtime goes within a delta") {
    f.chat("a", f.heard, [&f] { f.runtime.reset(); });
    auto* const runtime = f.runtime.get();
    runtime->run_for(seconds(2));
  }
  CHECK(f.heard.cancelled());
  CHECK(lines.exchanges().size() == 1);
}

TEST_CASE("limits also apply to a replay", "[llm][recording][G15]") {
  ReplayFixture f({exchange_of({{Duration(0), words("a")}, {Duration(0), words(std::string(500, 'x'))}})});
  f.options.max_response_bytes = 400;
  f.chat("a", f.heard);
  CHECK(f.runtime->run_until_idle());
  CHECK(f.heard.failed_with(Errc::response_too_large));
}

TEST_CASE("the chunks of a stream may be larger than an answer may be", "[llm][recording][limits]") {
  HttpExchange exchange = exchange_of({});
  for (int i = 0; i < 50; ++i) exchange.body.push_back({Duration(0), words("ab")});
  exchange.body.push_back({Duration(0), "data: [DONE]\n\n"});
  ReplayFixture f({exchange});
  RecorderLines lines;
  const bool is_recorded = GENERATE(false, true);
  if (is_recorded) f.options.recorder = lines.recorder();
  f.options.max_response_bytes = 100;
  f.chat("a", f.heard);
  CHECK(f.runtime->run_until_idle());
  REQUIRE(f.heard.completed());
  CHECK(f.heard.text().size() == 100);
  REQUIRE(lines.exchanges().size() == (is_recorded ? 1 : 0));
  if (is_recorded) CHECK(lines.exchanges()[0].body.size() == 51);
}

TEST_CASE("a recorder does not change which answers are too large", "[llm][recording][limits]") {
  const auto error_of = [](std::size_t chunks, const std::string& text, bool is_recorded) {
    HttpExchange exchange = exchange_of({});
    for (std::size_t i = 0; i < chunks; ++i) exchange.body.push_back({Duration(0), words(text)});
    exchange.body.push_back({Duration(0), "data: [DONE]\n\n"});
    ReplayFixture f({exchange});
    RecorderLines lines;
    if (is_recorded) f.options.recorder = lines.recorder();
    f.options.max_response_bytes = 100;
    f.chat("a", f.heard);
    CHECK(f.runtime->run_until_idle());
    return f.heard.completed() ? std::string() : f.heard.error().message;
  };
  for (const std::size_t chunks : {100U, 101U, 1000U}) {
    INFO(chunks);
    CHECK(error_of(chunks, "x", true) == error_of(chunks, "x", false));
    CHECK(error_of(chunks, "x", true).empty() == (chunks <= 100));
    const std::string of_envelopes = error_of(chunks, "", true);
    CHECK(of_envelopes == error_of(chunks, "", false));
    const bool is_too_large = of_envelopes.find("max_response_bytes") != std::string::npos;
    CHECK(is_too_large == (chunks == 1000));  // 256 times as much in all
  }
}

TEST_CASE("a call costs what the price table says", "[llm]") {
  ReplayFixture f({saying("a")});
  SECTION("of the model that answered") {
    f.options.prices = {{"m-2026", {2, 4}}, {"m", {9, 9}}};
  }
  SECTION("of the model that was asked for") {
    f.options.model = "alias-1";
    f.options.prices = {{"alias", {2, 4}}};
  }
  f.chat("a", f.heard);
  CHECK(f.runtime->run_until_idle());
  REQUIRE(f.heard.completed());
  REQUIRE(f.heard.outcomes[0].cost);
  CHECK(std::abs(*f.heard.outcomes[0].cost - 0.004) < 1e-12);
}

TEST_CASE("a passed deadline fails a call at once", "[llm]") {
  ReplayFixture f({saying("a")});
  f.llm = std::make_unique<HttpLlmClient>(*f.runtime, f.options);
  f.clock.advance(seconds(5));
  ChatRequest request = ask("a");
  request.deadline = f.runtime->now();
  f.llm->chat(request, {}, f.heard.sink());
  CHECK(f.heard.failed_with(Errc::deadline_exceeded));
  f.chat("a", f.other);  // nothing was used up
  CHECK(f.runtime->run_until_idle());
  CHECK(f.other.completed());
}

TEST_CASE("the key callback may destroy the client", "[llm][secrets][G16]") {
  ReplayFixture f({saying("a")});
  f.options.api_key_source = [&f] {
    f.llm.reset();
    return std::string("sk-key");
  };
  f.llm = std::make_unique<HttpLlmClient>(*f.runtime, f.options);
  f.llm->chat(ask("a"), {}, f.heard.sink());
  CHECK(f.heard.cancelled());
}
