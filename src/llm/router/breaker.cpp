#include "llm/router/breaker.hpp"

#include "loop/time.hpp"

namespace agentcore::detail::llm {
namespace {

// For an error that came with an HTTP answer. An error object in an answer with a good status is the
// endpoint's fault if it is retryable.
Health health_of_answer(const ChatError& error) noexcept {
  if (error.http_status >= 500) return Health::ill;
  if (error.http_status >= 400) return Health::well;
  return error.retryable ? Health::ill : Health::well;
}

}  // namespace

Health health_of(const ChatOutcome& outcome) noexcept {
  if (outcome.kind == ChatOutcome::Kind::completed) return Health::well;
  if (outcome.kind == ChatOutcome::Kind::cancelled) return Health::unknown;
  switch (outcome.error.code) {
    case Errc::connect_timeout:
    case Errc::first_byte_timeout:
    case Errc::stall_timeout:
    case Errc::total_timeout:
    case Errc::resolve_failed:
    case Errc::network_error:
      return Health::ill;
    case Errc::http_error:
    case Errc::api_error:
    case Errc::account_exhausted:
      return health_of_answer(outcome.error);
    // A bad certificate is not counted either: it ends its call, and an open circuit would hide it from the
    // next call.
    default:
      return Health::unknown;
  }
}

std::optional<Breaker::Permit> Breaker::admit(TimePoint now) noexcept {
  if (!admits(now)) return std::nullopt;
  probing_ = open_;
  return Permit{epoch_, open_};
}

Breaker::Change Breaker::settle(const Permit& permit, Health health, TimePoint now) noexcept {
  if (permit.epoch != epoch_) return Change::none;
  if (permit.probe) probing_ = false;
  if (health == Health::unknown) return Change::none;
  if (health == Health::well) {
    failures_ = 0;
    return permit.probe ? close() : Change::none;
  }
  if (permit.probe) return open(now);
  if (policy_.failures == no_limit || ++failures_ < policy_.failures) return Change::none;
  return open(now);
}

Duration Breaker::open_for(TimePoint now) const noexcept {
  return open_ && now < until_ ? until_ - now : Duration(0);
}

Breaker::Change Breaker::open(TimePoint now) noexcept {
  open_ = true;
  failures_ = 0;
  until_ = loop::later(now, policy_.open_for);
  ++epoch_;
  return Change::opened;
}

Breaker::Change Breaker::close() noexcept {
  open_ = false;
  ++epoch_;
  return Change::closed;
}

}  // namespace agentcore::detail::llm
