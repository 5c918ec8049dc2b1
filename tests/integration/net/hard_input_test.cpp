// Answers that are not what the protocol says, or have no end: each ends, with an error that says so.
#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"

#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// Asks a server of that script once, and gives back what came of it.
std::shared_ptr<Heard> ask(SocketServer& server, std::size_t limit = 1 << 20, std::size_t upload = 2) {
  Runtime runtime;
  auto request = request_to(server.url());
  request.max_response_bytes = limit;
  request.body.assign(upload, 'x');
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
  CHECK(open_transfers(runtime) == 0);
  CHECK(runtime.run_until_idle());
  return call.heard;
}

// One answer, whatever was asked; then the connection is closed.
std::shared_ptr<Heard> ask(std::string reply, std::size_t limit = 1 << 20) {
  SocketServer server([&](Peer& peer) {
    peer.read_request();
    peer.write(reply);
  });
  return ask(server, limit);
}

// `begin`, then `piece` until the client has had enough.
std::shared_ptr<Heard> ask_for_ever(std::string begin, std::string piece, std::size_t limit = 1 << 20) {
  SocketServer server([&](Peer& peer) {
    peer.read_request();
    peer.write(begin);
    while (peer.write(piece)) {
    }
    peer.wait_close();
  });
  const auto heard = ask(server, limit);
  CHECK(server.wait([&] { return server.closed() == 1; }));
  return heard;
}

void check(const Heard& heard, Errc code) {
  CHECK(to_string(heard.end.code) == to_string(code));
  CHECK(heard.ends == 1);
  CHECK(heard.after_end == 0);
  CHECK(!heard.end.message.empty());
}

constexpr std::string_view chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

}  // namespace

TEST_CASE("a body that is shorter than announced is a network error", "[net]") {
  const auto heard = ask("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
  check(*heard, Errc::network_error);
  CHECK(heard->end.status == 200);
}

TEST_CASE("an invalid Content-Length is an error", "[net][O5]") {
  struct Row {
    std::string_view length;
    Errc code;
    std::string_view text;
  };
  const Row rows[] = {
      {"-1", Errc::invalid_response, " is not HTTP; "},
      {"x", Errc::invalid_response, " is not HTTP; "},
      {"99999999999999999999999", Errc::invalid_response, "a length of 2^63 bytes or more"},
      {"9223372036854775808", Errc::invalid_response, "a length of 2^63 bytes or more"},
  };
  for (const Row& row : rows) {
    INFO(row.length);
    const auto heard = ask("HTTP/1.1 200 OK\r\nContent-Length: " + std::string(row.length) + "\r\n\r\nhalf");
    check(*heard, row.code);
    CHECK(heard->end.message.find(row.text) != std::string::npos);
    CHECK(heard->heads == 0);
    CHECK(heard->body.empty());
  }
}

TEST_CASE("the largest Content-Length is not allocated", "[net]") {
  const auto heard = ask("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nhalf");
  check(*heard, Errc::network_error);
  CHECK(heard->heads == 1);
  CHECK(heard->body == "half");
}

TEST_CASE("bytes after an answer are not delivered to the next request", "[net]") {
  std::string behind;
  SECTION("a body longer than announced") {
    behind = "and more";
  }
  SECTION("a second answer") {
    behind = answer("for nobody");
  }
  SocketServer server([&](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(answer("hello") + behind);
  });
  Runtime runtime;
  for (int i = 0; i < 3; ++i) {
    const Call call = start(runtime, request_to(server.url()));
    REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
    CHECK(call.heard->end.code == Errc::none);
    CHECK(call.heard->heads == 1);
    CHECK(call.heard->body == "hello");
  }
  CHECK(server.wait([&] { return server.accepted() == 3; }));  // such a connection is not used again
}

// To libcurl they are all failures to receive.
TEST_CASE("broken chunks are an error", "[net]") {
  const std::string head(chunked);
  SECTION("no last chunk") {
    check(*ask(head + "5\r\nhello\r\n"), Errc::network_error);
  }
  SECTION("cut in a chunk") {
    check(*ask(head + "5\r\nhe"), Errc::network_error);
  }
  SECTION("cut in a size") {
    check(*ask(head + "5"), Errc::network_error);
  }
  SECTION("a size that is none") {
    check(*ask(head + "hello\r\nhello\r\n0\r\n\r\n"), Errc::network_error);
  }
  SECTION("a negative size") {
    check(*ask(head + "-5\r\nhello\r\n0\r\n\r\n"), Errc::network_error);
  }
  SECTION("a size without an end") {
    check(*ask(head + std::string(4000, '0') + "5\r\nhello\r\n0\r\n\r\n"), Errc::network_error);
  }
  SECTION("a size beyond all numbers") {
    check(*ask(head + "fffffffffffffffff\r\nhello\r\n0\r\n\r\n"), Errc::network_error);
  }
  SECTION("no line end behind a chunk") {
    check(*ask(head + "5\r\nhello5\r\nhello\r\n0\r\n\r\n"), Errc::network_error);
  }
}

TEST_CASE("an endless header line is an error", "[net][G15]") {
  const auto heard = ask_for_ever("HTTP/1.1 200 OK\r\nX: ", std::string(1 << 20, 'x'), 64 << 20);
  check(*heard, Errc::response_too_large);
  CHECK(heard->heads == 0);
}

TEST_CASE("endless headers are an error", "[net][G15]") {
  const auto heard = ask_for_ever("HTTP/1.1 200 OK\r\n", "Name: a value that is not long\r\n", 64 << 20);
  check(*heard, Errc::response_too_large);
  CHECK(heard->heads == 0);
}

TEST_CASE("endless interim responses are an error", "[net][G15]") {
  const auto heard = ask_for_ever("", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 64 << 20);
  check(*heard, Errc::response_too_large);
  CHECK(heard->heads == 0);
}

TEST_CASE("an endless body is an error", "[net][G15]") {
  const std::string piece(1 << 16, 'x');
  SECTION("until the connection closes") {
    check(*ask_for_ever(std::string(stream_head), piece), Errc::response_too_large);
  }
  SECTION("in chunks") {
    check(*ask_for_ever(std::string(chunked), "10000\r\n" + piece + "\r\n"), Errc::response_too_large);
  }
  SECTION("in chunks of one byte") {
    check(*ask_for_ever(std::string(chunked), "1\r\nx\r\n", 10000), Errc::response_too_large);
  }
  SECTION("behind a body, as trailers") {
    check(*ask_for_ever(std::string(chunked) + "5\r\nhello\r\n0\r\n", "Name: value\r\n"),
          Errc::response_too_large);
  }
}

TEST_CASE("unknown HTTP versions are an invalid response", "[net]") {
  for (const char* reply :
       {"hello", "<html></html>", "garbage\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n", "ICY 200 OK\r\n\r\n"}) {
    INFO(reply);
    const auto heard = ask(reply);
    check(*heard, Errc::invalid_response);
    CHECK(heard->heads == 0);
  }
}

TEST_CASE("a server that refuses a large request early does not block it", "[net][O5]") {
  SocketServer server([](Peer& peer) {
    peer.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
    peer.wait_close();
  });
  const auto heard = ask(server, 1 << 20, 8 << 20);
  CHECK(heard->status == 413);
  CHECK(heard->body == "no");
  CHECK(heard->end.code == Errc::none);
}

// What it never read makes its system reset the connection, and the reset may overtake the answer.
TEST_CASE("a server that refuses a large request early and closes does not block it", "[net]") {
  SocketServer server(
      [](Peer& peer) { peer.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"); });
  const auto heard = ask(server, 1 << 20, 8 << 20);
  if (heard->end.code == Errc::none)
    CHECK(heard->status == 413);
  else
    check(*heard, Errc::network_error);
}

TEST_CASE("a server that resets a large request is a network error", "[net]") {
  SocketServer server([](Peer&) {});
  check(*ask(server, 1 << 20, 8 << 20), Errc::network_error);
}
