// FakePause: a PauseToken that a test switches.
#pragma once

#include <agentcore/pause_token.hpp>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace agentcore::test {

class FakePause final : public PauseToken::Source {
 public:
  bool is_paused() const noexcept override { return paused_; }
  std::shared_ptr<void> on_change(std::function<void()> callback) override {
    auto added = std::make_shared<std::function<void()>>(std::move(callback));
    callbacks_.push_back(added);
    return added;
  }
  void set_waiting(bool waiting) noexcept override { waits = waiting; }

  // Without `notify` as a pause of another thread that the loop has not read.
  void set(bool paused, bool notify = true) {
    paused_ = paused;
    if (!notify) return;
    const auto callbacks = callbacks_;
    for (const auto& entry : callbacks)
      if (const auto callback = entry.lock()) (*callback)();
  }

  bool waits = false;  // the call waits for the end of the pause

 private:
  bool paused_ = false;
  std::vector<std::weak_ptr<std::function<void()>>> callbacks_;
};

}  // namespace agentcore::test
