#include "loops/host_loop.hpp"

#include <agentcore/adapters/libevent.hpp>

#include <algorithm>
#include <utility>

namespace loops_test {

namespace {

class LibeventHost final : public HostLoop {
 public:
  ~LibeventHost() override {
    detach();
    close();
  }

  void attach(agentcore::Runtime& runtime) override {
    adapter_ = std::make_unique<agentcore::adapters::LibeventLoop>(base_, runtime);
  }
  agentcore::Result<void> try_attach(agentcore::Runtime& runtime) override {
    return keep(adapter_, agentcore::adapters::LibeventLoop::make(base_, runtime));
  }
  void detach() override { adapter_.reset(); }
  void turn() override { event_base_loop(base_, EVLOOP_ONCE); }
  void look() override { event_base_loop(base_, EVLOOP_NONBLOCK); }
  void run() override { event_base_dispatch(base_); }
  void call_after(std::chrono::milliseconds delay, std::function<void()> function) override {
    // Not 0: such events go on within one round of the loop, and nothing else is called.
    const auto microseconds =
        std::max<std::chrono::microseconds>(delay, std::chrono::microseconds(1)).count();
    const timeval when{.tv_sec = microseconds / 1'000'000, .tv_usec = microseconds % 1'000'000};
    const auto on_time = [](evutil_socket_t, short, void* data) {
      const std::unique_ptr<std::function<void()>> called(static_cast<std::function<void()>*>(data));
      (*called)();
    };
    event_base_once(base_, -1, EV_TIMEOUT, on_time, new std::function(std::move(function)), &when);
  }
  void close() override {
    if (base_ != nullptr) event_base_free(std::exchange(base_, nullptr));
  }

 private:
  event_base* base_ = event_base_new();
  std::unique_ptr<agentcore::adapters::LibeventLoop> adapter_;
};

}  // namespace

std::unique_ptr<HostLoop> make_host_loop() {
  return std::make_unique<LibeventHost>();
}

}  // namespace loops_test
