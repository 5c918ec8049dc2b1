// After a client was destroyed, its key is nowhere in the memory of the process.
#include "core/wipe.hpp"
#include "support/catch.hpp"
#include "support/drive/llm_fixture.hpp"
#include "support/observe/memory_scan.hpp"
#include "support/observe/recorder_lines.hpp"
#include "support/sanitized.hpp"

#include <agentcore/http_llm_client.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include <curl/curl.h>
#include <malloc.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace agentcore;
using namespace agentcore::test;

#ifndef SANITIZED
namespace {

enum class From : char { host = 'h', callback = 'c', environment = 'e' };

// `before` and the key. Made so that it leaves no copy behind.
std::string with_key(std::string_view before, const Masked& mask) {
  std::string key = mask.reveal(), text;
  text.reserve(before.size() + key.size());
  text.append(before).append(key);
  detail::core::wipe(key);
  return text;
}

// The key as a host's environment holds it, for as long as this lives.
class InEnvironment {
 public:
  static constexpr const char* name = "AGENTCORE_MEMORY_TEST_KEY";

  explicit InEnvironment(const Masked& mask) : entry_(with_key(std::string(name) + "=", mask)) {
    ::putenv(entry_.data());  // is part of the environment now, not a copy
  }
  ~InEnvironment() {
    ::unsetenv(name);
    detail::core::wipe(entry_);
  }
  InEnvironment(const InEnvironment&) = delete;
  InEnvironment& operator=(const InEnvironment&) = delete;

 private:
  std::string entry_;
};

// Overwrites the part of the stack that functions used which have returned: libcurl 7.88 leaves pieces of a
// request there, and this library has no buffer on the stack.
[[gnu::noinline]] void overwrite_unused_stack() {
  std::array<char, 256 * 1024> unused;
  detail::core::wipe(unused.data(), unused.size());
}

// One call of a client that holds the key, which this process holds nowhere else: it is made from its mask at
// run time. `stops`: at the first word.
void use_client(const Masked& mask, std::string base_url, std::shared_ptr<const HttpReplay> replay, From from,
                bool stops = false) {
  Runtime runtime;
  HttpLlmOptions options;
  options.base_url = std::move(base_url);
  options.model = "m";
  options.proxy = "none";
  options.replay = std::move(replay);
  std::optional<InEnvironment> environment;
  if (from == From::host) options.api_key = mask.reveal();
  if (from == From::callback) options.api_key_source = [&mask] { return mask.reveal(); };
  if (from == From::environment) {
    environment.emplace(mask);
    options.api_key_env = InEnvironment::name;
  }
  options.headers.push_back(with_key("X-Api-Key: ", mask));
  RecorderLines lines;
  options.recorder = lines.recorder();
  ChatRecord heard;
  StopSource stop;
  HttpLlmClient llm(runtime, std::move(options));
  // The redactor has it, and so do the headers of all requests and, unless it is asked for, the client
  // itself; and registers that were saved may still lie on the stack.
  const std::size_t held = count_in_memory(mask);
  CHECK(held > 0);  // else the scan would prove nothing
  CHECK(held <= 3U + (from != From::callback) + (from == From::environment));
  llm.chat(ask("a"), stop.get_token(), heard.sink([&] {
    if (stops) stop.request_stop();
  }));
  REQUIRE(runtime.run_until_idle());
  REQUIRE(heard.ended());
  CHECK(heard.cancelled() == stops);
}

From any_source() {
  return GENERATE(From::host, From::callback, From::environment);
}

}  // namespace

TEST_CASE("no key is in memory after its client was destroyed", "[llm][secrets]") {
  const From from = any_source();
  const Masked mask("sk-memory-", 48);
  REQUIRE(count_in_memory(mask) == 0);
  SECTION("after a replay") {
    HttpExchange exchange;
    exchange.url = "http://h/v1/chat/completions";
    exchange.status = 500;
    use_client(mask, "http://h/v1", std::make_shared<HttpReplay>(std::vector{exchange}), from);
  }
  SECTION("after a transfer that found no server") {
    std::string url;
    {
      const SocketServer gone([](Peer&) {});
      url = gone.url();
    }
    use_client(mask, url, nullptr, from);
  }
  CHECK(count_in_memory(mask) == 0);
}

namespace {

// An allocator for libcurl that wipes what it takes back.
namespace wiping {

void give_back(void* memory) {
  if (memory != nullptr) detail::core::wipe(static_cast<char*>(memory), malloc_usable_size(memory));
  std::free(memory);
}
void* other_size(void* memory, std::size_t size) {
  void* const other = std::malloc(size);
  if (memory == nullptr || other == nullptr) return other;
  std::memcpy(other, memory, std::min(size, malloc_usable_size(memory)));
  give_back(memory);
  return other;
}

}  // namespace wiping

constexpr const char* url_variable = "AGENTCORE_MEMORY_TEST_URL";
constexpr const char* how_variable = "AGENTCORE_MEMORY_TEST_HOW";

// This executable again, with one of its hidden tests. Its exit status.
int run_self(const char* test) {
  std::string program = "/proc/self/exe", wanted = test;
  std::array<char*, 3> arguments{program.data(), wanted.data(), nullptr};
  pid_t child = 0;
  if (::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) return -1;
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

// The part of the next test that runs in a process of its own, in which libcurl was not used before.
TEST_CASE("a process that asks a server with a key", "[.key-holder]") {
  const char* const url = std::getenv(url_variable);
  const char* const how = std::getenv(how_variable);
  REQUIRE(url != nullptr);
  REQUIRE(how != nullptr);
  REQUIRE(curl_global_init_mem(CURL_GLOBAL_DEFAULT, std::malloc, wiping::give_back, wiping::other_size,
                               ::strdup, std::calloc) == CURLE_OK);
  const Masked mask("sk-memory-", 48);
  REQUIRE(count_in_memory(mask) == 0);
  use_client(mask, url, nullptr, static_cast<From>(how[0]), how[1] == 's');
  overwrite_unused_stack();
  CHECK(count_in_memory(mask) == 0);
}

// libcurl copies the headers of a request and frees them as they are; those copies are the documented limit.
// So it is given an allocator that wipes them, the unused stack is overwritten, and what is left would be
// ours: every copy in a string, a list or a buffer of this library, freed or not.
TEST_CASE("no key is in memory after a call over a socket except what libcurl left", "[llm][secrets]") {
  const bool stops = GENERATE(false, true);
  const From from = any_source();
  std::atomic<bool> had_key{false};
  SocketServer server([&](Peer& peer) {
    had_key = peer.read_request().find("Authorization: Bearer sk-memory-") != std::string::npos;
    peer.write(std::string(stream_head) + delta_event("x"));
    if (stops) return peer.wait_close();
    peer.write(finish_event + usage_event + done_event);
  });
  ::setenv(url_variable, server.url().c_str(), 1);
  ::setenv(how_variable, std::string{static_cast<char>(from), stops ? 's' : 'c'}.c_str(), 1);
  CHECK(run_self("[.key-holder]") == 0);
  CHECK(had_key);
  ::unsetenv(url_variable);
  ::unsetenv(how_variable);
}
#endif
