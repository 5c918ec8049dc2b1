// AsioHost: the HostLoop of both kinds of Asio.
#pragma once

#include "loops/host_loop.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace loops_test {

template <typename Context, typename Timer, typename Adapter>
class AsioHost final : public HostLoop {
 public:
  void attach(agentcore::Runtime& runtime) override {
    adapter_ = std::make_unique<Adapter>(*context_, runtime);
  }
  agentcore::Result<void> try_attach(agentcore::Runtime& runtime) override {
    return keep(adapter_, Adapter::make(*context_, runtime));
  }
  void detach() override { adapter_.reset(); }
  void turn() override {
    context_->restart();
    context_->run_one();
  }
  void look() override {
    context_->restart();
    context_->poll_one();
  }
  void run() override {
    context_->restart();
    context_->run();
  }
  void call_after(std::chrono::milliseconds delay, std::function<void()> function) override {
    auto timer = std::make_shared<Timer>(*context_, delay);
    timer->async_wait([timer, function = std::move(function)](const auto& error) {
      if (!error) function();
    });
  }
  void close() override { context_.reset(); }

 private:
  std::optional<Context> context_{std::in_place};
  std::unique_ptr<Adapter> adapter_;
};

}  // namespace loops_test
