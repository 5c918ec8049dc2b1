#include "support/wire/hanging_resolver.hpp"

#include <condition_variable>
#include <mutex>
#include <string_view>

#include <dlfcn.h>
#include <netdb.h>

namespace {

struct State {
  std::mutex mutex;
  std::condition_variable change;
  bool hangs = false;
  int inside = 0;
};

State& state() {
  static State only;
  return only;
}

// Leaves with its thread, when libcurl has cleaned up after it.
struct Visit {
  Visit() {
    ++state().inside;
    state().change.notify_all();
  }
  ~Visit() {
    const std::lock_guard lock(state().mutex);
    --state().inside;
    state().change.notify_all();
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
};

// True when the name is the one that hangs; returns when it may go on.
bool hang(const char* node) {
  if (node == nullptr || std::string_view(node) != "hangs.test") return false;
  std::unique_lock lock(state().mutex);
  thread_local const Visit visit;
  state().change.wait(lock, [] { return !state().hangs; });
  return true;
}

}  // namespace

// The executable's function comes before the C library's, for libcurl as well.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  if (hang(node)) return EAI_NONAME;
  using Function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(node, service, hints, found);
}

namespace agentcore::test {

HangingResolver::HangingResolver() {
  const std::lock_guard lock(state().mutex);
  state().hangs = true;
}

HangingResolver::~HangingResolver() {
  release();
}

void HangingResolver::wait_for(int threads) {
  std::unique_lock lock(state().mutex);
  state().change.wait(lock, [threads] { return state().inside >= threads; });
}

void HangingResolver::release() {
  std::unique_lock lock(state().mutex);
  state().hangs = false;
  state().change.notify_all();
  state().change.wait(lock, [] { return state().inside == 0; });
}

}  // namespace agentcore::test
