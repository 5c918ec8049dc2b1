// HTTP/2, against the server that comes with node. Only where libcurl speaks it well enough.
#include "net/http2.hpp"

#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"
#include "support/wire/tls_identity.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <curl/curl.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// What node runs, with a key's and a certificate's file: it listens on a free port of 127.0.0.1, tells on its
// standard output what it sees, and ends with its standard input. Each stream is answered with its own
// number, and stays open. When a client resets one, all others are told so and ended.
constexpr const char* script = R"js(
const fs = require('fs');
const http2 = require('http2');

const say = (text) => process.stdout.write(text + '\n');
const [key, cert] = process.argv.slice(1).map((name) => fs.readFileSync(name));
const server = http2.createSecureServer({key, cert});
const open = new Set();

server.on('session', (session) => {
  say('session');
  session.on('close', () => say('session closed'));
  session.on('error', () => {});
});
server.on('stream', (stream) => {
  const id = stream.id;
  open.add(stream);
  stream.on('error', () => {});
  stream.on('close', () => {
    open.delete(stream);
    const reset = stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR;
    say(`stream ${id} ${reset ? 'reset' : 'ended'}`);
    if (reset) open.forEach((other) => other.end(' and last'));
  });
  stream.on('data', () => {});
  stream.on('end', () => {
    stream.respond({':status': 200, 'content-type': 'text/event-stream'});
    stream.write(`stream ${id}`);
  });
});
server.listen(0, '127.0.0.1', () => say(`port ${server.address().port}`));
process.stdout.on('error', () => {});
process.stdin.on('end', () => process.exit(0)).resume();
)js";

// Runs it, and keeps what it says.
class Http2Server {
 public:
  explicit Http2Server(const TlsIdentity& identity) {
    std::array<int, 2> in{}, out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    std::array<std::string, 5> words = {"node", "-e", script, identity.key_file(),
                                        identity.certificate_file()};
    char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                               words[3].data(), words[4].data(), nullptr};
    if (::posix_spawnp(&process_, "node", &actions, nullptr, arguments, environ) != 0) process_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    input_ = in[1];
    output_ = out[0];
    while (!says("port ") || said_.back() != '\n')
      if (!read()) return;
    port_ = std::strtoul(said_.c_str() + said_.find("port ") + 5, nullptr, 10);
    ::fcntl(output_, F_SETFL, O_NONBLOCK);
  }
  ~Http2Server() {
    ::close(input_);  // which ends it
    ::close(output_);
    if (process_ > 0) ::waitpid(process_, nullptr, 0);
  }
  Http2Server(const Http2Server&) = delete;
  Http2Server& operator=(const Http2Server&) = delete;

  bool runs() const { return port_ != 0; }
  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_) + "/"; }

  // Whether it said so by now.
  bool says(std::string_view text) { return said_.find(text) != std::string::npos; }
  bool hears(std::string_view text) {
    while (read()) {
    }
    return says(text);
  }
  std::size_t count(std::string_view text) const {
    std::size_t times = 0;
    for (std::size_t at = said_.find(text); at != std::string::npos; at = said_.find(text, at + 1)) ++times;
    return times;
  }

 private:
  bool read() {
    std::array<char, 1000> buffer{};
    const auto bytes = ::read(output_, buffer.data(), buffer.size());
    if (bytes > 0) said_.append(buffer.data(), static_cast<std::size_t>(bytes));
    return bytes > 0;
  }

  pid_t process_ = -1;
  int input_ = -1, output_ = -1;
  unsigned long port_ = 0;
  std::string said_;
};

// Why the test cannot run here; empty when it can.
std::string missing() {
  const auto* const built = curl_version_info(CURLVERSION_NOW);
  if (!detail::net::speaks_http2(built->version_num, built->features))
    return "libcurl " + std::string(built->version) + " is not 8.15 or later with HTTP/2";
  return std::system("node --version >/dev/null 2>&1") == 0 ? "" : "node is not installed";
}

// True when the test cannot run here, which is a failure with the libcurl of scripts/newest-curl.
bool is_left_out() {
  const std::string why = missing();
  if (why.empty()) return false;
  if (std::getenv("AGENTCORE_NEWEST_CURL") != nullptr) FAIL(why);
  WARN("nothing was tested: " + why);
  return true;
}

Call ask(Runtime& runtime, const Http2Server& server, const TlsIdentity& identity) {
  auto request = request_to(server.url());
  request.ca_file = identity.certificate_file();
  return start(runtime, std::move(request));
}

}  // namespace

TEST_CASE("a stop on HTTP/2 resets its stream and keeps the connection", "[net][may_skip][G5][G6][A7]") {
  if (is_left_out()) return;
  const TlsIdentity identity;
  Http2Server server(identity);
  REQUIRE(server.runs());
  Runtime runtime;
  const auto begun = [](const Call& call) { return !call.heard->body.empty(); };

  const Call stopped = ask(runtime, server, identity);
  REQUIRE(drive(runtime, nullptr, [&] { return begun(stopped); }));
  const Call other = ask(runtime, server, identity);
  REQUIRE(drive(runtime, nullptr, [&] { return begun(other); }));
  CHECK(stopped.heard->body == "stream 1");
  CHECK(other.heard->body == "stream 3");

  CHECK(stopped.handle->cut());
  runtime.poll();
  CHECK(stopped.heard->end.code == Errc::cancelled);
  REQUIRE(drive(runtime, nullptr, [&] { return server.hears("stream 1 reset\n"); }));
  REQUIRE(drive(runtime, nullptr, [&] { return other.heard->ends == 1; }));
  CHECK(other.heard->end.code == Errc::none);
  CHECK(other.heard->body == "stream 3 and last");

  const Call next = ask(runtime, server, identity);
  REQUIRE(drive(runtime, nullptr, [&] { return begun(next); }));
  CHECK(next.heard->body == "stream 5");
  CHECK(server.count("session\n") == 1);
  CHECK_FALSE(server.hears("session closed"));
  next.handle->cut();
  REQUIRE(drive(runtime, nullptr, [&] { return server.hears("stream 5 reset\n"); }));
  CHECK(runtime.run_until_idle());
}

TEST_CASE("a stop before an HTTP/2 answer does not fail other streams of the connection",
          "[net][may_skip][G5][G6]") {
  if (is_left_out()) return;
  const TlsIdentity identity;
  Http2Server server(identity);
  REQUIRE(server.runs());
  Runtime runtime;
  // While the first connects, no other call waits for its connection: the second makes its own.
  const Call first = ask(runtime, server, identity);
  const Call second = ask(runtime, server, identity);
  runtime.poll();
  first.handle->cut();
  REQUIRE(drive(runtime, nullptr, [&] { return !second.heard->body.empty(); }));
  CHECK(first.heard->end.code == Errc::cancelled);
  // All at once on what the second left: stopped before any of them was answered.
  std::vector<Call> crowd;
  for (int i = 0; i < 20; ++i) crowd.push_back(ask(runtime, server, identity));
  runtime.poll();
  for (std::size_t i = 0; i < crowd.size(); i += 2) crowd[i].handle->cut();
  const auto goes_on = [](const Call& call) { return call.handle->is_cut() || !call.heard->body.empty(); };
  REQUIRE(drive(runtime, nullptr, [&] { return std::all_of(crowd.begin(), crowd.end(), goes_on); }));
  for (const Call& call : crowd) {
    const bool cut = call.handle->is_cut();
    CHECK(call.heard->ends >= (cut ? 1 : 0));
    CHECK(call.heard->end.code == (cut ? Errc::cancelled : Errc::none));
  }
  CHECK(server.count("session\n") <= 2);
}
