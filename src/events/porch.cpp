#include "events/porch.hpp"

#include "events/event_hub.hpp"

#include <new>

namespace agentcore::detail::events {

void Porch::note_ended(core::NodeId agent) noexcept {
  if (!ended_.empty() && ended_.newest() == agent) return;
  try {
    ended_.append(core::NodeId(agent));
  } catch (const std::bad_alloc&) {
    lost_end_ = true;
  }
}

void Porch::drain() noexcept {
  if (calling_) return;
  if (draining_) return deliver();
  draining_ = true;
  do deliver();
  while (end_activities() || go_on());
  draining_ = false;
}

void Porch::deliver() noexcept {
  if (calling_ || delivering_) return;
  delivering_ = true;
  while (!outbox_.empty()) hub_.deliver(outbox_.take());
  if (std::exchange(lost_event_, false)) log_lost();
  delivering_ = false;
}

void Porch::deliver(const HeldLog& record) noexcept {
  std::vector<LogField> fields;
  try {
    for (const auto& [key, value] : record.fields) fields.push_back({key, value});
  } catch (const std::bad_alloc&) {
    fields.clear();
  }
  const bool before = set_calling(true);
  engine_.log(record.level, record.message, fields);
  set_calling(before);
}

void Porch::deliver(const HeldCall& call) noexcept {
  const bool before = set_calling(true);
  engine_.guarded(call.what, call.function);
  set_calling(before);
}

void Porch::log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) noexcept {
  if (hub_.closed() || !engine_.has_log_sink()) return;
  if (!holds()) return engine_.log(level, message, fields);
  try {
    HeldLog record{level, message, {}};
    for (const LogField& field : fields) record.fields.emplace_back(field.key, field.value);
    append({.what = std::move(record)});
  } catch (const std::bad_alloc&) {
    note_lost();
  }
}

void Porch::note_lost() noexcept {
  lost_event_ = true;
  if (!holds()) deliver();
}

void Porch::log_lost() noexcept {
  const bool before = set_calling(true);
  engine_.log(LogLevel::error, "an event was lost, because there was no memory for it",
              {{"callback", "observer"}});
  set_calling(before);
}

// One by one, because each may have something to deliver. False: there is none.
bool Porch::end_activities() noexcept {
  if (!listener) return false;
  if (std::exchange(lost_end_, false)) {
    listener->on_activity_ended(0);
    return true;
  }
  if (ended_.empty()) return false;
  listener->on_activity_ended(ended_.take());
  return true;
}

bool Porch::go_on() noexcept {
  if (!listener || phases_.empty()) return false;
  const Phase phase = phases_.take();
  listener->go_on(phase.agent, phase.turn);
  return true;
}

void Porch::clear() noexcept {
  ended_.clear();
  phases_.clear();
  lost_end_ = lost_event_ = false;
  outbox_.clear();
}

}  // namespace agentcore::detail::events
