// Whether an answer is a stream: the same however TCP cut it into pieces.
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"

using namespace agentcore;
using namespace agentcore::test;

namespace {

const std::string mark = "\xEF\xBB\xBF";
const std::string whole_answer = R"({"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]})";

// The answer in pieces: cut after `first` and after `second` bytes, or after each byte.
ChatRecord heard_of(std::string_view type, std::string_view text, std::size_t first, std::size_t second) {
  CallFixture f;
  f.call->on_head({.status = 200, .content_type = std::string(type)});
  const std::size_t ends[] = {first, second, text.size()};
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    const auto piece = text.substr(begin, end - begin);
    const std::vector<char> exact(piece.begin(), piece.end());  // for ASan
    if (!exact.empty()) f.call->on_body({exact.data(), exact.size()});
    begin = end;
  }
  return f.end();
}

ChatRecord heard_in_bytes(std::string_view type, std::string_view text) {
  CallFixture f;
  f.call->on_head({.status = 200, .content_type = std::string(type)});
  for (const char byte : text) f.call->on_body({&byte, 1});
  return f.end();
}

// Every way to cut the beginning in three, and the whole into bytes, says "Hi" and completes.
void check_all_cuts(std::string_view type, const std::string& text) {
  INFO("content type \"" << type << "\", answer \"" << text << '"');
  const auto fits = [](const ChatRecord& heard) { return heard.text() == "Hi" && heard.completed(); };
  const std::size_t beginning = std::min<std::size_t>(text.size(), 24);
  for (std::size_t first = 0; first <= beginning; ++first)
    for (std::size_t second = first; second <= beginning; ++second)
      if (!fits(heard_of(type, text, first, second))) FAIL("cut at " << first << " and " << second);
  CHECK(fits(heard_in_bytes(type, text)));
}

}  // namespace

TEST_CASE("a stream is recognised however it is split", "[llm]") {
  const auto type = GENERATE(as<std::string>(), "", "text/plain", all_events);
  const std::string stream = piece("Hi") + finish_chunk + done_chunk;
  for (const std::string before :
       {"", "\n", "\r\n \t\n", ":\n\n", ": ping\n\n", "event: message\n", "id: 7\n", "retry: 10\n\n"}) {
    check_all_cuts(type, before + stream);
    check_all_cuts(type, mark + before + stream);
  }
}

TEST_CASE("a whole answer is recognised however it is split", "[llm]") {
  const auto type = GENERATE(as<std::string>(), "", "text/plain", all_events, json_type);
  for (const std::string before : {"", "\n", "\r\n \t\n"}) {
    check_all_cuts(type, before + whole_answer);
    check_all_cuts(type, mark + before + whole_answer);
  }
}

TEST_CASE("an answer that only begins like a stream is read as a body", "[llm][O5]") {
  for (const std::string body : {"dat", "data", "even", "i", "retr", "database error", "identity unknown"}) {
    const ChatRecord whole = heard_of("", body, 0, 0);
    CHECK(whole.failed_with(Errc::invalid_response));
    CHECK(whole.error().message.ends_with("Raw response: " + body));
    const ChatRecord cut = heard_in_bytes("", body);
    CHECK(cut.failed_with(Errc::invalid_response));
    CHECK(cut.error().message == whole.error().message);
  }
}

TEST_CASE("the buffered beginning of an answer is bounded", "[llm][G15]") {
  const std::string space(1000, '\n');
  CallFixture declared, undeclared;
  declared.call->on_head({.status = 200, .content_type = all_events});
  undeclared.call->on_head({.status = 200});
  for (int i = 0; i < 6; ++i) {
    CHECK(declared.call->on_body(space));
    CHECK(undeclared.call->on_body(space));
  }
  declared.call->on_body(piece("Hi") + finish_chunk);
  undeclared.call->on_body(piece("Hi") + finish_chunk);
  CHECK(declared.end().text() == "Hi");
  CHECK(undeclared.end().failed_with(Errc::invalid_response));
}
