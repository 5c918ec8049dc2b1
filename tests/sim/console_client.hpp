// ConsoleClient: a person's program at the other end of a console's connection. It sends requests in pieces,
// one after the other, and reads their answers.
#pragma once

#include "sim/client_socket.hpp"
#include "sim/console_requests.hpp"

#include <agentcore/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::sim {

// How a request shows that it may use the console.
enum class AccessBy : std::uint8_t { nothing, token, cookie };

struct Asked {
  Request request = Request::show_agents;
  Subject about = {};
  AccessBy access = AccessBy::nothing;
  std::size_t body_bytes = 0;
  bool is_complete = false;  // all of it was sent
  bool in_pieces = false;
  bool is_followed = false;        // by one that may have taken effect before this answer was read
  std::uint64_t verbs_before = 0;  // how many commands there were when it was complete
  // Of the rules, since it was complete and a poll could read it.
  bool is_expected = false;
  std::uint64_t events_before = 0;
  std::optional<TimePoint> since = {};                // nothing was due, and it had no answer
  std::map<std::string, std::size_t> approvals = {};  // ApprovalRules::approves(), by the question
  bool task_was_over = false;                         // its task had ended before
};

struct Answered {
  Asked asked;
  int status = 0;  // 0: the connection ended without an answer
  std::string head = {}, body = {};
  bool was_warned = false;  // an earlier answer said that the connection would end
  bool was_broken = false;  // a call of the system for its connection has failed
  bool was_read = true;     // the server has read all of it, as far as that is known

  std::string header(std::string_view name) const;  // empty: there is none
};

// An answer in the bytes of a connection, without a length or with one.
struct AnswerBytes {
  int status = 0;
  std::size_t head = 0;                    // bytes, with the empty line
  std::optional<std::size_t> length = {};  // of the body; none: it ends with the connection
};
// None: the head is not complete.
std::optional<AnswerBytes> answer_in(const std::string& bytes);

class ConsoleClient {
 public:
  // Sends the first `bytes` of the request, after what is still to be sent. Connects if need be. False:
  // nobody listens, or too many requests have no answer.
  bool ask(ClientNetwork& network, Asked asked, std::string_view text, std::size_t bytes);
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
  void for_each_open(Visit&& visit) {
    for (Asked& asked : asked_) visit(asked);
    for (auto& [socket, asked] : left_) visit(asked);
  }
  // Calls visit(asked) for the one that is answered next.
  template <typename Visit>
  void with_first(Visit&& visit) {
    if (!asked_.empty()) visit(asked_.front());
  }
  // Requests that are complete and have no answer, and may change something.
  std::size_t open_changes() const noexcept;
  bool has_left() const noexcept { return !left_.empty(); }
  // The server has read all that was sent, as far as that is known.
  bool is_read() const { return socket_ && socket_->is_read(); }
  std::size_t unsent() const noexcept { return unsent_.size(); }

 private:
  bool connect(ClientNetwork& network);
  Answered answer_of_first(int status);
  void begin_again();

  std::shared_ptr<ClientSocket> socket_;
  std::deque<Asked> asked_;
  std::deque<std::size_t> ends_;  // of the requests that are not complete, in `unsent_`
  std::string unsent_, received_;
  std::vector<std::pair<std::shared_ptr<ClientSocket>, Asked>> left_;
  bool was_warned_ = false;
};

}  // namespace agentcore::sim
