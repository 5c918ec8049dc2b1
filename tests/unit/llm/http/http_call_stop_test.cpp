// Stops, and other ends of a call before its answer.
#include "llm/http/http_call.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"

using namespace agentcore;
using namespace agentcore::test;
using Fixture = CallFixture;

TEST_CASE_METHOD(Fixture, "after a stop no delta follows and the usage so far is reported", "[llm][A7][G7]") {
  call->on_head({.status = 200, .content_type = all_events});
  CHECK(call->on_body(usage_chunk + piece("x")));
  stop.request_stop();
  CHECK(cuts() == 1);
  CHECK_FALSE(requests->contains("a"));
  CHECK_FALSE(call->on_body(piece("y")));
  end(Errc::cancelled);
  CHECK(heard.text() == "x");
  CHECK(heard.cancelled());
  CHECK(heard.outcomes[0].usage == Usage{1, 2, 3, 0, 0, false});
}

TEST_CASE_METHOD(Fixture, "a stop takes effect before a ready answer", "[llm][C13]") {
  call->on_head({.status = 200, .content_type = all_events});
  call->on_body(piece("x") + finish_chunk + done_chunk);
  CHECK(requests->abort("a"));
  end();
  CHECK(heard.cancelled());
}

TEST_CASE_METHOD(Fixture, "nothing follows a stop from within a delta", "[llm][Q3][G7]") {
  in_delta = [this] { stop.request_stop(); };
  call->on_head({.status = 200, .content_type = all_events});
  CHECK_FALSE(call->on_body(piece("x") + piece("y")));
  end(Errc::cancelled);
  CHECK(heard.text() == "x");
  CHECK(heard.cancelled());
}

TEST_CASE("a stop from within the text of a whole answer takes effect", "[llm][Q3]") {
  Fixture fixture(false);
  SECTION("by its token") {
    fixture.in_delta = [&] { fixture.stop.request_stop(); };
  }
  SECTION("by an abort") {
    fixture.in_delta = [&] { CHECK(fixture.requests->abort("a")); };
  }
  SECTION("by the end of the client") {
    fixture.in_delta = [&] { fixture.shared->open.back()->cancel(); };
  }
  fixture.call->on_head({.status = 200, .content_type = json_type});
  fixture.call->on_body(R"({"choices":[{"message":{"content":"Hi"}}]})");
  fixture.end();
  CHECK(fixture.heard.cancelled());
  CHECK_FALSE(fixture.requests->contains("a"));
}

TEST_CASE("no text follows a stop from within the reasoning of a whole answer", "[llm][Q3][G7]") {
  Fixture fixture(false);
  fixture.in_delta = [&] { fixture.stop.request_stop(); };
  fixture.call->on_head({.status = 200, .content_type = json_type});
  fixture.call->on_body(R"({"choices":[{"message":{"reasoning":"hm","content":"Hi"}}]})");
  fixture.end();
  CHECK(fixture.heard.cancelled());
  CHECK(fixture.heard.text().empty());
}

TEST_CASE_METHOD(Fixture, "a receiver may cancel the call and end the runtime from within a delta",
                 "[llm][Q3]") {
  in_delta = [this] {
    call->cancel();
    runtime.reset();
  };
  call->on_head({.status = 200, .content_type = all_events});
  CHECK_FALSE(call->on_body(piece("x") + piece("y")));
  CHECK(heard.cancelled());
  end(Errc::cancelled);
  CHECK(heard.outcomes.size() == 1);
  CHECK(heard.text() == "x");
}

TEST_CASE_METHOD(Fixture, "a throwing receiver ends its transfer", "[llm][G16]") {
  in_delta = [] { throw 1; };
  call->on_head({.status = 200, .content_type = all_events});
  CHECK_FALSE(call->on_body(piece("x") + piece("y")));
  end(Errc::invalid_response);
  CHECK(heard.failed_with(Errc::callback_failed));
  CHECK(heard.deltas.size() == 1);
}

TEST_CASE_METHOD(Fixture, "the destruction of the transport cancels the call", "[llm]") {
  call.reset();
  CHECK(heard.cancelled());
  CHECK(shared->open.empty());
}

TEST_CASE("open calls may end in any order", "[llm]") {
  Fixture fixture;
  std::vector<ChatRecord> heard(5);
  std::vector<std::unique_ptr<HttpCall>> calls;
  for (auto& each : heard)
    calls.push_back(std::make_unique<HttpCall>(fixture.shared, fixture.parts(""), ChatRequest(), StopToken(),
                                               each.sink()));
  for (const std::size_t i : {2U, 0U, 4U, 3U, 1U}) calls[i]->on_end({Errc::network_error, "x", 0});
  CHECK(fixture.shared->open.size() == 1);
  for (const auto& each : heard) CHECK(each.failed_with(Errc::network_error));
}
