// ReplayTransport: answers requests from a recording, on the engine's clock.
#pragma once

#include "loop/engine.hpp"
#include "net/stop_queue.hpp"
#include "net/transport.hpp"

#include <agentcore/http_recording.hpp>

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

namespace agentcore::detail::llm {

// One per client, which has its own list of used exchanges. A replayed answer waits for one timer at a time,
// so a poll delivers at most one piece of each. Everything but time-outs is as in a real transfer. Owned by
// the engine, and destroyed when none of its functions is running: then the handlers are destroyed without a
// call. @loop_thread
class ReplayTransport final : public net::Transport, public loop::Source {
 public:
  static std::weak_ptr<ReplayTransport> make(loop::Engine& engine, std::shared_ptr<const HttpReplay> replay);

  ReplayTransport(loop::Engine& engine, std::shared_ptr<const HttpReplay> replay);
  ~ReplayTransport() override;
  ReplayTransport(const ReplayTransport&) = delete;
  ReplayTransport& operator=(const ReplayTransport&) = delete;

  std::shared_ptr<net::CallHandle> make_handle() override;
  void start(net::HttpRequest request, std::shared_ptr<net::CallHandle> handle,
             std::unique_ptr<net::HttpHandler> handler) override;
  std::size_t open() const noexcept override { return open_.size(); }

  void run_control(loop::PollBudget& budget) override;
  void run_round(loop::PollBudget&) override {}
  bool has_work() const noexcept override { return !stops_->empty(); }
  bool has_pending() const noexcept override { return !open_.empty(); }

 private:
  struct Playing;

  const HttpExchange* find(const net::HttpRequest& request, net::HttpEnd& refusal);
  void plan(Playing& playing);
  void step(const net::CallHandle* handle);
  template <typename Deliver>
  bool deliver(Playing& playing, Deliver&& deliver);
  bool deliver_head(Playing& playing);
  bool deliver_piece(Playing& playing);
  void end(const net::CallHandle* handle, net::HttpEnd how);

  loop::Engine& engine_;
  const std::shared_ptr<const HttpReplay> replay_;
  const std::shared_ptr<net::StopQueue> stops_;
  std::vector<bool> used_;  // of the recording's exchanges
  std::unordered_map<const net::CallHandle*, std::unique_ptr<Playing>> open_;
};

}  // namespace agentcore::detail::llm
