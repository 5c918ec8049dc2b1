// Drive agentcore from SDL 2, in a program that sleeps until something happens. Without a screen:
// SDL_VIDEODRIVER=dummy.
#include <agentcore/adapters/sdl.hpp>
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstdio>

#include <SDL.h>

namespace {

// An answer that goes on, one word each 5 ms.
agentcore::testing::ScriptedReply long_answer(const agentcore::ChatRequest&) {
  agentcore::testing::ScriptedReply reply;
  reply.deltas.assign(10'000, "word ");
  reply.interval = std::chrono::milliseconds(5);
  return reply;
}

}  // namespace

int main(int, char**) {
  if (SDL_Init(SDL_INIT_VIDEO) != 0) return 1;
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::adapters::SdlLoop attached{runtime};  // pushes an event when there is work
  agentcore::testing::ScriptedClient llm{runtime, long_answer};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  agentcore::Agent agent = tree.create().value();
  if (!agent.send("Tell me everything.")) return 1;
  bool stopped = false;
  auto settled = agent.on<agentcore::Settled>([&](const agentcore::Settled&) {
    stopped = true;
    SDL_Event quit{};
    quit.type = SDL_QUIT;
    SDL_PushEvent(&quit);
  });

  int words = 0;
  auto deltas = agent.on<agentcore::DeltaReceived>([&](const agentcore::DeltaReceived&) {
    if (++words != 5) return;
    SDL_Event key{};  // in place of a person
    key.type = SDL_KEYDOWN;
    key.key.keysym.sym = SDLK_ESCAPE;
    SDL_PushEvent(&key);
  });

  // [snippet: loop]
  for (SDL_Event event; SDL_WaitEvent(&event) == 1 && event.type != SDL_QUIT;) {
    if (attached.handle(event)) continue;  // it drove the agents
    if (event.type == SDL_KEYDOWN && event.key.keysym.sym == SDLK_ESCAPE) static_cast<void>(agent.stop());
  }
  // [/snippet]
  SDL_Quit();
  std::printf("%s\n", stopped ? "stopped" : "not stopped");
  return stopped ? 0 : 1;
}
