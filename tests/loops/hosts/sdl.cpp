#include "loops/host_loop.hpp"

#include <agentcore/adapters/sdl.hpp>

#include <cstdlib>
#include <utility>

namespace loops_test {

namespace {

class SdlHost final : public HostLoop {
 public:
  SdlHost() {
    if (SDL_Init(SDL_INIT_EVENTS | SDL_INIT_TIMER) != 0) std::abort();
    calls_ = SDL_RegisterEvents(1);
  }
  ~SdlHost() override {
    detach();
    close();
  }

  void attach(agentcore::Runtime& runtime) override {
    adapter_ = std::make_unique<agentcore::adapters::SdlLoop>(runtime);
  }
  agentcore::Result<void> try_attach(agentcore::Runtime& runtime) override {
    return keep(adapter_, agentcore::adapters::SdlLoop::make(runtime));
  }
  void detach() override { adapter_.reset(); }
  void turn() override {
    SDL_Event event;
    if (SDL_WaitEvent(&event) == 1) handle(event);
  }
  void look() override {
    SDL_Event event;
    if (SDL_PollEvent(&event) == 1) handle(event);
  }
  // The timers of SDL have a thread of their own.
  void call_after(std::chrono::milliseconds delay, std::function<void()> function) override {
    auto* const call = new Call{calls_, std::move(function)};
    if (delay.count() == 0)
      push(call);
    else
      SDL_AddTimer(
          static_cast<Uint32>(delay.count()), [](Uint32, void* data) { return push(data); }, call);
  }
  void close() override {
    if (!std::exchange(closed_, true)) SDL_Quit();
  }

 private:
  struct Call {
    Uint32 type;
    std::function<void()> function;
  };

  static Uint32 push(void* data) {
    SDL_Event event{};
    event.type = static_cast<Call*>(data)->type;
    event.user.data1 = data;
    if (SDL_PushEvent(&event) != 1) std::abort();
    return 0;
  }
  void handle(const SDL_Event& event) {
    if (event.type == calls_) {
      const std::unique_ptr<Call> call(static_cast<Call*>(event.user.data1));
      call->function();
    } else if (adapter_) {
      adapter_->handle(event);
    }
  }

  std::unique_ptr<agentcore::adapters::SdlLoop> adapter_;
  Uint32 calls_ = 0;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<HostLoop> make_host_loop() {
  return std::make_unique<SdlHost>();
}

}  // namespace loops_test
