// What counts as a request, and what is refused.
#include "console/http/request_reader.hpp"

#include "support/catch.hpp"
#include "support/prop.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore::detail::console;
using State = RequestReader::State;

namespace {

// Goes on where a server would go on without a look at the request.
State read_on(RequestReader& reader, std::string& in) {
  State state = reader.read(in);
  while (state == State::head_complete || state == State::send_continue) state = reader.read(in);
  return state;
}

// The last state, after `text` in pieces of `piece` bytes.
State read_in_pieces(RequestReader& reader, const std::string& text, std::size_t piece, std::string& in) {
  State state = State::need_more;
  for (std::size_t at = 0; at < text.size() && state != State::complete && state != State::failed;
       at += piece) {
    in += text.substr(at, piece);
    state = read_on(reader, in);
  }
  return state;
}

Request whole(const std::string& text) {
  RequestReader reader({});
  std::string in;
  REQUIRE(read_in_pieces(reader, text, text.size(), in) == State::complete);
  return reader.take();
}

// The status with which `text` is refused; 0: it is a request, or not complete.
int refusal(const std::string& text, RequestLimits limits = {}) {
  RequestReader reader(limits);
  std::string in = text;
  return read_on(reader, in) == State::failed ? reader.status() : 0;
}

const std::string post =
    "POST /api/agent/a%2Fb/send?x=1&y=a+b%21 HTTP/1.1\r\nHost: localhost\r\nX-One: 1\r\nContent-Length: "
    "5\r\n\r\nhello";

}  // namespace

TEST_CASE("a request is read with its parts decoded", "[console][http]") {
  const Request request = whole(post);
  CHECK(request.method == "POST");
  CHECK(request.path == std::vector<std::string>{"api", "agent", "a/b", "send"});
  CHECK(request.query == Request::Fields{{"x", "1"}, {"y", "a b!"}});
  CHECK(*request.header("x-one") == "1");
  CHECK(request.body == "hello");
  CHECK(request.keep_alive);
  CHECK(request.is_write());
}

TEST_CASE("a request is the same in pieces of any size", "[console][http]") {
  for (std::size_t piece = 1; piece <= post.size(); ++piece) {
    RequestReader reader({});
    std::string in;
    REQUIRE(read_in_pieces(reader, post, piece, in) == State::complete);
    CHECK(reader.take().body == "hello");
  }
}

TEST_CASE("requests follow each other on a connection", "[console][http]") {
  RequestReader reader({});
  std::string in = post + "\r\n" + "GET /second HTTP/1.1\r\nHost: localhost\r\n\r\nGET /third";
  REQUIRE(read_on(reader, in) == State::complete);
  CHECK(reader.take().body == "hello");
  REQUIRE(reader.read(in) == State::complete);
  CHECK(reader.take().path == std::vector<std::string>{"second"});
  CHECK(reader.read(in) == State::need_more);
  CHECK(reader.is_in_request());
}

TEST_CASE("a body in chunks is the same in pieces of any size", "[console][http]") {
  for (const std::string chunks :
       {"0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "1;x=y\r\na\r\n0\r\nTrailer: 1\r\n\r\n"}) {
    const std::string text = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks;
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
      RequestReader reader({});
      std::string in;
      REQUIRE(read_in_pieces(reader, text, piece, in) == State::complete);
      CHECK(reader.take().body.size() == (chunks[0] == '0' ? 0u : chunks[0] == '3' ? 3u : 1u));
    }
  }
}

TEST_CASE("a body in chunks is put together", "[console][http]") {
  const Request request = whole(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  CHECK(request.body == "abcde");
}

TEST_CASE("the head of a request with a body is known before the body", "[console][http]") {
  RequestReader reader({});
  std::string in = post.substr(0, post.size() - 5);
  REQUIRE(reader.read(in) == State::head_complete);
  CHECK(reader.head().method == "POST");
  CHECK(reader.head().path == std::vector<std::string>{"api", "agent", "a/b", "send"});
  CHECK(*reader.head().header("x-one") == "1");
  CHECK(reader.head().body.empty());
  CHECK(reader.read(in) == State::need_more);
  in += "hello";
  CHECK(reader.read(in) == State::complete);
  in = "GET / HTTP/1.1\r\n\r\n";
  CHECK(reader.take().body == "hello");
  CHECK(reader.read(in) == State::complete);
}

TEST_CASE("what follows a body in chunks is no header", "[console][http]") {
  const Request request = whole(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
      "0\r\nAuthorization: Bearer x\r\nHost: other\r\n\r\n");
  CHECK(request.body == "a");
  CHECK(request.header("authorization") == nullptr);
  CHECK(request.count_header("host") == 1);
}

TEST_CASE("a client that expects it gets 100 Continue once", "[console][http]") {
  RequestReader reader({});
  std::string in = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  CHECK(reader.read(in) == State::head_complete);
  CHECK(reader.read(in) == State::send_continue);
  CHECK(reader.read(in) == State::need_more);
  in += "ok";
  CHECK(reader.read(in) == State::complete);
}

TEST_CASE("what is no request is refused with a status", "[console][http][G15]") {
  CHECK(refusal("nonsense\r\n\r\n") == 400);
  CHECK(refusal("GET / HTTP/3.0\r\n\r\n") == 400);
  CHECK(refusal("GET  / HTTP/1.1\r\n\r\n") == 400);
  CHECK(refusal("GET / HTTP/1.1\r\nbad header\r\n\r\n") == 400);
  CHECK(refusal("GET / HTTP/1.1\r\nA: 1\nB: 2\r\n\r\n") == 400);
  CHECK(refusal("POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n") == 400);
  CHECK(refusal("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n") == 400);
  CHECK(refusal("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n") == 400);
  CHECK(refusal("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab") == 400);
  CHECK(refusal("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n") == 400);
  const std::string chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  CHECK(refusal(chunked + "1;" + std::string(20'000, 'a')) == 431);
  CHECK(refusal(chunked + "0\r\nX: " + std::string(20'000, 'a')) == 431);
  CHECK(refusal("GET / HTTP/1.1\r\nA: " + std::string(20'000, 'x') + "\r\n\r\n") == 431);
  CHECK(refusal("GET /" + std::string(20'000, 'x')) == 431);
  CHECK(refusal("POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n", {.max_body_bytes = 10}) == 413);
  CHECK(refusal("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n",
                {.max_body_bytes = 10}) == 413);
}

TEST_CASE("a target that is no path leaves the path empty", "[console][http]") {
  for (const std::string target : {"*", "http://other/", "/a%2", "/a%zz", "/?a=%1"})
    CHECK(whole("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n").path.empty());
}

TEST_CASE("slashes at the ends of a path are segments without text", "[console][http]") {
  const auto path = [](const std::string& target) {
    return whole("GET " + target + " HTTP/1.1\r\n\r\n").path;
  };
  CHECK(path("/") == std::vector<std::string>{""});
  CHECK(path("/a/") == std::vector<std::string>{"a", ""});
  CHECK(path("/a//b") == std::vector<std::string>{"a", "", "b"});
  CHECK(path("/%00") == std::vector<std::string>{std::string(1, '\0')});
}

TEST_CASE("any bytes are read or refused", "[console][http][property][G15]") {
  prop("a reader takes any bytes in any pieces", [] {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::container<std::string>(
        rc::gen::oneOf(rc::gen::arbitrary<char>(), rc::gen::elementOf(std::string("GET / HTTP1.\r\n: :0")))));
    RequestReader reader({.max_header_bytes = 200, .max_body_bytes = 100});
    std::string in;
    for (const std::string& piece : pieces) {
      in += piece;
      const State state = read_on(reader, in);
      if (state == State::complete) static_cast<void>(reader.take());
      if (state == State::failed) RC_ASSERT(reader.status() >= 400);
      RC_ASSERT(in.size() <= 200 + piece.size() || state == State::failed || state == State::complete);
    }
  });
}

TEST_CASE("a cookie is found among others", "[console][http]") {
  const Request request = whole("GET / HTTP/1.1\r\nCookie: a=1; session=xyz;b=2\r\n\r\n");
  CHECK(request.cookie("session") == "xyz");
  CHECK(request.cookie("b") == "2");
  CHECK(request.cookie("c").empty());
}
