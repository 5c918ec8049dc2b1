#include "loops/host_loop.hpp"

#include <agentcore/adapters/game_loop.hpp>

#include <deque>
#include <utility>

namespace loops_test {

namespace {

// A game that never sleeps: a turn is a frame.
class Game final : public HostLoop {
 public:
  void attach(agentcore::Runtime& runtime) override {
    adapter_ = std::make_unique<agentcore::adapters::GameLoop>(runtime);
  }
  agentcore::Result<void> try_attach(agentcore::Runtime& runtime) override {
    return keep(adapter_, agentcore::adapters::GameLoop::make(runtime));
  }
  void detach() override { adapter_.reset(); }
  void turn() override {
    if (adapter_) adapter_->begin_frame();
    for (auto left = calls_.size(); left > 0; --left) {
      Call call = std::move(calls_.front());
      calls_.pop_front();
      if (call.when <= std::chrono::steady_clock::now())
        call.function();
      else
        calls_.push_back(std::move(call));
    }
    if (adapter_) adapter_->poll();
  }
  void look() override { turn(); }
  void call_after(std::chrono::milliseconds delay, std::function<void()> function) override {
    calls_.push_back({std::chrono::steady_clock::now() + delay, std::move(function)});
  }
  void close() override { calls_.clear(); }

 private:
  struct Call {
    std::chrono::steady_clock::time_point when;
    std::function<void()> function;
  };

  std::deque<Call> calls_;
  std::unique_ptr<agentcore::adapters::GameLoop> adapter_;
};

}  // namespace

std::unique_ptr<HostLoop> make_host_loop() {
  return std::make_unique<Game>();
}

}  // namespace loops_test
