#include "llm/router/slot.hpp"

#include "llm/router/backoff.hpp"
#include "llm/router/slots.hpp"

#include <utility>

namespace agentcore::detail::llm {

Slot& Slot::operator=(Slot&& other) noexcept {
  if (this == &other) return *this;
  release();
  slots_ = std::move(other.slots_);
  endpoint_ = std::move(other.endpoint_);
  caller_ = other.caller_;
  tokens_ = other.tokens_;
  mark_ = other.mark_;
  return *this;
}

void Slot::learn(const RateLimit& limit) {
  if (!slots_ || !slots_->limits_.learn) return;
  endpoint_->rate.learn(limit, mark_, slots_->engine_->now());
  slots_->wake();
}

// An endpoint that refused the call did not process it. If the call was stopped or cut without counts, the
// estimate is kept: the endpoint may have processed it.
void Slot::end(const ChatOutcome& outcome) {
  if (!slots_) return;
  const TimePoint now = slots_->engine_->now();
  RateLimiter& rate = endpoint_->rate;
  const bool refused = outcome.kind == ChatOutcome::Kind::failed && outcome.error.http_status >= 400;
  const std::uint64_t used = outcome.usage.total_tokens;
  if (used != 0 || refused) rate.correct(tokens_, used, mark_, now);
  const Duration asked = as_duration(outcome.error.retry_after);
  if (asked > Duration(0) && outcome.error.http_status >= 400 && slots_->limits_.learn)
    rate.pause(asked, now);
  release();
}

void Slot::undo() {
  if (!slots_) return;
  endpoint_->rate.undo(tokens_, mark_, slots_->engine_->now());
  release();
}

void Slot::release() {
  if (const auto slots = std::exchange(slots_, nullptr)) slots->release(*this);
}

}  // namespace agentcore::detail::llm
