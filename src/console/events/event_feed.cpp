#include "console/events/event_feed.hpp"

#include "console/events/agent_json.hpp"
#include "console/events/event_json.hpp"
#include "core/utf8.hpp"

#include <chrono>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

namespace agentcore::detail::console {
namespace {

constexpr Duration merge_interval = std::chrono::milliseconds(20);
constexpr Duration text_stays_wanted = std::chrono::minutes(1);

// Keeps the last `max_live_bytes`, from a whole character on.
void keep_end(LiveAnswer& live) {
  if (live.text.size() <= 2 * max_live_bytes) return;
  std::size_t cut = live.text.size() - max_live_bytes;
  while (cut < live.text.size() && (static_cast<unsigned char>(live.text[cut]) & 0xC0) == 0x80) ++cut;
  live.text.erase(0, cut);
  live.dropped += cut;
  live.truncated = true;
}

}  // namespace

EventFeed::EventFeed(std::shared_ptr<loop::Engine> engine, std::shared_ptr<EventLog> log,
                     std::function<void()> on_change)
    : engine_(std::move(engine)), log_(std::move(log)), on_change_(std::move(on_change)) {
}

EventFeed::~EventFeed() {
  leave();
}

void EventFeed::follow(AgentTree& tree) {
  leave();
  tree_ = &tree;
  enter_all();
  events_ = tree.on_event([this](const Event& event) { guarded([&] { take(event); }); });
}

void EventFeed::enter_all() {
  const WallTime now = engine_->clock().wall_time();
  tree_->walk([&](const Agent& agent) { directory_.enter(agent, now); });
  is_incomplete_ = false;
}

// Without memory for what has happened the viewers load everything again, and the directory is looked through
// before it is used.
template <typename Function>
void EventFeed::guarded(Function&& function) noexcept {
  try {
    function();
  } catch (const std::bad_alloc&) {
    is_incomplete_ = true;
    log_->lose();
    on_change_();
  }
}

AgentDirectory& EventFeed::directory() {
  if (is_incomplete_ && tree_ != nullptr) {
    directory_.erase_gone();
    enter_all();
  }
  return directory_;
}

void EventFeed::leave() {
  events_.reset();
  tree_ = nullptr;
  is_incomplete_ = false;
  if (merge_timer_ != 0) engine_->cancel_timer(merge_timer_);
  merge_timer_ = 0;
  unwritten_.clear();
  queues_.clear();
  changed_above_.clear();
  directory_.clear();
}

void EventFeed::publish(const AgentEntry* entry, Json event) {
  guarded([&] {
    event.set("at", to_milliseconds(engine_->clock().wall_time()));
    if (entry != nullptr) event.set("agentId", entry->id);
    log_->append(entry != nullptr ? entry->path : nullptr, false, to_line(event));
  });
  on_change_();
}

void EventFeed::take(const Event& event) {
  directory();
  const WallTime now = engine_->clock().wall_time();
  if (const auto* delta = event.get<DeltaReceived>()) {
    if (AgentEntry* const entry = directory_.enter(delta->agent, now))
      add_text(*entry, delta->turn, delta->call, delta->text, false);
    return;
  }
  if (const auto* reasoning = event.get<ReasoningReceived>()) {
    if (AgentEntry* const entry = directory_.enter(reasoning->agent, now))
      add_text(*entry, reasoning->turn, reasoning->call, reasoning->text, true);
    return;
  }
  if (const auto* const pause = event.get<PauseChanged>(); pause != nullptr && pause->agent == Agent())
    return publish_tree_pause(*pause);
  if (event.get<StopPending>() != nullptr && event.agent() == Agent()) return look_below(nullptr, event);
  const auto* const persisted = event.get<StopPersisted>();
  AgentEntry* const entry = directory_.enter(event.agent(), now);
  if (entry == nullptr && persisted == nullptr) return;
  if (entry != nullptr) {
    entry->active = now;
    flush_text(*entry);
    update(*entry, event);
  }
  Json json = json_of(event, entry);
  if (entry == nullptr) json.set("agentId", persisted->agent_id);
  if (!json.is_null()) publish(entry, std::move(json));
  if (event.get<StateChanged>() != nullptr && entry != nullptr) publish_pending_stop(*entry, {});
  look_below(entry, event);
  if (event.get<AgentDeleted>() != nullptr) {
    unwritten_.erase(entry->serial());
    queues_.erase(entry->serial());
    directory_.erase(event.agent());
  } else if (entry != nullptr) {
    look_at_queue(*entry);
  }
}

Json EventFeed::json_of(const Event& event, const AgentEntry* entry) const {
  if (event.get<AgentCreated>() != nullptr) return {{"type", "created"}, {"agent", to_json(*entry)}};
  if (const auto* changed = event.get<PauseChanged>()) return pause_json(*entry, *changed);
  if (event.get<QueueHeld>() != nullptr) return {{"type", "queue_held"}, {"held", entry->queue_held}};
  return to_json(event);
}

// The event of an agent is about it alone: what is below it is paused with it. Of an agent that is not paused
// any more it lists those below it that are paused by themselves.
Json EventFeed::pause_json(const AgentEntry& entry, const PauseChanged& event) const {
  const Result<AgentStatus> status = entry.agent.status();
  const bool paused = status ? status->paused : event.paused;
  Json json = {{"type", "paused"}, {"paused", paused}, {"reason", event.origin.reason()}};
  json.set("stillPaused", paused ? Json::array() : still_paused(&entry));
  return json;
}

// The agents below `above`, which is not paused, that are, and whose parents are not. Null: all agents.
Json EventFeed::still_paused(const AgentEntry* above) const {
  Json ids = Json::array();
  std::unordered_set<std::uint64_t> paused;
  const auto& entries = directory_.entries();
  for (auto next = above ? entries.find(above->serial()) : entries.begin(); next != entries.end(); ++next) {
    const AgentEntry& entry = next->second;
    if (above && !entry.path->is_below(above->serial())) continue;
    const Result<AgentStatus> status = entry.agent.status();
    if (!status || !status->paused) continue;
    paused.insert(entry.serial());
    if (!entry.path->parent || !paused.contains(entry.path->parent->serial)) ids.push_back(entry.id);
  }
  return ids;
}

void EventFeed::publish_tree_pause(const PauseChanged& event) {
  publish(nullptr, {{"type", "tree_paused"},
                    {"paused", event.paused},
                    {"reason", event.origin.reason()},
                    {"stillPaused", event.paused ? Json::array() : still_paused(nullptr)}});
}

void EventFeed::update(AgentEntry& entry, const Event& event) {
  if (event.get<TurnStarted>() != nullptr) {
    entry.live = {};
    entry.has_gap = false;
  } else if (const auto* reask = event.get<ModelCallEnded>()) {
    LiveAnswer& live = entry.live;
    live.text.resize(
        std::min(live.text.size(), reask->kept_bytes > live.dropped ? reask->kept_bytes - live.dropped : 0));
  } else if (event.get<QueueHeld>() != nullptr) {
    entry.queue_held = is_queue_held(entry.agent);
  } else if (event.get<StopPending>() != nullptr) {
    entry.stop_pending = pending_stop_of(entry.agent);
  } else if (const auto* changed = event.get<StateChanged>()) {
    const bool is_stopped = changed->to == AgentState::stopped || changed->to == AgentState::terminating;
    if (is_stopped) entry.stop_pending.reset();  // viewers know that from the state
  } else if (const auto* end = event.get<TurnEnded>()) {
    entry.live = {};
    entry.has_gap = false;
    ++entry.turns;
    entry.usage += end->result->usage;
    if (end->result->cost) entry.cost = entry.cost.value_or(0) + *end->result->cost;
  }
}

void EventFeed::add_text(AgentEntry& entry, std::uint64_t turn, std::uint32_t call, std::string_view text,
                         bool is_reasoning) {
  LiveAnswer& live = entry.live;
  if (live.turn != turn || live.call != call) {
    flush_text(entry);
    live = {.turn = turn, .call = call};
  }
  (is_reasoning ? live.reasoning : live.text) += text;
  if (live.reasoning.size() > max_live_bytes)
    live.reasoning.resize(core::first_bytes(live.reasoning, max_live_bytes).size());
  keep_end(live);
  if (!is_wanted(entry)) {
    entry.has_gap = true;
    return;
  }
  (is_reasoning ? live.new_reasoning : live.new_text) += text;
  unwritten_.insert(entry.serial());
  start_merge();
}

bool EventFeed::is_wanted(const AgentEntry& entry) const {
  const TextWanted* const wanted = entry.text_wanted.get();
  return wanted != nullptr && (wanted->viewers > 0 || engine_->now() < wanted->until);
}

void EventFeed::want_text(AgentEntry& entry) {
  if (!entry.text_wanted) entry.text_wanted = std::make_shared<TextWanted>();
  entry.text_wanted->until = engine_->now() + text_stays_wanted;
  if (!std::exchange(entry.has_gap, false)) return;
  log_->append(entry.path, true,
               to_line({{"type", "text_gap"},
                        {"turn", entry.live.turn},
                        {"call", entry.live.call},
                        {"at", to_milliseconds(engine_->clock().wall_time())},
                        {"agentId", entry.id}}));
  on_change_();
}

std::shared_ptr<const void> EventFeed::view_text(AgentEntry& entry) {
  want_text(entry);
  ++entry.text_wanted->viewers;
  return std::shared_ptr<const void>(nullptr, [wanted = entry.text_wanted, engine = engine_](const void*) {
    --wanted->viewers;
    wanted->until = engine->now() + text_stays_wanted;  // its viewer may connect again
  });
}

void EventFeed::look_at_queue(const AgentEntry& entry) noexcept {
  const Result<std::size_t> waiting = entry.agent.queue_length();
  if (!waiting || *waiting == entry.queue_length) return;
  guarded([&] {
    queues_.insert(entry.serial());
    start_merge();
  });
}

// A message to an agent at rest waits for a moment only: that is not worth an event.
void EventFeed::publish_queues() {
  for (const std::uint64_t serial : std::exchange(queues_, {})) {
    const auto found = directory_.entries().find(serial);
    if (found == directory_.entries().end()) continue;
    publish_queue(*directory_.find(found->second.agent));
  }
}

void EventFeed::publish_queue(AgentEntry& entry) {
  const Result<std::size_t> waiting = entry.agent.queue_length();
  if (!waiting || *waiting == entry.queue_length) return;
  entry.queue_length = *waiting;
  publish(&entry, {{"type", "queue"}, {"length", *waiting}});
}

void EventFeed::publish_hold(AgentEntry& entry) {
  const Result<AgentStatus> status = entry.agent.status();
  if (!status || status->queue_held == entry.queue_held) return;
  entry.queue_held = status->queue_held;
  publish(&entry, {{"type", "queue_held"}, {"held", entry.queue_held}});
}

void EventFeed::publish_pending_stop(AgentEntry& entry, const StopOrigin& origin) {
  const std::optional<StopWhen> pending = pending_stop_of(entry.agent);
  const std::optional<StopWhen> known = std::exchange(entry.stop_pending, pending);
  if (pending == known) return;
  publish(&entry, {{"type", "stop_pending"},
                   {"when", to_string(pending ? *pending : *known)},
                   {"withdrawn", !pending},
                   {"caller", origin.caller()},
                   {"reason", origin.reason()}});
}

// An agent is held with an ancestor, and stopped with it, which has the only event of the tree. A verb on a
// subtree makes many such events: what is below is looked at once for all of them.
void EventFeed::look_below(const AgentEntry* above, const Event& event) {
  const auto* const stop = event.get<StopPending>();
  if (stop == nullptr && event.get<QueueHeld>() == nullptr) return;
  std::optional<StopOrigin>& origin = changed_above_[above ? above->serial() : 0];
  if (stop != nullptr) origin = stop->origin;
  start_merge();
}

void EventFeed::publish_below() {
  const auto changed = std::exchange(changed_above_, {});
  if (changed.empty()) return;
  const auto of_all = changed.find(0);
  // By serial of the agents that are looked at: who asked for the stop. A parent comes before its children.
  std::unordered_map<std::uint64_t, std::optional<StopOrigin>> origins;
  const auto& entries = directory_.entries();
  for (auto next = entries.lower_bound(changed.begin()->first); next != entries.end(); ++next) {
    const AgentPath* const parent = next->second.path->parent.get();
    const auto above = parent ? origins.find(parent->serial) : origins.end();
    const auto own = changed.find(next->first);
    if (own == changed.end() && above == origins.end() && of_all == changed.end()) continue;
    std::optional<StopOrigin> origin;
    if (own != changed.end()) origin = own->second;
    if (!origin && above != origins.end()) origin = above->second;
    if (!origin && of_all != changed.end()) origin = of_all->second;
    AgentEntry& entry = *directory_.find(next->second.agent);
    publish_hold(entry);
    publish_pending_stop(entry, origin.value_or(StopOrigin()));
    origins.emplace(next->first, std::move(origin));
  }
}

// Else a viewer that reads the answer would show it until the next change.
void EventFeed::show(const AgentEntry& entry) noexcept {
  guarded([&] {
    AgentEntry* const shown = directory_.find(entry.agent);
    if (shown == nullptr) return;
    publish_queue(*shown);
    publish_hold(*shown);
    publish_pending_stop(*shown, {});
  });
}

void EventFeed::start_merge() {
  if (merge_timer_ != 0) return;
  merge_timer_ = engine_->start_timer(
      engine_->now() + merge_interval,
      [this] {
        merge_timer_ = 0;
        guarded([this] {
          flush_text();
          publish_queues();
          publish_below();
        });
      },
      loop::TimerUse::watch);
}

void EventFeed::flush_text() {
  const auto unwritten = std::exchange(unwritten_, {});
  for (const std::uint64_t serial : unwritten)
    if (const auto found = directory_.entries().find(serial); found != directory_.entries().end())
      flush_text(*directory_.find(found->second.agent));
}

void EventFeed::flush_text(AgentEntry& entry) {
  if (entry.live.new_text.empty() && entry.live.new_reasoning.empty()) return;
  append_text(entry, "reasoning", entry.live.new_reasoning);
  append_text(entry, "text", entry.live.new_text);
  on_change_();
}

void EventFeed::append_text(AgentEntry& entry, std::string_view type, std::string& text) {
  if (text.empty()) return;
  const Json json = {{"type", type},
                     {"turn", entry.live.turn},
                     {"call", entry.live.call},
                     {"text", text},
                     {"at", to_milliseconds(engine_->clock().wall_time())},
                     {"agentId", entry.id}};
  log_->append(entry.path, true, to_line(json));
  text.clear();  // without memory for the event it is in a later one
}

}  // namespace agentcore::detail::console
