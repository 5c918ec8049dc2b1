// The parts of the stand-in that can be looked at without a socket.
#include "raw_client.hpp"
#include "standin/answer.hpp"
#include "standin/command_line.hpp"
#include "standin/exchange.hpp"
#include "standin/http.hpp"
#include "standin/timer_wheel.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t ms_ns = 1'000'000;

std::string words(std::string_view message, int count) {
  standin::AnswerText text(message);
  std::string out;
  for (int i = 0; i < count; ++i) text.append_next(out);
  return out;
}

}  // namespace

TEST_CASE("stand-in: timers fire in time and never early", "[standin]") {
  standin::TimerWheel wheel(0);
  std::vector<std::pair<std::int64_t, std::int64_t>> fired;  // due, at
  std::vector<std::int64_t> dues;
  for (std::int64_t due = 1; due < 5000; due += 37) dues.push_back(due * ms_ns + due);
  std::vector<standin::Timer> timers(dues.size());
  for (std::size_t i = 0; i < dues.size(); ++i) {
    timers[i].owner = &dues[i];
    wheel.set(timers[i], dues[i]);
  }
  std::int64_t now = 0;
  for (int wait = wheel.wait_ms(now); wait >= 0; wait = wheel.wait_ms(now)) {
    now += wait * ms_ns;
    wheel.advance(now, 3, [&](void* owner) { fired.emplace_back(*static_cast<std::int64_t*>(owner), now); });
  }
  REQUIRE(fired.size() == dues.size());
  for (const auto& [due, at] : fired) {
    REQUIRE(at >= due);
    REQUIRE(at <= due + 2 * ms_ns);
  }
}

TEST_CASE("stand-in: a timer can be reset and cancelled and destroyed by another", "[standin]") {
  standin::TimerWheel wheel(0);
  int count = 0;
  auto first = std::make_unique<standin::Timer>();
  auto second = std::make_unique<standin::Timer>();
  wheel.set(*first, 5 * ms_ns);
  wheel.set(*first, 7 * ms_ns);
  wheel.set(*second, 7 * ms_ns);
  wheel.advance(6 * ms_ns, 10, [&](void*) { ++count; });
  CHECK(count == 0);
  wheel.advance(5000 * ms_ns, 10, [&](void*) {
    ++count;
    second.reset();
  });
  CHECK(count == 1);
  CHECK(wheel.wait_ms(5000 * ms_ns) == -1);
  wheel.set(*first, 0);
  CHECK(wheel.wait_ms(5000 * ms_ns) == 0);
}

TEST_CASE("stand-in: a request is read however it is split", "[standin]") {
  const std::string sized = request("POST", "/p?q=1", "X-A:  b \r\n", "hello");
  const std::string chunked =
      "POST /p?q=1 HTTP/1.1\r\nx-a: b\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2\r\nhe\r\n3;e\r\nllo\r\n0\r\nt: u\r\n\r\n";
  const std::string& bytes = GENERATE(false, true) ? chunked : sized;
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    for (std::size_t step = 1; step < 4; ++step) {
      standin::RequestParser parser(1000, 1000);
      std::string in = bytes.substr(0, first);
      auto state = parser.parse(in);
      for (std::size_t at = first; at < bytes.size(); at += step) {
        REQUIRE(state == standin::ParseState::need_more);
        in += bytes.substr(at, step);
        state = parser.parse(in);
      }
      REQUIRE(state == standin::ParseState::complete);
      const standin::HttpRequest request = parser.take();
      REQUIRE(request.path == "/p");
      REQUIRE(request.query == "q=1");
      REQUIRE(*request.header("x-a") == "b");
      REQUIRE(request.body == "hello");
      REQUIRE(in.empty());
    }
  }
}

TEST_CASE("stand-in: the answer depends only on the message", "[standin]") {
  CHECK(words("one", 50) == words("one", 50));
  CHECK(words("one", 50) != words("two", 50));
  CHECK(words("one", 3) == "You said: \\\"one\\\".");
  CHECK(words(" \n ", 3) == "You said: nothing.");
  const std::string text = words("one", 200);
  CHECK(std::ranges::count(text, ' ') == 199);
  const std::string clipped =
      words(std::string(39, 'x') + "ä", 3);  // the 40th byte would be half a character
  CHECK(clipped == "You said: \\\"" + std::string(39, 'x') + "\\\".");
}

TEST_CASE("stand-in: a late exchange catches up in bounded steps", "[standin]") {
  standin::ChatCall call;
  call.stream = true;
  call.pace = {.tokens = 0, .rate = 10, .first_token_ms = 100};
  standin::Exchange exchange(call, 1, 0, true, true);
  std::string out;
  std::vector<standin::TokenMark> marks;
  CHECK(exchange.produce(0, out, marks).due_ns == 100 * ms_ns);
  CHECK(out.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(marks.empty());
  const auto next = exchange.produce(100 * ms_ns, out, marks);
  CHECK(marks.size() == 1);
  CHECK(next.due_ns >= 200 * ms_ns);
  CHECK(next.due_ns <= 201 * ms_ns);
  exchange.produce(1'000'000 * ms_ns, out, marks);
  CHECK(marks.size() == 1 + 64);
  CHECK(marks.back().end == out.size());
}

TEST_CASE("stand-in: the command line is read or refused with a reason", "[standin]") {
  const auto line =
      standin::parse_command_line({"--port=81", "--rate", "2.5", "--tokens", "0", "--log", "--prompt-cache"});
  CHECK(line.error.empty());
  CHECK(line.options.port == 81);
  CHECK(line.options.pace.rate == 2.5);
  CHECK(line.options.pace.tokens == 0);
  CHECK(line.log);
  CHECK(line.options.prompt_cache);
  CHECK(line.options.host == "127.0.0.1");
  CHECK(standin::parse_command_line({"--prot", "1"}).error == "unknown option --prot");
  CHECK(standin::parse_command_line({"--port"}).error == "--port needs a value");
  CHECK(standin::parse_command_line({"--port", "70000"}).error == "--port cannot be \"70000\"");
  CHECK(standin::manual().find("--first-token-ms") != std::string_view::npos);
}
