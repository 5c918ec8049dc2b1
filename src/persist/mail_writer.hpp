// MailWriter: keeps the messages that wait in mailboxes in a store.
#pragma once

#include "core/node.hpp"
#include "loop/engine.hpp"
#include "mailbox/cleared_messages.hpp"
#include "mailbox/message_pool.hpp"
#include "mailbox/steer_box.hpp"

#include <agentcore/message.hpp>
#include <agentcore/store.hpp>

#include <cstdint>
#include <vector>

namespace agentcore::detail::persist {

// A message that a store has, and the number of its record.
struct StoredMail {
  enum class Begin : std::uint8_t { none, noted, written, stored };

  MessageId id;
  std::uint64_t number = 0;
  // How often its turn was begun in runs that have ended before the store had that turn; the one of this run
  // included, if `begin` says so.
  std::uint32_t begun = 0;
  bool counts = false;  // a restart has brought it back: its turn begins when the store has the count
  Begin begin = Begin::none;
};

// All @loop_thread.
class MailWriter {
 public:
  MailWriter(mailbox::MessagePool& pool, mailbox::SteerBox& steers, const mailbox::ClearedMessages& cleared,
             const loop::Engine& engine)
      : pool_(pool), steers_(steers), cleared_(cleared), engine_(engine) {}

  // Writes what has changed in the mailbox of `node`, whose agent has this key; `stored` becomes what waits
  // now. `rewrites`: stored messages may have changed, too. Returns the messages that were not stored before.
  std::vector<MessageId> write(StoreBatch& batch, core::Node& node, std::uint64_t key,
                               std::vector<StoredMail>& stored, bool rewrites);
  // The highest of all messages so far: see MessagePool::sequence_of().
  std::uint64_t sequence() const noexcept { return sequence_; }
  void note(MessageId id) noexcept;

 private:
  std::vector<std::uint32_t> waiting(core::Node& node) const;
  void put(StoreBatch& batch, std::uint64_t key, std::uint32_t cell, const StoredMail& mail) const;

  mailbox::MessagePool& pool_;
  mailbox::SteerBox& steers_;
  const mailbox::ClearedMessages& cleared_;
  const loop::Engine& engine_;
  std::uint64_t sequence_ = 0;
};

}  // namespace agentcore::detail::persist
