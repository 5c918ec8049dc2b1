// The phases of a model call in which a stop may come, and the servers that hold a call there.
#pragma once

#include "support/drive/llm_fixture.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace agentcore::test {

enum class Phase {
  resolving,
  connecting,
  tls,
  upload,
  silence,
  stream,
  drip,
  back_off,
  queue,
};

inline std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::resolving:
      return "a resolver that never answers";
    case Phase::connecting:
      return "a SYN without an answer";
    case Phase::tls:
      return "a TLS peer that stalls";
    case Phase::upload:
      return "a request that is half sent";
    case Phase::silence:
      return "the silence before the head";
    case Phase::stream:
      return "a silence in the stream";
    case Phase::drip:
      return "a stream that drips";
    case Phase::back_off:
      return "a back-off";
    default:
      return "the queue for a slot";
  }
}

inline constexpr std::size_t long_question = 32 << 20;  // more than the kernel takes

inline const std::string busy =
    http_answer("503 Service Unavailable", "application/json", R"({"error":{"message":"busy"}})");
inline const std::string good = http_answer("200 OK", "text/event-stream",
                                            delta_event("hello") + finish_event + usage_event + done_event);

inline void answer_every_request(Peer& peer) {
  while (!peer.read_request().empty()) peer.write(good);
}

// The server of the route under test. In a back-off it is well again by the second request.
inline void serve(Phase phase, Peer& peer) {
  if (phase == Phase::tls || phase == Phase::upload) {
    peer.read_piece();  // the client's hello, or the beginning of its request
    if (peer.wait_step()) peer.wait_close();
    return;
  }
  if (peer.read_request().empty()) return;
  if (phase == Phase::back_off) {
    peer.write(busy);
    return answer_every_request(peer);
  }
  if (phase != Phase::silence) peer.write(std::string(stream_head) + delta_event("x"));
  while (phase == Phase::drip && peer.wait_step() && peer.write(delta_event("x"))) {
  }
  peer.wait_close();
}

// The server of the agents that share the slots, and nothing else. A request with "hold" waits for a step.
inline void serve_others(Peer& peer) {
  for (std::string request = peer.read_request(); !request.empty(); request = peer.read_request()) {
    if (request.find("hold") != std::string::npos && !peer.wait_step()) return;
    peer.write(good);
  }
}

}  // namespace agentcore::test
