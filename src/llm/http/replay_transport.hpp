// ReplayTransport: answers requests out of a recording, on the engine's clock.
#pragma once

#include "loop/engine.hpp"
#include "net/cut_queue.hpp"
#include "net/transport.hpp"

#include <agentcore/http_recording.hpp>

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

namespace agentcore::llm {

// One per client: which exchanges were used already is the client's. A replayed answer waits for one timer at
// a time, so a poll gives each at most one piece. Everything but time-outs is as in a real transfer. Owned by
// the engine, and destroyed with no call on the stack: then the handlers go without a call. @loop_thread
class ReplayTransport final : public net::Transport, public loop::Source {
 public:
  static std::weak_ptr<ReplayTransport> make(loop::Engine& engine, std::shared_ptr<const HttpReplay> replay);

  ReplayTransport(loop::Engine& engine, std::shared_ptr<const HttpReplay> replay);
  ~ReplayTransport() override;
  ReplayTransport(const ReplayTransport&) = delete;
  ReplayTransport& operator=(const ReplayTransport&) = delete;

  std::shared_ptr<net::Cut> make_cut() override;
  void start(net::HttpRequest request, std::shared_ptr<net::Cut> cut,
             std::unique_ptr<net::HttpHandler> handler) override;
  std::size_t open() const noexcept override { return open_.size(); }

  void run_control(loop::Budget& budget) override;
  void run_round(loop::Budget&) override {}
  bool has_work() const noexcept override { return !cuts_->empty(); }
  bool has_pending() const noexcept override { return !open_.empty(); }

 private:
  struct Playing;

  const HttpExchange* find(const net::HttpRequest& request);
  void plan(Playing& playing);
  void step(const net::Cut* cut);
  bool give_head(Playing& playing);
  bool give_piece(Playing& playing);
  void end(const net::Cut* cut, net::HttpEnd how);

  loop::Engine& engine_;
  const std::shared_ptr<const HttpReplay> replay_;
  const std::shared_ptr<net::CutQueue> cuts_;
  std::vector<bool> used_;  // of the recording's exchanges
  std::unordered_map<const net::Cut*, std::unique_ptr<Playing>> open_;
};

}  // namespace agentcore::llm
