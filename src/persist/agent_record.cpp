#include "persist/agent_record.hpp"

#include "core/validate.hpp"
#include "persist/fields.hpp"
#include "persist/turn_record.hpp"

#include <agentcore/store.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace agentcore::detail::persist {
namespace {

// So that later numbers have room.
constexpr std::uint64_t max_place = RecordKey::max / 4;
constexpr std::uint64_t max_turns = std::numeric_limits<std::uint32_t>::max() / 2;
// Of all model calls: each costs core::max_amount at most.
constexpr double max_cost = 1e30;

void check_account(std::string_view name, const std::optional<AccountRecord>& account) {
  if (!account) return;
  core::Validation check("budget");
  check.budget("", account->budget).number("used cost", account->spent.cost, 0, max_cost);
  if (check.problem()) refuse_field(name, "is invalid: " + check.problem()->message);
}

void check_pieces(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces)
    if (piece.segment > max_place || piece.first > max_place || piece.count == 0 || piece.count > max_place)
      refuse_field("history", "has a piece that is out of range");
}

// A conversation has each record once: else a small store would be a huge conversation.
void check_overlap(std::vector<Piece> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return std::pair(a.segment, a.first) < std::pair(b.segment, b.first);
  });
  const auto overlap = std::adjacent_find(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.segment == b.segment && b.first < a.end();
  });
  if (overlap != pieces.end()) refuse_field("history", "has a message twice");
  std::uint64_t room = max_place;
  for (const Piece& piece : pieces) {
    if (piece.count > room) refuse_field("history", "is out of range");
    room -= piece.count;
  }
}

}  // namespace

AccountRecord account_record(const turn::Account& account, const loop::Engine& engine) {
  AccountRecord record{account.budget(), account.spent(), account.is_expired()};
  record.budget.wall_clock = account.wall_clock().left(engine);
  return record;
}

template <typename Io, Of<AccountRecord> T>
void fields(Io& io, T& account) {
  io.need_object("budget", account.budget);
  io.field("turns", account.spent.turns);
  io.field("tokens", account.spent.tokens);
  io.field("cost", account.spent.cost);
  io.field("expired", account.expired);
}

template <typename Io, Of<Piece> T>
void items(Io& io, T& piece) {
  io.item(piece.segment);
  io.item(piece.first);
  io.item(piece.count);
}

template <typename Io, Of<TaskRecord> T>
void items(Io& io, T& task) {
  io.item(task.id);
  io.item(task.tool);
}

template <typename Io, Of<AgentRecord> T>
void fields(Io& io, T& record) {
  io.need("node", record.node);
  io.need("spec", record.spec);
  io.field("name", record.name);
  io.field("parent", record.parent);
  io.number("gate", record.gate, core::Gate::open, core::Gate::terminate);
  io.number("grade", record.grade, core::Grade::none, core::Grade::after_step);
  io.number("grade_below", record.grade_below, core::Grade::none, core::Grade::after_step);
  io.field("grade_deletes", record.grade_deletes);
  io.field("deletes_forks", record.deletes_forks);
  io.field("stopped_by_ancestor", record.stopped_by_ancestor);
  io.field("stays_stopped", record.stays_stopped);
  io.field("unsettled", record.unsettled);
  io.number("cause", record.cause, StopCause::user, StopCause::lease);
  io.field("paused", record.paused);
  io.field("held", record.held);
  io.field("held_by_restart", record.held_by_restart);
  io.field("holds_below", record.holds_below);
  io.field("turns", record.turns);
  io.field("tool_turns", record.tool_turns);
  io.field("summary_tokens", record.summary_tokens);
  io.field("ended_tasks", record.ended_tasks);
  io.object("turn", record.turn);
  io.list("tasks", record.tasks);
  io.field("tool_children", record.tool_children);
  io.field("origin", record.origin);
  io.field("of_call", record.of_call);
  io.field("of_task", record.of_task);
  io.list("history", record.history);
  io.field("has_context", record.has_context);
  io.field("has_grants", record.has_grants);
  io.object("own", record.own);
  io.object("subtree", record.subtree);
}

std::string to_json(const AgentRecord& record) {
  return FieldWriter::json_of(record);
}

AgentRecord read_agent(std::string_view text) {
  AgentRecord record = record_of<AgentRecord>(text);
  if (record.turns > max_turns) refuse_field("turns", "is out of range");
  if (record.tool_turns > max_turns) refuse_field("tool_turns", "is out of range");
  if (record.summary_tokens > max_place) refuse_field("summary_tokens", "is out of range");
  check_account("own", record.own);
  check_account("subtree", record.subtree);
  check_pieces(record.history);
  check_overlap(record.history);
  return record;
}

}  // namespace agentcore::detail::persist
