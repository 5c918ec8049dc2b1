// What only SdlLoop does: it has a thread that pushes events.
#include "loops/driven.hpp"
#include "support/catch.hpp"

#include <agentcore/adapters/sdl.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <signal.h>
#include <unistd.h>

using namespace agentcore;
using namespace loops_test;
using adapters::SdlLoop;

namespace {

template <typename Done>
void handle_until(SdlLoop& attached, Done&& done) {
  for (SDL_Event event; !done();)
    if (SDL_WaitEvent(&event) == 1) attached.handle(event);
}

// The ids of the threads of this process.
std::set<std::string> threads() {
  std::set<std::string> ids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    ids.insert(entry.path().filename().string());
  return ids;
}

bool blocks(const std::string& thread, int signal) {
  std::ifstream status("/proc/self/task/" + thread + "/status");
  for (std::string word; status >> word;)
    if (word == "SigBlk:") {
      status >> word;
      return (std::stoull(word, nullptr, 16) >> static_cast<unsigned>(signal - 1) & 1U) != 0;
    }
  return false;
}

}  // namespace

TEST_CASE("handle() leaves the events of the host and of another adapter to them", "[loops][sdl]") {
  Driven driven;
  Runtime other;
  SdlLoop attached(other);
  int called = 0;
  other.post([&] { ++called; });
  SDL_Event event{};
  event.type = SDL_KEYDOWN;
  CHECK_FALSE(attached.handle(event));
  event.type = SdlLoop::event_type();
  event.user.data1 = &driven;
  CHECK_FALSE(attached.handle(event));
  CHECK(called == 0);
  handle_until(attached, [&] { return called == 1; });
  CHECK(called == 1);
}

TEST_CASE("an event that SDL refuses is pushed again", "[loops][sdl]") {
  Driven driven;
  std::atomic<int> refused = 0;
  const auto refuse = [](void* count, SDL_Event* event) {
    return event->type == SdlLoop::event_type() && ++*static_cast<std::atomic<int>*>(count) <= 2 ? 0 : 1;
  };
  SDL_SetEventFilter(refuse, &refused);
  bool called = false;
  driven.runtime->post([&] { called = true; });
  driven.turn_until([&] { return called; });
  SDL_SetEventFilter(nullptr, nullptr);
  CHECK(refused == 3);
}

TEST_CASE("the thread of the adapter takes no signal of the host", "[loops][sdl]") {
  const Driven driven;  // SDL starts its own threads
  Runtime other;
  const std::set<std::string> before = threads();
  SdlLoop attached(other);
  bool called = false;
  other.post([&] { called = true; });
  handle_until(attached, [&] { return called; });  // so that the thread has started
  int added = 0;
  for (const std::string& thread : threads()) {
    if (before.contains(thread)) continue;
    ++added;
    for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGALRM}) CHECK(blocks(thread, signal));
  }
  CHECK(added == 1);
  CHECK_FALSE(blocks(std::to_string(::getpid()), SIGUSR1));
}
