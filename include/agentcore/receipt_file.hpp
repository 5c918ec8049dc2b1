// ReceiptFile: a StopAudit in a file, as a chain of hashes. verify_receipts(). Link agentcore::receipts.
#pragma once

#include <agentcore/error.hpp>
#include <agentcore/export.hpp>
#include <agentcore/stop_audit.hpp>
#include <agentcore/store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace agentcore {

/// Options of ReceiptFile::open().
struct ReceiptOptions {
  /// A secret of the host, 16 to 4096 bytes: the chain is made with HMAC-SHA-256. Empty: with SHA-256, and
  /// then anyone who can write the file can make a new chain. It is never logged; the copies that the library
  /// makes are overwritten.
  std::string key = {};
  /// What a receipt survives when record() has returned. `disk` waits for the disk, on the loop thread.
  StoreSync sync = StoreSync::process;
  /// True: a delete erases the bodies of all earlier receipts that name an agent which it deletes, as
  /// ReceiptFile::erase_agents() does. The receipt of the delete itself stays.
  bool forget_deleted = false;
  /// The largest size of the file in bytes. A receipt that does not fit is lost, and the loss is counted. 0:
  /// no limit.
  std::uint64_t max_bytes = 0;
  /// Called on the thread of record() when a receipt could not be written or erased. Empty: see
  /// ReceiptFile::last_error(). It must not call functions of the file. What it throws is ignored.
  std::function<void(const Error&)> on_error = {};
};

/// A receipt by its number and its hash. Keep it elsewhere, so that verify_receipts() notices if receipts are
/// removed from the end of the file.
struct ReceiptAnchor {
  std::uint64_t number = 0;  ///< From 1; 0: there is no receipt yet.
  std::string hash = {};     ///< 64 hexadecimal digits; empty if `number` is 0.
};

/// Writes a receipt of each stop and delete into a file: one line of JSON each, of at most 16 MiB. It has
/// ids, counts and times and the caller and reason that the host gave, and no content of a conversation. Of a
/// long list the first 1000 entries are written, and the number of all; of a reason the first 1024 bytes, of
/// an id or a name the first 256.
///
///     auto receipts = agentcore::ReceiptFile::open("receipts.jsonl", {.key = secret});
///     if (!receipts) {
///       std::fprintf(stderr, "%s\n", receipts.error().message.c_str());
///       return 1;
///     }
///     std::shared_ptr<agentcore::ReceiptFile> audit = std::move(*receipts);
///     agentcore::AgentTree tree{runtime, {.llm = &llm, .audit = audit}};
///
/// Each receipt has a hash over the hash of the receipt before, its own header, and the hash of its body. So
/// a change, a removal or an exchange of receipts is noticed by verify_receipts(), but for a removal at the
/// end: see ReceiptAnchor. A body can be erased without breaking the chain. With a key the chain is evidence
/// of tampering by those who do not have the key; without one it is a check of integrity only.
///
/// One ReceiptFile writes a file at a time: it holds a lock on it and on a second file, with "-lock" at the
/// end of its name, until its destruction or the end of the process. A third file, with "-lost" at the end,
/// has the number of receipts that were lost since the last one, so that a later process reports them. Files
/// are created with mode 0600.
///
/// If the file is removed, replaced or truncated while it is open, each further receipt is lost, with
/// `store_unavailable` or `store_corrupt`, until the file is put back.
///
/// Threads: one at a time; as TreeOptions::audit that is the loop thread.
class AGENTCORE_API ReceiptFile final : public StopAudit {
 public:
  /// Opens the file, or creates it, and verifies it: takes time proportional to its size. A last line without
  /// its end, as a crash may leave it, is removed: see torn_bytes(). `path`: not empty.
  ///
  /// Errors: `invalid_config` (an option or the path), `store_in_use` (another ReceiptFile writes it),
  /// `store_unavailable` (cannot be opened or created, or is no regular file), `store_read_only`,
  /// `store_corrupt` (the chain is broken, also by another key; the message names the line), `store_full`,
  /// `store_failed`, `out_of_memory`. After an error the file is unchanged.
  static Result<std::unique_ptr<ReceiptFile>> open(const std::string& path, ReceiptOptions options = {});
  ~ReceiptFile() override;
  ReceiptFile(const ReceiptFile&) = delete;
  ReceiptFile& operator=(const ReceiptFile&) = delete;

  /// Appends a receipt by one write. Blocks for that write, with StoreSync::disk until the disk has it, and
  /// with forget_deleted for a delete until the file is rewritten. If the write fails, the receipt is lost,
  /// what was written of it is taken back, and the next receipt says how many were lost before it. If only
  /// the flush or the rewriting fails, the receipt stays in the file. In each case it throws
  /// std::runtime_error with the text of last_error(), which a tree logs.
  void record(const StopRecord& record) override;

  /// Replaces the bodies of all receipts that name one of these agents by their hashes. The chain still
  /// verifies, and verify_receipts() counts the bodies that are missing. An agent is named by any id in the
  /// body, `caller` included; the free text `reason` is not searched. Writes a new file beside the old one,
  /// flushes it, and renames it: after a crash one of the two is there.
  ///
  /// Returns the number of bodies that were erased. Errors: `store_full`, `store_read_only`, `store_failed`,
  /// `store_corrupt`, `out_of_memory`; then the file is unchanged, unless only the flush of its folder
  /// failed.
  Result<std::size_t> erase_agents(std::span<const std::string> agent_ids);
  /// The same for one agent.
  Result<std::size_t> erase_agent(const std::string& agent_id);

  /// The last receipt.
  ReceiptAnchor last() const;
  /// How many bytes of an unfinished line open() has removed.
  std::uint64_t torn_bytes() const noexcept;
  /// The error of the last record() or erase_agents() that failed. `Errc::none`: none has failed.
  const Error& last_error() const noexcept;

 private:
  struct Impl;
  explicit ReceiptFile(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

/// Options of verify_receipts().
struct VerifyOptions {
  std::string key = {};  ///< ReceiptOptions::key
  /// A receipt that must be in the file, for example ReceiptFile::last() of an earlier time.
  std::optional<ReceiptAnchor> anchor = {};
};

/// What verify_receipts() has found.
struct ReceiptCheck {
  std::uint64_t records = 0;  ///< Receipts before the first one that is wrong.
  std::uint64_t erased = 0;   ///< Of these: receipts whose body was erased.
  /// Receipts that could not be written, as the ones that were written after them say.
  std::uint64_t lost = 0;
  /// Bytes of a last line without its end: a receipt that is being written, or one that a crash has cut off.
  std::uint64_t torn_bytes = 0;
  ReceiptAnchor last = {};   ///< The last of these receipts.
  std::uint64_t line = 0;    ///< The line of the first wrong receipt, from 1. 0: none is wrong.
  std::string problem = {};  ///< What is wrong with it, or with the anchor. Empty: nothing.

  /// True if all receipts are as they were written, but for erased bodies and a last line without its end.
  bool intact() const noexcept { return problem.empty(); }
};

/// Verifies the chain of a file of receipts. The file may be in use. Needs memory for one line.
///
///     const auto check = agentcore::verify_receipts("receipts.jsonl", {.key = secret});
///     if (check && !check->intact())
///       std::fprintf(stderr, "line %llu: %s\n", static_cast<unsigned long long>(check->line),
///                    check->problem.c_str());
///
/// Errors: `invalid_config`, `store_unavailable`, `store_read_only`, `store_failed`, `out_of_memory`. A wrong
/// receipt is no error, but a result.
/// @threadsafe
AGENTCORE_API Result<ReceiptCheck> verify_receipts(const std::string& path, VerifyOptions options = {});

/// Returns all receipts as one JSON array, as they are in the file; an erased body is `null`. A last line
/// without its end is left out. The chain is not verified.
///
/// Errors: as verify_receipts(), and `store_corrupt` if a line is not a receipt; the message names the line.
/// @threadsafe
AGENTCORE_API Result<std::string> receipts_to_json(const std::string& path);

}  // namespace agentcore
