// Answers, whole and broken, as the transport hands them over.
#include "llm/http/http_call.hpp"

#include "core/utf8.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/prop.hpp"

using namespace agentcore;
using namespace agentcore::test;
using detail::core::first_characters;
using Fixture = CallFixture;
using Words = std::vector<std::string>;

TEST_CASE_METHOD(Fixture, "a stream becomes deltas and an outcome", "[llm]") {
  answer(200, all_events, piece("Hel") + piece("lo") + finish_chunk + usage_chunk + done_chunk);
  CHECK(heard.deltas == Words{"Hel", "lo"});
  CHECK(heard.completed());
  CHECK(heard.outcomes[0].finish_reason == FinishReason::complete);
  CHECK(heard.outcomes[0].usage == k123);
  CHECK_FALSE(requests->contains("a"));
  CHECK(shared->open.empty());
}

TEST_CASE("a stream split in two anywhere gives the same outcome", "[llm]") {
  const std::string stream = ": hi\n\n" + piece("H\xC3\xBC") + piece("\\u00fc\\ud83d\\ude00") + finish_chunk +
                             usage_chunk + done_chunk;
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    Fixture fixture;
    fixture.call->on_head({.status = 200, .content_type = all_events});
    for (const auto part : {std::string_view(stream).substr(0, cut), std::string_view(stream).substr(cut)}) {
      const std::vector<char> exact(part.begin(), part.end());
      fixture.call->on_body({exact.data(), exact.size()});
    }
    fixture.end();
    if (fixture.heard.text() != "H\xC3\xBC\xC3\xBC\xF0\x9F\x98\x80" || !fixture.heard.completed() ||
        fixture.heard.outcomes[0].usage != k123)
      FAIL("cut at " << cut);
  }
}

TEST_CASE("every prefix of a stream has one outcome", "[llm][G10]") {
  const std::string stream = piece("Hel") + piece("lo") + finish_chunk + usage_chunk + done_chunk;
  const std::size_t blank_line = 2;  // which need not stand behind the last event
  const std::size_t finished = piece("Hel").size() + piece("lo").size() + finish_chunk.size() - blank_line;
  for (std::size_t size = 0; size <= stream.size(); ++size) {
    Fixture fixture;
    fixture.answer(200, all_events, std::string_view(stream).substr(0, size));
    INFO("the first " << size << " bytes");
    CHECK(std::string_view("Hello").starts_with(fixture.heard.text()));
    if (size >= finished) CHECK(fixture.heard.completed());
    if (size < finished) CHECK(fixture.heard.failed_with(Errc::network_error));
    if (size < finished) CHECK(fixture.heard.error().retryable);
  }
}

TEST_CASE_METHOD(Fixture, "a broken connection after a finish reason is no error", "[llm]") {
  answer(200, all_events, piece("x") + finish_chunk, Errc::network_error);
  CHECK(heard.completed());
}

TEST_CASE_METHOD(Fixture, "the DONE event without a finish reason completes the answer", "[llm]") {
  answer(200, all_events, piece("x") + done_chunk);
  CHECK(heard.completed());
  CHECK(heard.outcomes[0].finish_reason == FinishReason::unknown);
}

TEST_CASE_METHOD(Fixture, "the DONE event alone is not an answer", "[llm][O6]") {
  answer(200, all_events, ": hello\n\n" + done_chunk);
  CHECK(heard.failed_with(Errc::invalid_response));
  CHECK(heard.error().message.ends_with("Raw response: [DONE]"));
}

TEST_CASE_METHOD(Fixture, "a connection that stays open after the DONE event is closed", "[llm]") {
  call->on_head({.status = 200, .content_type = all_events});
  CHECK(call->on_body(piece("x") + finish_chunk + done_chunk));
  CHECK(call->on_body("data: more\n\n"));
  CHECK_FALSE(heard.ended());
  runtime->run_for(std::chrono::seconds(1));
  CHECK(cuts() == 1);
  end(Errc::cancelled);
  CHECK(heard.completed());
}

TEST_CASE_METHOD(Fixture, "if every chunk has usage the last one counts", "[llm]") {
  std::string other = usage_chunk;
  other.replace(other.find("\"total_tokens\":3"), 16, "\"total_tokens\":9");
  answer(200, all_events, other + piece("x") + usage_chunk + finish_chunk);
  CHECK(heard.outcomes[0].usage == k123);
}

TEST_CASE_METHOD(Fixture, "an error object inside a stream ends it", "[llm]") {
  call->on_head({.status = 200, .content_type = all_events});
  CHECK_FALSE(call->on_body(piece("x") + "data: {\"error\":{\"message\":\"overloaded, " + api_key_in_test +
                            "\",\"code\":503}}\n\n" + piece("y")));
  end(Errc::invalid_response);
  CHECK(heard.text() == "x");
  CHECK(heard.failed_with(Errc::api_error));
  CHECK(heard.error().message == "overloaded, [api key]");
  CHECK(heard.error().retryable);
  CHECK(heard.error().http_status == 200);
}

TEST_CASE_METHOD(Fixture, "a chunk that is not JSON ends the stream", "[llm]") {
  answer(200, all_events, piece("x") + "data: <oops>\n\n" + piece("y"), Errc::invalid_response);
  CHECK(heard.text() == "x");
  CHECK(heard.failed_with(Errc::invalid_response));
  CHECK(heard.error().message == "A chunk of the stream is not a JSON object: <oops>");
}

TEST_CASE("an answer that is corrupt from its beginning is retryable", "[llm][X19]") {
  const auto heard = [](bool stream, std::string_view body, Errc end = Errc::none) {
    Fixture fixture(stream);
    fixture.answer(200, stream ? all_events : json_type, body, end);
    CHECK(fixture.heard.deltas.empty());
    return fixture.heard;
  };
  CHECK(heard(true, "data: {\"choices\":[{\"del", Errc::network_error).error().retryable);
  const ChatRecord stream = heard(true, "data: {\"choices\":[{\"del#\n\n");
  REQUIRE(stream.failed_with(Errc::invalid_response));
  CHECK(stream.error().retryable);
  const ChatRecord body = heard(false, R"({"choices":[{"mess)");
  REQUIRE(body.failed_with(Errc::invalid_response));
  CHECK(body.error().retryable);
}

TEST_CASE("a line that is too long ends the stream", "[llm][G15]") {
  Fixture fixture(true, 100);
  fixture.answer(200, all_events, piece("x") + piece(std::string(200, 'y')), Errc::invalid_response);
  CHECK(fixture.heard.text() == "x");
  CHECK(fixture.heard.failed_with(Errc::response_too_large));
  CHECK(fixture.heard.error().message.find("max_line_bytes") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "a JSON answer to a stream request is read as a whole", "[llm]") {
  const std::string body =
      R"({"choices":[{"message":{"content":"Hi"},"finish_reason":"length"}],"usage":{"total_tokens":5}})";
  call->on_head({.status = 200, .content_type = json_type});
  for (const char byte : body) CHECK(call->on_body({&byte, 1}));
  end();
  CHECK(heard.deltas == Words{"Hi"});
  CHECK(heard.completed());
  CHECK(heard.outcomes[0].finish_reason == FinishReason::length);
  CHECK(heard.outcomes[0].usage.total_tokens == 5);
}

TEST_CASE_METHOD(Fixture, "a stream under a wrong content type is recognised", "[llm]") {
  answer(200, "text/plain", piece("Hi") + finish_chunk);
  CHECK(heard.text() == "Hi");
  CHECK(heard.completed());
}

TEST_CASE("a JSON body with the content type of a stream is read", "[llm][O5][O6]") {
  const auto heard = [](std::string_view body) { return Fixture().answer(200, all_events, body); };
  const ChatRecord whole = heard(R"({"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]})");
  CHECK(whole.text() == "Hi");
  CHECK(whole.completed());
  const ChatRecord error = heard("\r\n {\"error\":{\"message\":\"no such plan\"}}");
  CHECK(error.failed_with(Errc::api_error));
  CHECK_FALSE(error.error().retryable);
  CHECK(error.error().message == "no such plan");
  const ChatRecord page = heard("<html>login</html>");
  CHECK(page.failed_with(Errc::invalid_response));
  CHECK(page.error().message.ends_with("Raw response: <html>login</html>"));
  CHECK(heard("\n\n" + piece("Hi") + finish_chunk).text() == "Hi");

  Fixture in_bytes;
  in_bytes.call->on_head({.status = 200, .content_type = all_events});
  for (const char byte : std::string(" \n{\"error\":\"no such plan\"}"))
    CHECK(in_bytes.call->on_body({&byte, 1}));
  in_bytes.end();
  CHECK(in_bytes.heard.failed_with(Errc::api_error));
}

TEST_CASE("a call without streaming gets a whole answer", "[llm]") {
  Fixture with_text(false), with_null(false);
  with_text.answer(200, json_type, R"({"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]})");
  CHECK(with_text.heard.deltas == Words{"Hi"});
  CHECK(with_text.heard.completed());
  with_null.answer(200, json_type,
                   R"({"choices":[{"message":{"content":null},"finish_reason":"tool_calls"}]})");
  CHECK(with_null.heard.deltas.empty());
  CHECK(with_null.heard.outcomes[0].finish_reason == FinishReason::tool_calls);
}

TEST_CASE("the error of a success without JSON has the beginning of the body", "[llm][O5]") {
  const std::string prefix = "Failed to parse API response as JSON. Raw response: ";
  const auto message = [](const std::string& body) {
    Fixture fixture(false);
    fixture.answer(200, "text/html", body);
    CHECK(fixture.heard.failed_with(Errc::invalid_response));
    return fixture.heard.error().message;
  };
  CHECK(message("") == "Failed to parse API response as JSON. The response is empty.");
  CHECK(message(" \r\n") == "Failed to parse API response as JSON. The response is empty.");
  CHECK(message("<html>") == prefix + "<html>");
  CHECK(message(std::string(500, 'x')) == prefix + std::string(500, 'x'));
  CHECK(message(std::string(501, 'x')) == prefix + std::string(500, 'x') + "...");
  std::string umlauts, half;
  for (int i = 0; i < 500; ++i) umlauts += "\xC3\xBC";
  CHECK(message(umlauts + "y") == prefix + umlauts + "...");
  CHECK(message(std::string(495, 'x') + api_key_in_test) == prefix + std::string(495, 'x') + "[api ...");
  CHECK(message("a\xFF") == prefix + "a\xEF\xBF\xBD");
}

TEST_CASE("a success without choices is an error", "[llm][O6]") {
  for (const char* body : {"{}", R"({"choices":[]})"}) {
    Fixture fixture(false);
    fixture.answer(200, json_type, body);
    CHECK(fixture.heard.failed_with(Errc::invalid_response));
    CHECK(fixture.heard.error().message.find("empty response") != std::string::npos);
  }
}

TEST_CASE("HTTP errors have status and the provider's message and whether to retry", "[llm][X19]") {
  const auto failed = [](int status, std::string_view body) {
    Fixture fixture;
    fixture.answer(status, json_type, body);
    CHECK(fixture.heard.error().http_status == status);
    return fixture.heard.error();
  };
  const ChatError wrong_key =
      failed(401, R"({"error":{"message":"bad key )" + api_key_in_test + R"(","type":"t","code":"c"}})");
  CHECK(wrong_key.code == Errc::api_error);
  CHECK(
      wrong_key.message ==
      "HTTP 401: bad key [api key] (check the key: HttpLlmOptions::api_key, api_key_env or api_key_source)");
  CHECK_FALSE(wrong_key.retryable);
  CHECK(failed(503, "<h1>down</h1>\n").code == Errc::http_error);
  CHECK(failed(503, "<h1>down</h1>\n").message ==
        "HTTP 503: <h1>down</h1> (the server has failed; try again later)");
  CHECK(failed(500, "").message ==
        "HTTP 500: the answer has no text (the server has failed; try again later)");
  CHECK(failed(404, "nope").message.find("base_url") != std::string::npos);
  CHECK(failed(301, "").message.find("base_url") != std::string::npos);
  for (const int status : {408, 409, 429, 500, 503, 599})
    CHECK(failed(status, R"({"detail":"x"})").retryable);
  for (const int status : {400, 401, 403, 404, 422})
    CHECK_FALSE(failed(status, R"({"detail":"x"})").retryable);
}

TEST_CASE("errors of the transfer are passed on", "[llm][X19]") {
  const auto failed = [](Errc code) {
    Fixture fixture;
    fixture.answer(200, all_events, piece("x"), code);
    CHECK(fixture.heard.failed_with(code));
    return fixture.heard.error().retryable;
  };
  for (const Errc code : {Errc::connect_timeout, Errc::first_byte_timeout, Errc::stall_timeout,
                          Errc::resolve_failed, Errc::network_error})
    CHECK(failed(code));
  CHECK_FALSE(failed(Errc::tls_error));
  CHECK_FALSE(failed(Errc::response_too_large));
}

TEST_CASE("any input of a server gives one outcome without secrets", "[llm][G10]") {
  prop("any status, type and bytes end in one outcome, its texts valid and without the key", [] {
    Fixture fixture(*rc::gen::arbitrary<bool>(), 200);
    const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::oneOf(
        rc::gen::element<std::string>(piece("x"), finish_chunk, usage_chunk, done_chunk, api_key_in_test,
                                      "data: " + api_key_in_test + "\n\n", "\n\n",
                                      R"({"error":")" + api_key_in_test + "\"}",
                                      R"(data: {"error":{"message":")" + api_key_in_test + "\"}}\n\n"),
        rc::gen::arbitrary<std::string>()));
    fixture.call->on_head({.status = *rc::gen::element(200, 204, 302, 401, 500),
                           .content_type = *rc::gen::element(all_events, json_type, std::string())});
    bool more = true;
    for (auto part = parts.begin(); more && part != parts.end(); ++part) more = fixture.call->on_body(*part);
    fixture.end(more ? *rc::gen::element(Errc::none, Errc::network_error) : Errc::invalid_response);
    RC_ASSERT(fixture.heard.outcomes.size() == 1U);
    const std::string& message = fixture.heard.error().message;
    RC_ASSERT(message.find(api_key_in_test) == std::string::npos);
    RC_ASSERT(detail::core::is_utf8(message));
    RC_ASSERT(first_characters(message, 1000) == message);
    RC_ASSERT(detail::core::is_utf8(fixture.heard.text()));
  });
}
