// MailWriter: keeps the messages that wait in mailboxes in a store.
#pragma once

#include "core/node.hpp"
#include "loop/engine.hpp"
#include "mailbox/message_pool.hpp"
#include "mailbox/steer_box.hpp"

#include <agentcore/message.hpp>
#include <agentcore/store.hpp>

#include <cstdint>
#include <vector>

namespace agentcore::detail::persist {

// A message that a store has, and the number of its record.
struct StoredMail {
  MessageId id;
  std::uint64_t number = 0;
};

// All @loop_thread.
class MailWriter {
 public:
  MailWriter(mailbox::MessagePool& pool, mailbox::SteerBox& steers, const loop::Engine& engine)
      : pool_(pool), steers_(steers), engine_(engine) {}

  // Writes what has changed in the mailbox of `node`, whose agent has this key; `stored` becomes what waits
  // now. `rewrites`: stored messages may have changed, too. Returns the messages that were not stored before.
  std::vector<MessageId> write(StoreBatch& batch, core::Node& node, std::uint64_t key,
                               std::vector<StoredMail>& stored, bool rewrites);
  // The highest of all messages so far: see MessagePool::sequence_of().
  std::uint64_t sequence() const noexcept { return sequence_; }
  void note(MessageId id) noexcept;

 private:
  std::vector<std::uint32_t> waiting(core::Node& node) const;
  void put(StoreBatch& batch, std::uint64_t key, std::uint32_t cell, std::uint64_t number) const;

  mailbox::MessagePool& pool_;
  mailbox::SteerBox& steers_;
  const loop::Engine& engine_;
  std::uint64_t sequence_ = 0;
};

}  // namespace agentcore::detail::persist
