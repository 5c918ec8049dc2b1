// HeldClient: a model whose calls do what the test says, when it says so.
#pragma once

#include <agentcore/history.hpp>
#include <agentcore/llm_client.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stop_test {

// Its stop callback only records, as one may that runs on any thread; the cancelled outcome comes with
// cancel_stopped(). All @loop_thread but abort() and has_active_request(), which the tree does not need here.
class HeldClient final : public agentcore::LlmClient {
 public:
  std::function<void()> on_chat;  // inside chat(), once the call is open
  std::function<void()> on_stop;  // inside the stop callback, on the stopping thread

  HeldClient() = default;
  ~HeldClient() override {
    while (!calls_.empty()) finish(calls_.begin()->first, agentcore::ChatOutcome::cancelled());
  }
  HeldClient(const HeldClient&) = delete;
  HeldClient& operator=(const HeldClient&) = delete;

  void chat(agentcore::ChatRequest request, agentcore::StopToken stop, agentcore::ChatSink sink) override {
    valid_ = valid_ && agentcore::is_valid_history(request.messages);
    const auto call = std::make_shared<Call>();
    call->agent = std::move(request.agent_id);
    call->sink = std::move(sink);
    calls_.emplace(next_++, call);
    call->on_stop.emplace(std::move(stop), Record{this, call.get()});
    if (on_chat) on_chat();
  }
  bool abort(std::string_view) override { return false; }
  bool has_active_request(std::string_view) const override { return false; }

  std::size_t open() const noexcept { return calls_.size(); }
  std::size_t started() const noexcept { return next_; }
  bool histories_were_valid() const noexcept { return valid_; }
  std::vector<std::size_t> calls() const {
    std::vector<std::size_t> numbers;
    for (const auto& [number, call] : calls_) numbers.push_back(number);
    return numbers;
  }
  bool is_stopped(std::size_t number) const {
    const auto call = find(number);
    return call && call->stopped;
  }

  void delta(std::size_t number, std::string_view text) {
    if (const auto call = find(number)) call->sink.delta(text);
  }
  void finish(std::size_t number, agentcore::ChatOutcome outcome) {
    const auto call = find(number);
    if (!call) return;
    calls_.erase(number);
    call->on_stop.reset();
    call->sink.finish(std::move(outcome));
  }
  void answer(std::size_t number) {
    finish(number, agentcore::ChatOutcome::completed(agentcore::FinishReason::complete));
  }
  // What an attentive client does: the calls that were stopped end.
  void cancel_stopped() {
    for (const std::size_t number : calls())
      if (is_stopped(number)) finish(number, agentcore::ChatOutcome::cancelled());
  }
  void answer_all() {
    for (const std::size_t number : calls()) answer(number);
  }

 private:
  struct Call;
  struct Record {
    HeldClient* client;
    Call* call;
    void operator()() const {
      call->stopped = true;
      if (client->on_stop) client->on_stop();
    }
  };
  struct Call {
    std::string agent;
    agentcore::ChatSink sink;
    std::atomic<bool> stopped{false};
    std::optional<std::stop_callback<Record>> on_stop;
  };

  std::shared_ptr<Call> find(std::size_t number) const {
    const auto found = calls_.find(number);
    return found == calls_.end() ? nullptr : found->second;
  }

  std::map<std::size_t, std::shared_ptr<Call>> calls_;
  std::size_t next_ = 0;
  bool valid_ = true;
};

}  // namespace stop_test
