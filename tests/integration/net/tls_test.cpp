// TLS: servers are verified, and a stop is as quick and as harmless as without it.
#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"
#include "support/wire/tls_identity.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <curl/curl.h>

using namespace agentcore;
using namespace agentcore::test;

namespace {

void answer_all(Peer& peer) {
  while (!peer.read_request().empty()) peer.write(answer("hello"));
}

bool is_pending(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal) == 1;
}

// Holds SIGPIPE back on this thread, so that a test can see one instead of dying of it.
class PipeWatch {
 public:
  PipeWatch() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before_);
  }
  ~PipeWatch() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  PipeWatch(const PipeWatch&) = delete;
  PipeWatch& operator=(const PipeWatch&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

TEST_CASE("a self-signed certificate is refused", "[net][tls]") {
  const TlsIdentity identity;
  SocketServer server(answer_all, identity.context());
  Runtime runtime;
  const Call call = start(runtime, request_to(server.url("https")));
  REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
  CHECK(call.heard->end.code == Errc::tls_error);
  CHECK(call.heard->end.message.find("certificate") != std::string::npos);
  CHECK(server.requests() == 0);
}

TEST_CASE("a configured certificate is accepted and its connection kept", "[net][tls]") {
  const TlsIdentity identity;
  SocketServer server(answer_all, identity.context());
  Runtime runtime;
  for (int i = 0; i < 3; ++i) {
    auto request = request_to(server.url("https"));
    request.ca_file = identity.certificate_file();
    const Call call = start(runtime, std::move(request));
    REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
    CHECK(call.heard->end.code == Errc::none);
    CHECK(call.heard->body == "hello");
  }
  CHECK(server.accepted() == 1);
}

// libcurl trusts a directory of certificates, too, which was named when it was built. Only the one that
// scripts/newest-curl builds has a directory that a test may write into.
TEST_CASE("a configured certificate is the only one that is trusted", "[net][tls][may_skip]") {
  if (std::getenv("AGENTCORE_NEWEST_CURL") == nullptr) {
    WARN("nothing was tested: this needs the libcurl of scripts/newest-curl");
    return;
  }
  const TlsIdentity named, other("another authority");
  const std::filesystem::path directory = curl_version_info(CURLVERSION_NOW)->capath;
  const std::filesystem::path trusted = directory / other.name_in_directory();
  std::filesystem::copy_file(other.certificate_file(), trusted,
                             std::filesystem::copy_options::overwrite_existing);
  SocketServer server(answer_all, other.context());
  Runtime runtime;
  const auto end_with = [&](const std::string& ca_file) {
    auto request = request_to(server.url("https"));
    request.ca_file = ca_file;
    const Call call = start(runtime, std::move(request));
    CHECK(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
    return call.heard->end.code;
  };
  CHECK(end_with(named.certificate_file()) == Errc::tls_error);
  CHECK(end_with("") == Errc::none);  // without one the directory counts
  std::filesystem::remove(trusted);
}

TEST_CASE("a certificate for another name is refused", "[net][tls]") {
  const TlsIdentity identity;
  SocketServer server(answer_all, identity.context());
  Runtime runtime;
  auto request = request_to("https://localhost:" + std::to_string(server.port()) + "/");
  request.ca_file = identity.certificate_file();
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
  CHECK(call.heard->end.code == Errc::tls_error);
}

TEST_CASE("a connection that breaks in the handshake is not reported as a wrong certificate",
          "[net][tls][X19]") {
  SocketServer server([](Peer&) {});
  Runtime runtime;
  const Call call = start(runtime, request_to(server.url("https")));
  REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
  INFO(call.heard->end.message);
  CHECK(call.heard->end.code == Errc::network_error);
}

TEST_CASE("a file of certificates that does not exist is an error", "[net][tls]") {
  const TlsIdentity identity;
  SocketServer server(answer_all, identity.context());
  Runtime runtime;
  auto request = request_to(server.url("https"));
  request.ca_file = "/nonexistent/ca.pem";
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
  CHECK(call.heard->end.code == Errc::tls_error);
}

TEST_CASE("a stop shuts a kept connection with TLS before the loop runs", "[net][tls][G6]") {
  const TlsIdentity identity;
  SocketServer server(
      [](Peer& peer) {
        peer.read_request();
        peer.write(answer("hello"));
        peer.read_request();
        if (!peer.wait_step()) return;
        peer.write(std::string(stream_head) + "data: 1\n\n");
        peer.wait_close();
      },
      identity.context());
  Runtime runtime;
  const auto ask = [&] {
    auto request = request_to(server.url("https"));
    request.ca_file = identity.certificate_file();
    return start(runtime, std::move(request));
  };
  const Call first = ask();
  REQUIRE(drive(runtime, &server, [&] { return first.heard->ends == 1; }));
  const Call second = ask();
  REQUIRE(drive(runtime, &server, [&] { return server.requests() == 2; }));
  server.step();  // libcurl waits for the answer by now
  REQUIRE(drive(runtime, &server, [&] { return !second.heard->body.empty(); }));
  CHECK(second.handle->cut());
  CHECK(server.wait([&] { return server.closed() == 1; }));
  CHECK(server.accepted() == 1);
  REQUIRE(runtime.run_until_idle());
  CHECK(second.heard->end.code == Errc::cancelled);
}

// libcurl says good-bye on a connection that it closes; on one that we shut down that is a write to a broken
// pipe.
TEST_CASE("a cut under TLS raises no SIGPIPE", "[net][tls][G16]") {
  const TlsIdentity identity;
  SocketServer server(stream_once, identity.context());
  const PipeWatch watch;
  Runtime runtime;
  auto request = request_to(server.url("https"));
  request.ca_file = identity.certificate_file();
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, &server, [&] { return !call.heard->body.empty(); }));
  call.handle->cut();
  REQUIRE(server.wait([&] { return server.closed() == 1; }));
  REQUIRE(runtime.run_until_idle());
  CHECK(call.heard->end.code == Errc::cancelled);
  CHECK_FALSE(is_pending(SIGPIPE));
}
