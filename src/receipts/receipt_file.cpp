#include "core/home_process.hpp"
#include "platform/posix/lock_file.hpp"
#include "platform/posix/watched_file.hpp"
#include "receipts/hash.hpp"
#include "receipts/line_file.hpp"
#include "receipts/lost_count.hpp"
#include "receipts/receipt_body.hpp"
#include "receipts/receipt_chain.hpp"
#include "receipts/receipt_line.hpp"
#include "receipts/receipt_reader.hpp"

#include <agentcore/receipt_file.hpp>

#include <exception>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include <unistd.h>

namespace agentcore {

using detail::platform::LockFile;
using detail::platform::WatchedFile;
using detail::receipts::ChainHash;
using detail::receipts::LineFile;
using detail::receipts::LostCount;
using detail::receipts::Receipt;

namespace {

constexpr std::size_t salt_bytes = 16;

// What `function` returns; an exception becomes an error.
template <typename Function>
auto attempt(Function&& function) -> decltype(function()) {
  try {
    return std::forward<Function>(function)();
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "no memory for a receipt"};
  } catch (const std::exception& exception) {
    return Error{Errc::store_failed, exception.what()};
  }
}

Error broken(const std::string& path, const ReceiptCheck& check) {
  return {Errc::store_corrupt, path + ": line " + std::to_string(check.line) + " " + check.problem};
}

}  // namespace

struct ReceiptFile::Impl {
  Impl(LockFile&& owned, LineFile&& opened, LostCount&& counted, ReceiptOptions& given)
      : lock(std::move(owned)),
        file(std::move(opened)),
        lost_count(std::move(counted)),
        watched(file.path()),
        hash(given.key),
        options(std::move(given)) {}

  const detail::core::HomeProcess home;

  Result<void> verify();
  Result<void> append(const StopRecord& record);
  Receipt next_receipt(const StopRecord& record) const;
  Result<void> write(const std::string& line);
  Result<std::size_t> erase(const std::set<std::string>& agents, std::uint64_t kept);
  Result<std::size_t> copy_without(const std::set<std::string>& agents, std::uint64_t kept, LineFile* to,
                                   std::uint64_t& bytes) const;
  Result<void> replace(LineFile&& made, std::uint64_t bytes);
  Result<void> lock_file(const std::string& path);
  std::optional<Error> problem() const;
  void count_lost() noexcept;
  void fail(const Error& error) noexcept;

  LockFile lock;
  // As well on the file: whoever removes the lock file does not open the way for a second writer.
  LockFile own_lock;
  LineFile file;
  LostCount lost_count;
  WatchedFile watched;
  ChainHash hash;
  ReceiptOptions options;  // without the key
  ReceiptAnchor last;
  std::uint64_t size = 0;        // of the complete lines
  std::uint64_t torn_bytes = 0;  // that open() has removed
  std::uint64_t lost = 0;        // since the last receipt
  bool has_rest = false;         // a part of a line could not be taken back
  Error last_error;
};

Result<void> ReceiptFile::Impl::verify() {
  const Result<ReceiptCheck> check = detail::receipts::check_receipts(file, hash);
  if (!check) return check.error();
  if (!check->intact()) return broken(file.path(), *check);
  last = check->last;
  size = file.read_bytes();
  torn_bytes = check->torn_bytes;
  if (torn_bytes != 0)
    if (Result<void> done = file.truncate(size); !done) return done;
  const Result<std::uint64_t> found = lost_count.after(last.number);
  if (!found) return found.error();
  lost = *found;
  watched.note();
  return {};
}

Result<void> ReceiptFile::Impl::lock_file(const std::string& path) {
  Result<LockFile> acquired = LockFile::acquire_existing(path, "ReceiptFile", "");
  if (!acquired) return acquired.error();
  own_lock = std::move(*acquired);
  return {};
}

// What is written into a file that somebody has removed is lost.
std::optional<Error> ReceiptFile::Impl::problem() const {
  if (auto replaced = watched.replaced()) return replaced;
  if (watched.shrank()) return watched.truncated();
  return std::nullopt;
}

// The next receipt reports the number, also one of another process.
void ReceiptFile::Impl::count_lost() noexcept {
  ++lost;
  static_cast<void>(
      attempt([&] { return lost_count.set(last.number, lost, options.sync == StoreSync::disk); }));
}

Receipt ReceiptFile::Impl::next_receipt(const StopRecord& record) const {
  Receipt receipt;
  receipt.mac = hash.name();
  receipt.number = last.number + 1;
  receipt.time = detail::receipts::text_of_time(record.settled.wall);
  receipt.lost = lost;
  receipt.prev = last.hash;
  receipt.body = detail::receipts::body_of(record, detail::receipts::random_digits(salt_bytes));
  receipt.body_hash = detail::receipts::sha256(*receipt.body);
  receipt.hash = hash_of(receipt, hash);
  return receipt;
}

// After an error nothing of the line is in the file, or `has_rest`.
Result<void> ReceiptFile::Impl::write(const std::string& line) {
  if (auto gone = problem()) return *std::move(gone);
  if (has_rest) {
    if (Result<void> done = file.truncate(size); !done) return done;
    has_rest = false;
  }
  if (options.max_bytes != 0 && line.size() > options.max_bytes - std::min(size, options.max_bytes))
    return Error{Errc::store_full, file.path() + ": the receipt does not fit into ReceiptOptions::max_bytes"};
  if (Result<void> done = file.write(line, size); !done) {
    has_rest = !file.truncate(size);
    return done;
  }
  if (auto gone = problem()) {
    has_rest = true;
    return *std::move(gone);
  }
  watched.note();
  return {};
}

Result<void> ReceiptFile::Impl::append(const StopRecord& record) {
  Receipt receipt = next_receipt(record);
  const std::string line = line_of(receipt) + "\n";
  if (Result<void> done = write(line); !done) return done;
  size += line.size();
  last = {receipt.number, std::move(receipt.hash)};
  lost = 0;
  return options.sync == StoreSync::disk ? file.flush() : Result<void>();
}

// Copies the receipts, and leaves out the bodies that name one of the agents, but for receipt `kept`. Without
// `to` it only counts these.
Result<std::size_t> ReceiptFile::Impl::copy_without(const std::set<std::string>& agents, std::uint64_t kept,
                                                    LineFile* to, std::uint64_t& bytes) const {
  Result<LineFile> from = LineFile::open(file.path(), LineFile::Mode::read);
  if (!from) return from.error();
  std::size_t erased = 0;
  Result<void> written;
  const Result<ReceiptCheck> check = check_receipts(*from, hash, [&](Receipt& receipt) {
    if (receipt.number != kept && receipt.body && detail::receipts::names_any(*receipt.body, agents)) {
      receipt.body.reset();
      ++erased;
    }
    if (!to || !written) return;
    const std::string line = line_of(receipt) + "\n";
    written = to->write(line, bytes);
    bytes += line.size();
  });
  if (!check) return check.error();
  if (!check->intact()) return broken(file.path(), *check);
  if (!written) return written.error();
  return erased;
}

Result<void> ReceiptFile::Impl::replace(LineFile&& made, std::uint64_t bytes) {
  if (Result<void> done = made.flush(); !done) return done;
  Result<LockFile> new_lock = LockFile::acquire_existing(made.path(), "ReceiptFile", "");
  if (!new_lock) return new_lock.error();
  if (auto gone = problem()) return *std::move(gone);
  if (Result<void> done = made.rename(file.path()); !done) return done;
  own_lock = std::move(*new_lock);
  file = std::move(made);
  size = bytes;
  has_rest = false;
  watched.note();
  return file.flush_folder();
}

Result<std::size_t> ReceiptFile::Impl::erase(const std::set<std::string>& agents, std::uint64_t kept) {
  if (auto gone = problem()) return *std::move(gone);
  std::uint64_t bytes = 0;
  Result<std::size_t> wanted = copy_without(agents, kept, nullptr, bytes);
  if (!wanted || *wanted == 0) return wanted;
  const std::string path = file.path() + "-new";
  ::unlink(path.c_str());  // of an earlier erasure that was cut off; nobody else writes it, by the lock
  Result<LineFile> made = LineFile::open(path, LineFile::Mode::create);
  if (!made) return made.error();
  Result<std::size_t> erased = copy_without(agents, kept, &*made, bytes);
  if (erased)
    if (Result<void> done = replace(std::move(*made), bytes); !done) erased = done.error();
  if (!erased) ::unlink(path.c_str());
  return erased;
}

void ReceiptFile::Impl::fail(const Error& error) noexcept {
  try {
    last_error = error;
    if (options.on_error) options.on_error(error);
  } catch (...) {  // a function of the host, or no memory for the text
    last_error.code = error.code;
  }
}

ReceiptFile::ReceiptFile(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {
}

// A forked child leaves the file to its parent.
ReceiptFile::~ReceiptFile() {
  if (impl_ && impl_->home.is_left()) static_cast<void>(impl_.release());
}

Result<std::unique_ptr<ReceiptFile>> ReceiptFile::open(const std::string& path, ReceiptOptions options) {
  auto opened = attempt([&]() -> Result<std::unique_ptr<ReceiptFile>> {
    if (auto problem = detail::receipts::problem_of(path, options.key, "ReceiptFile::open"))
      return *std::move(problem);
    Result<LockFile> lock = LockFile::acquire(path + "-lock", "ReceiptFile", "");
    if (!lock) return lock.error();
    Result<LineFile> file = LineFile::open(path, LineFile::Mode::append);
    if (!file) return file.error();
    Result<LostCount> lost = LostCount::open(path + "-lost");
    if (!lost) return lost.error();
    auto impl = std::make_unique<Impl>(std::move(*lock), std::move(*file), std::move(*lost), options);
    if (Result<void> done = impl->lock_file(path); !done) return done.error();
    if (Result<void> done = impl->verify(); !done) return done.error();
    return std::unique_ptr<ReceiptFile>(new ReceiptFile(std::move(impl)));
  });
  detail::receipts::wipe(options.key);
  return opened;
}

void ReceiptFile::record(const StopRecord& record) {
  Impl& impl = *impl_;
  const std::uint64_t before = impl.last.number;
  Result<void> done = attempt([&] { return impl.append(record); });
  if (impl.last.number == before) impl.count_lost();
  if (done && impl.options.forget_deleted && record.verb == StopVerb::terminate) {
    const Result<std::size_t> erased = attempt([&] {
      std::set<std::string> agents(record.descendants.begin(), record.descendants.end());
      agents.insert(record.agent_id);
      return impl.erase(agents, impl.last.number);
    });
    if (!erased) done = erased.error();
  }
  if (done) return;
  impl.fail(done.error());
  throw std::runtime_error(done.error().message);
}

Result<std::size_t> ReceiptFile::erase_agents(std::span<const std::string> agent_ids) {
  Result<std::size_t> erased = attempt([&] { return impl_->erase({agent_ids.begin(), agent_ids.end()}, 0); });
  if (!erased) impl_->fail(erased.error());
  return erased;
}

Result<std::size_t> ReceiptFile::erase_agent(const std::string& agent_id) {
  return erase_agents({&agent_id, 1});
}

ReceiptAnchor ReceiptFile::last() const {
  return impl_->last;
}

std::uint64_t ReceiptFile::torn_bytes() const noexcept {
  return impl_->torn_bytes;
}

const Error& ReceiptFile::last_error() const noexcept {
  return impl_->last_error;
}

}  // namespace agentcore
