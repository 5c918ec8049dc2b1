// HttpModels: what agents call when their models are behind HTTP: real clients, and a real router, over a
// SimTransport with a ModelServer for each request.
#pragma once

#include "sim/command.hpp"
#include "sim/model_server.hpp"
#include "sim/sim_transport.hpp"
#include "sim/wire_transport.hpp"

#include <agentcore/http.hpp>
#include <agentcore/runtime.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace agentcore::sim {

// How many values Knob::models has: none, a client of each provider, and routers.
std::uint32_t model_choices();
// The first of them that is a router.
std::uint32_t first_router();

// A request that is sent.
struct Sent {
  std::uint64_t id = 0;
  std::string agent;
  std::string provider;
  std::string path;
  const std::string& body;
};

// A transfer that has ended.
struct Ended {
  std::uint64_t id = 0;
  const detail::net::HttpEnd& end;
  Usage counted = {};    // of the answer, if the server has ended one
  bool arrived = false;  // all of that answer
};

class HttpModels {
 public:
  struct Host {
    std::function<void()> on_key;  // HttpLlmOptions::api_key_source
    std::function<void(const RetryNotice&)> on_retry;
    std::function<void(const std::string& agent)> on_begun;  // a client begins a request
    std::function<void(const Sent&)> on_sent;                // it goes out
    std::function<void(const Ended&)> on_end;
    std::function<bool(bool begins)> fails;  // SimTransport::fails
  };

  // Knob::models of `setup` is not 0.
  HttpModels(Runtime& runtime, const Clock& clock, const Setup& setup, Host host);
  ~HttpModels();
  HttpModels(const HttpModels&) = delete;
  HttpModels& operator=(const HttpModels&) = delete;

  // The client for agents. With some choices of Knob::models there is a second router, which shares the slots
  // of the first one.
  LlmClient& client(std::uint32_t n = 0) noexcept;
  const LlmRouter* router() const noexcept { return routers_.empty() ? nullptr : routers_.front().get(); }
  std::size_t open_calls() const noexcept;  // of the routers

  // The n-th of the exchanges that are not cut; null: there is none.
  SimTransfer* exchange(std::uint32_t n) const;
  ModelServer& server(const SimTransfer& transfer) { return servers_.at(transfer.id); }
  static std::string agent_of(const SimTransfer& transfer);
  void flow(SimTransfer& transfer, std::uint32_t how) { server(transfer).flow(*transport_, transfer, how); }
  const ServedTransport& transport() const noexcept { return *transport_; }
  WireTransport* wire() const noexcept { return wire_.get(); }  // null: without sockets
  // All servers answer, and say all that waits.
  void answer_all();

 private:
  void add_client(const Provider& provider);
  void add_routers(Runtime& runtime, const Setup& setup, std::uint32_t kind);
  void on_launch(SimTransfer& transfer);

  Runtime& runtime_;
  const Clock& clock_;
  Host host_;
  const bool connects_at_once_;  // Knob::real
  std::shared_ptr<WireTransport> wire_;
  std::shared_ptr<ServedTransport> transport_;
  std::map<std::uint64_t, ModelServer> servers_;
  std::vector<const Provider*> rows_;  // of the clients
  std::vector<std::unique_ptr<LlmClient>> clients_;
  std::vector<std::unique_ptr<LlmRouter>> routers_;
};

}  // namespace agentcore::sim
