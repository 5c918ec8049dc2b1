#include "persist/mail_writer.hpp"

#include "mailbox/mailbox.hpp"
#include "persist/mail_record.hpp"
#include "persist/record_kinds.hpp"

#include <agentcore/no_limit.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace agentcore::detail::persist {

void MailWriter::note(MessageId id) noexcept {
  sequence_ = std::max(sequence_, mailbox::MessagePool::sequence_of(id));
}

// The cells of what is stored, in the order of taking. A steered message that would begin the next turn comes
// first. A message of a tool call is left out: after a restart there is no call that waits for its answer. So
// is one that a verb has dropped, which the loop has still to take out of the mailbox.
std::vector<std::uint32_t> MailWriter::waiting(core::Node& node) const {
  std::vector<std::uint32_t> cells;
  if (!steers_.empty())  // without those that a verb has dropped
    for (const mailbox::SteerEntry& entry : steers_.waiting(node.id()))
      if (!entry.give_back) cells.push_back(entry.cell);
  mailbox::for_each(node, pool_, [&](std::uint32_t cell) {
    const mailbox::Cell& waiting = pool_[cell];
    if (!waiting.is_delegated() && !mailbox::MessagePool::is_withdrawn(waiting) &&
        !cleared_.covers(node.id(), waiting.position.load(std::memory_order_relaxed)))
      cells.push_back(cell);
  });
  return cells;
}

std::vector<MessageId> MailWriter::write(StoreBatch& batch, core::Node& node, std::uint64_t key,
                                         std::vector<StoredMail>& stored, bool rewrites) {
  const std::vector<std::uint32_t> cells = waiting(node);
  // Mostly, some messages were taken at the front and others were added at the end.
  std::size_t same = 0;  // of `cells`: stored already
  std::vector<StoredMail> kept, gone;
  for (const StoredMail& mail : stored) {
    const bool waits = !rewrites && same < cells.size() && pool_.id_of(cells[same]) == mail.id;
    (waits ? kept : gone).push_back(mail);
    if (waits) ++same;
  }
  const auto find = [](std::vector<StoredMail>& all, MessageId id) {
    const auto found = std::find_if(all.begin(), all.end(), [id](const auto& mail) { return mail.id == id; });
    return found == all.end() ? nullptr : &*found;
  };
  std::vector<MessageId> added;
  for (std::size_t i = same; i < cells.size(); ++i)
    if (const MessageId id = pool_.id_of(cells[i]); !find(gone, id)) added.push_back(id);
  if (rewrites || added.size() != cells.size() - same) {  // the order has changed
    if (!stored.empty()) batch.erase(key_of(Kind::mail, key), last_of(Kind::mail, key));
    kept.clear();
    same = 0;
  } else {
    for (const StoredMail& mail : gone) batch.erase(key_of(Kind::mail, key, mail.number));
    for (std::size_t i = 0; i < same; ++i)
      if (kept[i].begin == StoredMail::Begin::noted) put(batch, key, cells[i], kept[i]);
  }
  kept.reserve(cells.size());
  for (std::size_t i = same; i < cells.size(); ++i) {
    const MessageId id = pool_.id_of(cells[i]);
    const StoredMail* const before = find(stored, id);
    StoredMail mail = before ? *before : StoredMail{id};
    mail.number = kept.empty() ? 0 : kept.back().number + 1;
    put(batch, key, cells[i], mail);
    kept.push_back(mail);
  }
  for (StoredMail& mail : kept)
    if (mail.begin == StoredMail::Begin::noted) mail.begin = StoredMail::Begin::written;
  for (const MessageId id : added) note(id);
  stored = std::move(kept);
  return added;
}

void MailWriter::put(StoreBatch& batch, std::uint64_t key, std::uint32_t cell, const StoredMail& mail) const {
  MailRecord record{mail.id, pool_[cell].copy(), std::nullopt, pool_[cell].is_simulated(), mail.begun};
  if (const auto deadline = pool_[cell].deadline(); deadline && *deadline != no_limit)
    record.deadline = loop::wall_deadline(*deadline, engine_.clock());
  batch.put(key_of(Kind::mail, key, mail.number), to_json(record));
}

}  // namespace agentcore::detail::persist
