#include "loops/host_loop.hpp"

#include <agentcore/adapters/libuv.hpp>

#include <cstdlib>
#include <utility>

#include <uv.h>

namespace loops_test {

namespace {

// Frees itself.
struct Call {
  union {
    uv_handle_t handle;
    uv_timer_t timer;
    uv_idle_t idle;
  };
  std::function<void()> function;
};

void close_call(uv_handle_t* handle) {
  uv_close(handle, [](uv_handle_t* closed) { delete static_cast<Call*>(closed->data); });
}

template <typename Handle>
void call(Handle* handle) {
  const auto function = std::move(static_cast<Call*>(handle->data)->function);
  close_call(reinterpret_cast<uv_handle_t*>(handle));
  function();
}

class LibuvHost final : public HostLoop {
 public:
  LibuvHost() { uv_loop_init(&loop_); }
  ~LibuvHost() override {
    detach();
    close();
  }

  void attach(agentcore::Runtime& runtime) override {
    adapter_ = std::make_unique<agentcore::adapters::LibuvLoop>(&loop_, runtime);
  }
  agentcore::Result<void> try_attach(agentcore::Runtime& runtime) override {
    return keep(adapter_, agentcore::adapters::LibuvLoop::make(&loop_, runtime));
  }
  void detach() override { adapter_.reset(); }
  void turn() override { uv_run(&loop_, UV_RUN_ONCE); }
  void look() override { uv_run(&loop_, UV_RUN_NOWAIT); }
  void run() override { uv_run(&loop_, UV_RUN_DEFAULT); }
  void call_after(std::chrono::milliseconds delay, std::function<void()> function) override {
    auto* const later = new Call{.handle = {}, .function = std::move(function)};
    // Not a timer of 0: it goes on within one iteration of the loop, and nothing else is called.
    if (delay.count() == 0) {
      uv_idle_init(&loop_, &later->idle);
      uv_idle_start(&later->idle, call<uv_idle_t>);
    } else {
      uv_timer_init(&loop_, &later->timer);
      uv_timer_start(&later->timer, call<uv_timer_t>, static_cast<std::uint64_t>(delay.count()), 0);
    }
    later->handle.data = later;
  }
  // Also a handle of the adapter is closed here.
  void close() override {
    if (std::exchange(closed_, true)) return;
    const auto close_handle = [](uv_handle_t* handle, void*) {
      if (uv_is_closing(handle) != 0) return;
      if (handle->type == UV_TIMER || handle->type == UV_IDLE)
        close_call(handle);
      else
        uv_close(handle, nullptr);
    };
    uv_walk(&loop_, close_handle, nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    if (uv_loop_close(&loop_) != 0) std::abort();
  }

 private:
  uv_loop_t loop_{};
  std::unique_ptr<agentcore::adapters::LibuvLoop> adapter_;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<HostLoop> make_host_loop() {
  return std::make_unique<LibuvHost>();
}

}  // namespace loops_test
