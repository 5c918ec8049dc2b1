// ChatRecord: the deliveries of one model call to its caller.
#pragma once

#include "support/checked.hpp"
#include "support/observe/host_code.hpp"

#include <agentcore/llm_client.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::test {

struct ChatRecord {
  // Expires with its record, and stays in an assignment: what a call delivers after its record is gone,
  // because the test has failed, is ignored.
  class Life {
   public:
    Life() = default;
    Life(const Life&) {}
    Life& operator=(const Life&) { return *this; }
    std::weak_ptr<const bool> watch() const { return lives_; }

   private:
    std::shared_ptr<const bool> lives_ = std::make_shared<const bool>(true);
  };

  Life life;
  Checked<std::string> deltas;
  std::string reasoning;
  Checked<ChatOutcome> outcomes;  // more than one would be a fault

  std::string text() const {
    std::string all;
    for (const auto& delta : deltas) all += delta;
    return all;
  }
  bool ended() const { return !outcomes.empty(); }
  bool ended_as(ChatOutcome::Kind kind) const { return outcomes.size() == 1 && outcomes[0].kind == kind; }
  bool completed() const { return ended_as(ChatOutcome::Kind::completed); }
  bool cancelled() const { return ended_as(ChatOutcome::Kind::cancelled); }
  bool failed_with(Errc code) const {
    return ended_as(ChatOutcome::Kind::failed) && outcomes[0].error.code == code;
  }
  const ChatError& error() const { return outcomes.at(0).error; }

  // A sink that fills this. `then` runs after each recorded delta or piece of reasoning.
  ChatSink sink(std::function<void()> then = {}) {
    return ChatSink(std::make_unique<Writer>(*this, std::move(then)));
  }

 private:
  class Writer final : public ChatSink::Receiver {
   public:
    Writer(ChatRecord& record, std::function<void()> then)
        : record_(record), life_(record.life.watch()), then_(std::move(then)) {}
    void on_delta(std::string_view text) override {
      if (life_.expired()) return;
      const HostCode host;
      record_.deltas.emplace_back(text);
      if (then_) then_();
    }
    void on_reasoning(std::string_view text) override {
      if (life_.expired()) return;
      const HostCode host;
      record_.reasoning += text;
      if (then_) then_();
    }
    void on_outcome(ChatOutcome outcome) override {
      const HostCode host;
      if (!life_.expired()) record_.outcomes.push_back(std::move(outcome));
    }

   private:
    ChatRecord& record_;
    const std::weak_ptr<const bool> life_;
    const std::function<void()> then_;
  };
};

inline ChatRequest ask(std::string agent_id, std::string question = "hello") {
  ChatRequest request;
  request.agent_id = std::move(agent_id);
  request.messages.push_back(ChatMessage::user(std::move(question)));
  return request;
}

}  // namespace agentcore::test
