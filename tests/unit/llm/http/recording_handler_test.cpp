// What is recorded of an exchange, and what is not.
#include "llm/http/recording_handler.hpp"

#include "loop/engine.hpp"
#include "support/catch.hpp"
#include "support/observe/recorder_lines.hpp"

#include <agentcore/testing/manual_clock.hpp>

#include <functional>
#include <stdexcept>

using namespace agentcore;
using namespace agentcore::detail::llm;
using test::RecorderLines;

namespace {

struct Inner final : detail::net::HttpHandler {
  explicit Inner(std::function<void()> then) : on_ended(std::move(then)) {}
  void on_head(const detail::net::HttpHead&) override {}
  bool on_body(std::string_view bytes) override { return bytes != "no"; }
  void on_end(detail::net::HttpEnd) override { on_ended(); }
  std::function<void()> on_ended;
};

struct RecordingFixture {
  RecordingFixture() {
    redact.hide("sk-the-key", "api key");
    detail::net::HttpRequest request;
    request.url = "https://me:word@host/v1?key=sk-the-key";
    request.headers = {"Authorization: Bearer sk-the-key", "X-Title: demo sk-the-key"};
    request.body = "{\"a\":\"sk-the-key\"}";
    begun = begin_exchange(request, redact);
  }
  std::unique_ptr<RecordingHandler> handler(std::shared_ptr<const HttpRecorder> recorder) {
    return std::make_unique<RecordingHandler>(
        detail::loop::engine_of(*runtime), std::move(recorder), redact, begun,
        std::make_unique<Inner>([this] { recorded_first = lines.text; }));
  }

  testing::ManualClock clock;
  std::string log;
  std::unique_ptr<Runtime> runtime = std::make_unique<Runtime>(
      RuntimeOptions{.clock = &clock, .log = [this](const LogRecord& record) { log += record.message; }});
  Redactor redact;
  HttpExchange begun;
  RecorderLines lines;
  std::string recorded_first;  // before the handler heard of the end
};

}  // namespace

TEST_CASE("a request is recorded without its secrets", "[llm][recording][secrets]") {
  const RecordingFixture f;
  CHECK(f.begun.method == "POST");
  CHECK(f.begun.url == "https://host/v1?key=[api key]");
  CHECK(f.begun.request_headers ==
        std::vector<std::string>{"Authorization: [removed]", "X-Title: demo [api key]"});
  CHECK(f.begun.request_body == "{\"a\":\"[api key]\"}");
}

TEST_CASE("pieces are recorded with their times before the end is reported", "[llm][recording]") {
  RecordingFixture f;
  const auto handler = f.handler(f.lines.recorder());
  f.clock.advance(Duration(5));
  handler->on_head({200, "text/event-stream", {{"retry-after", "7"}, {"x-ratelimit-limit-tokens", "9"}}});
  CHECK(handler->on_body("one"));
  f.clock.advance(Duration(5));
  CHECK_FALSE(handler->on_body("no"));
  f.clock.advance(Duration(5));
  handler->on_end({Errc::stall_timeout, "silence", 200});
  const HttpExchange exchange = f.lines.exchanges().at(0);
  CHECK(f.recorded_first == f.lines.text);
  CHECK(exchange.status == 200);
  CHECK(exchange.content_type == "text/event-stream");
  CHECK(exchange.headers == std::vector<std::string>{"retry-after: 7", "x-ratelimit-limit-tokens: 9"});
  CHECK(exchange.body == std::vector<HttpExchange::Piece>{{Duration(5), "one"}, {Duration(10), "no"}});
  CHECK(exchange.end == Errc::stall_timeout);
  CHECK(exchange.end_message == "silence");
  CHECK(exchange.ended_at == Duration(15));
}

TEST_CASE("a secret that is split between pieces is hidden", "[llm][recording][secrets]") {
  RecordingFixture f;
  HttpExchange exchange;
  exchange.body = {{Duration(1), "a s"}, {Duration(2), "k-the-k"}, {Duration(3), "ey b"}, {Duration(4), "c"}};
  exchange.headers = {"set-cookie: yum", "location: http://h/sk-the-key"};
  exchange.end_message = "sk-the-key was refused";
  exchange.content_type = "text/sk-the-key";
  remove_secrets(exchange, f.redact);
  CHECK(exchange.body ==
        std::vector<HttpExchange::Piece>{
            {Duration(1), "a [api key]"}, {Duration(2), ""}, {Duration(3), " b"}, {Duration(4), "c"}});
  CHECK(exchange.headers ==
        std::vector<std::string>{"set-cookie: [removed]", "location: http://h/[api key]"});
  CHECK(exchange.end_message == "[api key] was refused");
  CHECK(exchange.content_type == "text/[api key]");
}

TEST_CASE("a dropped transfer is recorded as cancelled", "[llm][recording]") {
  RecordingFixture f;
  f.handler(f.lines.recorder())->on_body("half");
  CHECK(f.lines.exchanges().at(0).end == Errc::cancelled);
  CHECK(f.recorded_first.empty());
}

TEST_CASE("an exception of a recorder does not affect the call", "[llm][recording][G16]") {
  RecordingFixture f;
  bool ended = false;
  const auto broken =
      std::make_shared<HttpRecorder>([](std::string_view) { throw std::runtime_error("full"); });
  RecordingHandler handler(detail::loop::engine_of(*f.runtime), broken, f.redact, f.begun,
                           std::make_unique<Inner>([&ended] { ended = true; }));
  handler.on_end({});
  CHECK(ended);
  CHECK(f.log == "a callback threw");
}
