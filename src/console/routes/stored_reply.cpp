#include "console/routes/stored_reply.hpp"

#include "console/routes/twice.hpp"
#include "core/json_text.hpp"
#include "core/stored_changes.hpp"

#include <agentcore/agent_tree.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

namespace agentcore::detail::console {
namespace {

constexpr Duration longest_wait = std::chrono::seconds(1);

// One answer that waits. The first end counts.
class StoredReply {
 public:
  StoredReply(std::shared_ptr<loop::Engine> engine, Reply&& reply, Response response)
      : engine_(std::move(engine)), reply_(std::move(reply)), response_(std::move(response)) {}
  // The tree is gone.
  ~StoredReply() {
    if (is_over_) return;
    try {
      end(Error{Errc::runtime_gone, "the agents have ended before their store had confirmed it"});
    } catch (const std::exception&) {  // no memory: see ~Reply()
    }
  }
  StoredReply(const StoredReply&) = delete;
  StoredReply& operator=(const StoredReply&) = delete;

  // Throws std::bad_alloc.
  static void begin_timer(const std::shared_ptr<StoredReply>& self, Duration wait = longest_wait) {
    self->timer_ = self->engine_->start_timer(
        self->engine_->now() + wait,
        [weak = std::weak_ptr(self)] {
          if (const auto waiting = weak.lock()) on_timer(waiting);
        },
        loop::TimerUse::watch);
  }

  // If the host polls late, the commit may not have been tried yet: it is at the end of this poll. So the
  // timer of the next poll decides.
  static void on_timer(const std::shared_ptr<StoredReply>& self) {
    if (!std::exchange(self->is_late_, true)) {
      try {
        return begin_timer(self, Duration(0));
      } catch (const std::bad_alloc&) {
      }
    }
    self->end(Error{Errc::store_failed, "the store has not confirmed it within a second"});
  }

  // Without memory for it, the answer is the one of ~Reply().
  void end(const Result<void>& stored) noexcept {
    if (std::exchange(is_over_, true)) return;
    if (timer_ != 0) engine_->cancel_timer(timer_);
    try {
      response_.body = twice([&] { return body_with(stored); });
      reply_.send(std::move(response_));
    } catch (const std::exception&) {
    }
  }

  // In a tree without a store.
  void send_as_it_is() {
    is_over_ = true;
    reply_.send(std::move(response_));
  }

 private:
  std::string body_with(const Result<void>& stored) const {
    std::string body = response_.body.substr(0, response_.body.size() - 1);
    if (stored) return body += ",\"persisted\":true}";
    return body + ",\"persisted\":false,\"persistError\":" + core::json_string(stored.error().message) +
           ",\"persistReason\":\"" + std::string(to_string(stored.error().code)) + "\"}";
  }

  const std::shared_ptr<loop::Engine> engine_;
  Reply reply_;
  Response response_;
  std::uint64_t timer_ = 0;
  bool is_late_ = false;  // the second is over
  bool is_over_ = false;
};

}  // namespace

void reply_when_stored(const Storing& storing, Reply&& reply, Response response) {
  if (storing.tree == nullptr) return reply.send(std::move(response));
  const auto waiting = twice(
      [&] { return std::make_shared<StoredReply>(storing.engine, std::move(reply), std::move(response)); });
  try {
    const bool waits = twice([&] {
      return core::when_stored(
          *storing.tree, [waiting](const Result<void>& stored) { waiting->end(stored); }, storing.stop_of);
    });
    if (!waits) return waiting->send_as_it_is();
    twice([&] { StoredReply::begin_timer(waiting); });
  } catch (const std::bad_alloc&) {
    waiting->end(Error{Errc::out_of_memory, "out of memory"});
  }
}

}  // namespace agentcore::detail::console
