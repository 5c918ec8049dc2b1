// ConsoleClient: a person's program at the other end of a console's connection. It sends requests in pieces,
// one after the other, and reads their answers.
#pragma once

#include "sim/network.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::sim {

// What a request does: the verbs that the rules know are told apart, all others change nothing for them.
enum class Request : std::uint8_t {
  send,
  steer,
  stop,
  stop_at_once,     // wait=gate
  stop_to_the_end,  // wait=settled
  stop_later,       // after_step
  terminate,
  resume,
  pause,
  unpause,
  interrupt,
  abort,
  release,
  create,
  task,
  stop_all,
  resume_all,
  pause_all,
  unpause_all,
  show_agents,
  show_agent,
  show_conversation,
  not_json,
  no_such_route,
  last
};

struct Asked {
  Request request = Request::show_agents;
  std::string agent;               // its id; empty: the tree
  bool is_complete = false;        // all of it was sent
  std::uint64_t verbs_before = 0;  // how many commands there were when it was complete
};

struct Answered {
  Asked asked;
  int status = 0;  // 0: the connection ended without an answer
  std::string body;
  bool was_warned = false;  // an earlier answer said that the connection would end
};

class ConsoleClient {
 public:
  // Sends the first `bytes` of the request, after what is still to be sent. Connects if need be. False:
  // nobody listens, or too many requests have no answer.
  bool ask(SimNetwork& network, Asked asked, std::string_view text, std::size_t bytes);
  // Asks for the stream of all events, whose bytes are read and dropped.
  bool follow(SimNetwork& network);
  // Sends so many bytes of what is left.
  void send(std::size_t bytes, std::uint64_t verbs_before);
  // Reads what is there. The next answer; null: none is complete.
  std::optional<Answered> take();
  // Leaves: closes the connection in order, or resets it. What was asked has no answer then.
  void leave(bool in_order);
  // The server's process has ended.
  void forget();
  // The requests without an answer.
  const std::deque<Asked>& asked() const noexcept { return asked_; }
  // Calls visit(asked) for each request that may still take effect: also for those whose client has left.
  template <typename Visit>
  void for_each_open(Visit&& visit) const {
    for (const Asked& asked : asked_) visit(asked);
    for (const auto& [socket, asked] : left_) visit(asked);
  }
  std::size_t unsent() const noexcept { return unsent_.size(); }

 private:
  bool connect(SimNetwork& network);
  void begin_again();

  std::shared_ptr<SimSocket> socket_;
  std::deque<Asked> asked_;
  std::deque<std::size_t> ends_;  // of the requests that are not complete, in `unsent_`
  std::string unsent_, received_;
  std::vector<std::pair<std::shared_ptr<SimSocket>, Asked>> left_;
  bool is_stream_ = false;
  bool was_warned_ = false;
};

}  // namespace agentcore::sim
