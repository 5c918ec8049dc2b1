#include "tree/steered_messages.hpp"

#include "core/gates.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/refusals.hpp"

#include <utility>
#include <vector>

namespace agentcore::detail::tree {
namespace {

using mailbox::SteerEntry;

// Moves the message of an entry to the head of the mailbox. Returns why it cannot.
Errc queue(TreeShared& tree, core::Node& node, const SteerEntry& entry) noexcept {
  if (entry.give_back || entry.dropped) return Errc::turn_over;
  const core::GateView view = look(node, node.id());
  if (!view.open()) return closed_reason_of(view.effective);
  if (view.grade != core::Grade::none) return Errc::agent_stopping;  // it would be dropped with the mailbox
  switch (mailbox::push_front(node, tree.pool, tree.cleared, entry.cell, view.own.epoch(), entry.sent_at)) {
    case mailbox::Push::queued:
    case mailbox::Push::queued_first:
      return Errc::none;
    case mailbox::Push::full:
      return Errc::mailbox_full;
    case mailbox::Push::closed:
    case mailbox::Push::gone:
      return Errc::agent_stopping;
  }
  return Errc::agent_stopping;
}

// Returns the cell of a message that is sent nowhere.
Message take_back(TreeShared& tree, std::uint32_t cell) noexcept {
  mailbox::Cell& taken = tree.pool[cell];
  Message message = taken.take_message();
  tree.pool.end_id(taken);
  tree.pool.give_back(taken);
  return message;
}

void emit(events::EventHub& hub, const core::Node& node, MessageId id, Errc reason,
          Message&& message) noexcept {
  hub.emit(node, [&](Agent agent) {
    return Steered{.agent = std::move(agent),
                   .id = id,
                   .fate = reason == Errc::none ? SteerFate::queued : SteerFate::returned,
                   .reason = reason,
                   .message = std::move(message)};
  });
}

}  // namespace

void release_steered(TreeShared& tree, events::EventHub& hub, core::Node& node) noexcept {
  if (tree.steers.empty()) return;
  std::vector<SteerEntry> entries = tree.steers.take_all(node.id());
  // The newest first, so that the oldest is the next message. From here on `reason` is the fate.
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
    entry->reason = queue(tree, node, *entry);
  for (const SteerEntry& entry : entries) {
    const MessageId id = entry.id;
    Message message = entry.reason == Errc::none ? Message{} : take_back(tree, entry.cell);
    if (!hub.closed()) emit(hub, node, id, entry.reason, std::move(message));
  }
}

void return_steered(TreeShared& tree, events::EventHub& hub, core::Node& node, Errc reason) noexcept {
  if (tree.steers.empty()) return;
  for (const SteerEntry& entry : tree.steers.take_all(node.id())) {
    Message message = take_back(tree, entry.cell);
    if (!hub.closed()) emit(hub, node, entry.id, reason, std::move(message));
  }
}

void return_dropped_steers(TreeShared& tree, events::EventHub& hub, core::Node& node) noexcept {
  for (SteerEntry entry; (entry = tree.steers.take_dropped(node.id())).cell != 0;) {
    Message message = take_back(tree, entry.cell);
    if (!hub.closed()) emit(hub, node, entry.id, Errc::turn_over, std::move(message));
  }
}

}  // namespace agentcore::detail::tree
