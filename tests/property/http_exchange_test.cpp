// Recordings: whatever bytes were exchanged come back; anything else does no harm.
#include "support/prop.hpp"

#include <agentcore/http_recording.hpp>

#include <algorithm>

using namespace agentcore;

namespace {

// Any bytes, often with what JSON and UTF-8 treat as special.
std::string any_bytes() {
  return *rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::arbitrary<char>(), rc::gen::element('\n', '"', '\\', '\0', '\xC3', '\xBC', 'a')));
}

std::vector<std::string> any_list() {
  std::vector<std::string> list(*rc::gen::inRange<std::size_t>(0, 3));
  std::generate(list.begin(), list.end(), any_bytes);
  return list;
}

Duration any_time() {
  return Duration(*rc::gen::nonNegative<Duration::rep>());
}

HttpExchange any_exchange() {
  HttpExchange exchange{any_bytes(), any_bytes(), any_list(), any_bytes(), *rc::gen::nonNegative<int>(),
                        any_bytes(), any_list()};
  for (int left = *rc::gen::inRange(0, 4); left > 0; --left)
    exchange.body.push_back({any_time(), any_bytes()});
  exchange.end = *rc::gen::element(Errc::none, Errc::cancelled, Errc::network_error, Errc::invalid_config);
  exchange.end_message = any_bytes();
  exchange.ended_at = any_time();
  exchange.request_sent = *rc::gen::arbitrary<bool>();
  return exchange;
}

}  // namespace

TEST_CASE("any exchange survives being written and read", "[property][llm][recording]") {
  prop("what is read is what was written, in one line", [] {
    const HttpExchange exchange = any_exchange();
    const std::string line = to_json_line(exchange);
    RC_ASSERT(line.find('\n') == std::string::npos);
    const auto read = exchange_from_json_line(line);
    RC_ASSERT(read);
    RC_ASSERT(*read == exchange);
  });
}

TEST_CASE("a damaged recording is read or refused", "[property][llm][recording][G15]") {
  prop("damaged text is read or refused with a reason", [] {
    std::string text = to_json_line(any_exchange()) + "\n" + to_json_line(any_exchange());
    for (int left = *rc::gen::inRange(1, 4); left > 0; --left)
      text.replace(
          *rc::gen::inRange<std::size_t>(0, text.size()), *rc::gen::inRange<std::size_t>(0, 8),
          *rc::gen::element<std::string>("", "{", "]", "\"", "null", "7e999", "-1", "\n", "\xFF", "[]"));
    const auto read = HttpReplay::from_text(text);
    if (read) return;
    RC_ASSERT(read.error().code == Errc::invalid_recording);
    RC_ASSERT(!read.error().message.empty());
  });
}
