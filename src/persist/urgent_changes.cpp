#include "persist/urgent_changes.hpp"

#include "persist/agent_record.hpp"
#include "persist/history_record.hpp"
#include "persist/record_kinds.hpp"
#include "persist/tree_record.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace agentcore::detail::persist {
namespace {

// Of one batch. A record may be in a page of its own, of 4 KiB, and 1 MiB is kept free.
constexpr std::size_t most_records = 100;
constexpr std::size_t most_bytes = std::size_t{256} * 1024;

struct NotRead {
  Error error;
};

using Change = StoreBatch::Change;

class UrgentWriter {
 public:
  UrgentWriter(const StoreBatch& changes, const ReadRange& read) : changes_(changes.changes()), read_(read) {}

  UrgentChanges take();

 private:
  std::optional<std::string> stored(const RecordKey& key) const;
  void sort_changes();
  void write_tree();
  void mark_deleted();
  void write_agents();
  bool close(AgentRecord& record, const AgentRecord& present) const;
  void take_grants(std::uint64_t key, AgentRecord& record, bool& changes);
  bool cut(std::uint64_t key, AgentRecord& record, const AgentRecord& present);
  std::size_t kept_messages(const std::vector<Piece>& history, const std::vector<Piece>& present) const;
  std::size_t begin_of_turn(const std::vector<Piece>& history, std::size_t at) const;
  void erase_agents();
  void erase_messages();
  bool is_erased(const RecordKey& key) const;
  std::vector<const Change*> erased_of(Kind kind, std::uint64_t owner) const;
  StoreBatch& batch();

  const std::vector<Change>& changes_;
  const ReadRange& read_;
  UrgentChanges urgent_;
  std::vector<const Change*> erased_;             // in the order of their keys
  std::map<RecordKey, const Change*> written_;    // by their keys
  std::map<std::uint64_t, AgentRecord> present_;  // agents that are written
  std::map<std::uint64_t, AgentRecord> deleted_;  // agents that the store has, and that are gone
  std::vector<Piece> kept_;                       // of agents that are written, when the batches are done
};

std::optional<std::string> UrgentWriter::stored(const RecordKey& key) const {
  std::optional<std::string> found;
  const auto done = read_(key, key, [&](const RecordKey&, std::string_view body) { found.emplace(body); });
  if (!done) throw NotRead{done.error()};
  return found;
}

void UrgentWriter::sort_changes() {
  for (const Change& change : changes_) {
    if (!change.body) {
      erased_.push_back(&change);
      continue;
    }
    written_.emplace(change.first, &change);
    if (Kind{change.first.kind} == Kind::agent)
      present_.emplace(change.first.owner, read_agent(*change.body));
  }
  for (const Change* const change : erased_) {
    if (Kind{change->first.kind} != Kind::agent || change->first.owner != change->last.owner) continue;
    if (const auto body = stored(change->first)) deleted_.emplace(change->first.owner, read_agent(*body));
  }
}

// The batch that is being filled.
StoreBatch& UrgentWriter::batch() {
  if (urgent_.batches.empty() || urgent_.batches.back().changes().size() >= most_records ||
      urgent_.batches.back().bytes() >= most_bytes) {
    urgent_.batches.emplace_back();
    urgent_.batches.back().use_reserve(true);
  }
  return urgent_.batches.back();
}

void UrgentWriter::write_tree() {
  const RecordKey key = key_of(Kind::tree);
  const auto found = written_.find(key);
  const auto body = found == written_.end() ? std::nullopt : stored(key);
  if (!body) return;
  TreeRecord record = read_tree(*body);
  const TreeRecord before = record, present = read_tree(*found->second->body);
  if (present.stopped) record.stop_unsettled = present.stop_unsettled;
  record.stopped = record.stopped || present.stopped;
  record.paused = record.paused || present.paused;
  if (!(record == before)) batch().put(key, to_json(record));
}

// Agents are erased in several batches: a restart between two of them finishes the delete.
void UrgentWriter::mark_deleted() {
  for (const auto& [key, record] : deleted_) {
    if (deleted_.contains(record.parent)) continue;
    AgentRecord marked = record;
    marked.gate = core::Gate::terminate;
    batch().put(key_of(Kind::agent, key), to_json(marked));
  }
}

void UrgentWriter::write_agents() {
  for (const auto& [key, present] : present_) {
    const auto body = stored(key_of(Kind::agent, key));
    if (!body) {
      urgent_.unwritten.insert(present.node);
      continue;
    }
    AgentRecord record = read_agent(*body);
    bool changes = close(record, present);
    take_grants(key, record, changes);
    changes = cut(key, record, present) || changes;
    if (changes) batch().put(key_of(Kind::agent, key), to_json(record));
    if (present.gate != core::Gate::open)  // it has dropped its messages
      for (const Change* const erased : erased_of(Kind::mail, key))
        batch().erase(erased->first, erased->last);
    kept_.insert(kept_.end(), record.history.begin(), record.history.end());
  }
}

// Nothing is opened: what the store has as closed stays so until everything is written.
bool UrgentWriter::close(AgentRecord& record, const AgentRecord& present) const {
  const std::string before = to_json(record);
  if (present.gate != core::Gate::open || present.grade != core::Grade::none) {
    record.gate = present.gate;
    record.grade = present.grade;
    record.grade_below = present.grade_below;
    record.grade_deletes = present.grade_deletes;
    record.deletes_forks = present.deletes_forks;
    record.stopped_by_ancestor = present.stopped_by_ancestor;
    record.stays_stopped = present.stays_stopped;
    record.unsettled = present.unsettled;
    record.cause = present.cause;
  }
  record.stays_stopped = record.stays_stopped || present.stays_stopped;
  record.paused = record.paused || present.paused;
  if (present.held && !record.held) {
    record.held = true;
    record.held_by_restart = present.held_by_restart;
  }
  record.holds_below = record.holds_below || present.holds_below;
  record.origin = present.origin;
  return to_json(record) != before;
}

// All permissions of the agent are written together. Fewer than before, or others: more wait for room.
void UrgentWriter::take_grants(std::uint64_t key, AgentRecord& record, bool& changes) {
  const std::vector<const Change*> erased = erased_of(Kind::grant, key);
  if (erased.empty()) return;
  std::size_t before = 0;
  const RecordKey first = key_of(Kind::grant, key), last = last_of(Kind::grant, key);
  const auto done = read_(first, last, [&](const RecordKey&, std::string_view) { ++before; });
  if (!done) throw NotRead{done.error()};
  const auto begin = written_.lower_bound(first), end = written_.upper_bound(last);
  if (static_cast<std::size_t>(std::distance(begin, end)) > before) return;
  StoreBatch& to = batch();
  to.erase(first, last);
  for (auto grant = begin; grant != end; ++grant) to.put(grant->first, *grant->second->body);
  if (!record.has_grants) record.has_grants = changes = true;
}

// Turns were taken back. What has come since waits for room.
bool UrgentWriter::cut(std::uint64_t key, AgentRecord& record, const AgentRecord& present) {
  std::size_t left = kept_messages(record.history, present.history);
  std::size_t all = 0;
  for (const Piece& piece : record.history) all += piece.count;
  if (left == all) return false;
  left = begin_of_turn(record.history, left);
  std::vector<Piece> history;
  for (const Piece& piece : record.history) {
    const std::uint64_t count = std::min<std::uint64_t>(piece.count, left);
    if (count != 0) history.push_back({piece.segment, piece.first, count});
    left -= static_cast<std::size_t>(count);
  }
  record.history = std::move(history);
  record.turn.reset();
  record.tasks = present.tasks;
  if (record.has_context) batch().erase(key_of(Kind::context, key));
  record.has_context = false;
  return true;
}

// How many messages come before the first one that was taken back. Those at the front that are not sent any
// more (ContextOptions::archive_bytes) do not count: what is sent refers to their number.
std::size_t UrgentWriter::kept_messages(const std::vector<Piece>& history,
                                        const std::vector<Piece>& present) const {
  std::size_t at = 0, written = 0, all = 0;
  bool in_front = !present.empty(), any_written = false;
  for (const Piece& piece : history) all += piece.count;
  std::optional<std::size_t> gone;
  for (const Piece& piece : history)
    for (std::uint64_t number = piece.first; number < piece.end() && !gone; ++number, ++at) {
      const RecordKey key = key_of(Kind::history, piece.segment, number);
      const bool is_written = written_.contains(key);
      if (is_written && !any_written) written = at;
      any_written = any_written || is_written;
      const bool is_gone = !is_written && is_erased(key);
      if (is_gone && !in_front) gone = at;
      in_front = in_front && is_gone;
    }
  if (in_front && !history.empty()) return 0;  // all are gone
  if (!gone) return all;
  return any_written ? std::min(written, *gone) : *gone;
}

// The last message at or before that place with which a turn begins; the place itself if there is none.
std::size_t UrgentWriter::begin_of_turn(const std::vector<Piece>& history, std::size_t at) const {
  std::size_t position = 0, begin = at;
  for (const Piece& piece : history) {
    if (position > at) break;
    const auto done = read_(key_of(Kind::history, piece.segment, piece.first),
                            key_of(Kind::history, piece.segment, piece.end() - 1),
                            [&](const RecordKey&, std::string_view body) {
                              if (position <= at && read_message(body).place) begin = position;
                              ++position;
                            });
    if (!done) throw NotRead{done.error()};
  }
  return begin;
}

// Children before parents.
void UrgentWriter::erase_agents() {
  for (auto agent = deleted_.rbegin(); agent != deleted_.rend(); ++agent) {
    const std::uint64_t key = agent->first;
    StoreBatch& to = batch();
    to.erase(key_of(Kind::agent, key));
    to.erase(key_of(Kind::context, key));
    to.erase(key_of(Kind::mail, key), last_of(Kind::mail, key));
    to.erase(key_of(Kind::grant, key), last_of(Kind::grant, key));
  }
}

// Messages that no agent has, neither in the store nor at present. Those of agents that are not written are
// in no erased range.
void UrgentWriter::erase_messages() {
  std::sort(kept_.begin(), kept_.end(), [](const Piece& a, const Piece& b) {
    return std::tie(a.segment, a.first) < std::tie(b.segment, b.first);
  });
  for (const Change* const change : erased_) {
    if (Kind{change->first.kind} != Kind::history) continue;
    RecordKey next = change->first;
    for (const Piece& piece : kept_) {
      const RecordKey first = key_of(Kind::history, piece.segment, piece.first);
      const RecordKey end = key_of(Kind::history, piece.segment, piece.end());
      if (end <= next) continue;
      if (change->last < first) break;
      if (next < first) {
        RecordKey last = first;
        if (last.number != 0)
          --last.number;
        else
          last = last_of(Kind::history, piece.segment - 1);
        batch().erase(next, last);
      }
      next = end;
    }
    if (next <= change->last) batch().erase(next, change->last);
  }
}

bool UrgentWriter::is_erased(const RecordKey& key) const {
  const auto after = std::upper_bound(erased_.begin(), erased_.end(), key,
                                      [](const RecordKey& at, const Change* one) { return at < one->first; });
  return after != erased_.begin() && key <= (*std::prev(after))->last;
}

std::vector<const Change*> UrgentWriter::erased_of(Kind kind, std::uint64_t owner) const {
  std::vector<const Change*> found;
  auto at = std::lower_bound(erased_.begin(), erased_.end(), key_of(kind, owner),
                             [](const Change* one, const RecordKey& key) { return one->first < key; });
  for (; at != erased_.end() && (*at)->first <= last_of(kind, owner); ++at) found.push_back(*at);
  return found;
}

UrgentChanges UrgentWriter::take() {
  sort_changes();
  write_tree();
  mark_deleted();
  write_agents();
  erase_agents();
  erase_messages();
  return std::move(urgent_);
}

}  // namespace

Result<UrgentChanges> urgent_changes(const StoreBatch& changes, const ReadRange& read) {
  try {
    return UrgentWriter(changes, read).take();
  } catch (NotRead& problem) {
    return std::move(problem.error);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return Error{Errc::store_corrupt, std::string("a record of an agent cannot be read: ") + error.what()};
  }
}

}  // namespace agentcore::detail::persist
