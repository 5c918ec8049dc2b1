#include "persist/agent_record.hpp"

#include "core/validate.hpp"
#include "persist/json_fields.hpp"
#include "persist/record_text.hpp"
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

std::string account_json(const AccountRecord& account) {
  RecordText text;
  text.add_json("budget", budget_json(account.budget));
  text.put("turns", account.spent.turns);
  text.put("tokens", account.spent.tokens);
  text.put("cost", account.spent.cost);
  text.put("expired", account.expired);
  return text.take();
}

AccountRecord read_account(const json& object, std::string_view name) {
  AccountRecord account;
  account.budget = read_budget(member_of(object, "budget"));
  get(object, "turns", account.spent.turns);
  get(object, "tokens", account.spent.tokens);
  get(object, "cost", account.spent.cost);
  get(object, "expired", account.expired);
  core::Validation check("budget");
  check.budget("", account.budget).number("used cost", account.spent.cost, 0, max_cost);
  if (check.problem()) refuse_field(name, "is invalid: " + check.problem()->message);
  return account;
}

std::string pieces_json(const std::vector<Piece>& pieces) {
  std::string list;
  for (const Piece& piece : pieces) {
    RecordText::add_number(list += list.empty() ? "[[" : ",[", piece.segment);
    RecordText::add_number(list += ',', piece.first);
    RecordText::add_number(list += ',', piece.count);
    list += ']';
  }
  return list += ']';
}

std::string tasks_json(const std::vector<TaskRecord>& tasks) {
  return RecordText::array(tasks, [](const TaskRecord& task) {
    return '[' + RecordText::string(task.id) + ',' + RecordText::string(task.tool) + ']';
  });
}

TaskRecord read_task(const json& entry) {
  TaskRecord task;
  read_value(entry_of(entry, "tasks", 0, 2), "tasks", task.id);
  read_value(entry[1], "tasks", task.tool);
  return task;
}

Piece read_piece(const json& entry) {
  Piece piece;
  read_value(entry_of(entry, "history", 0, 3), "history", piece.segment);
  read_value(entry[1], "history", piece.first);
  read_value(entry[2], "history", piece.count);
  if (piece.segment > max_place || piece.first > max_place || piece.count == 0 || piece.count > max_place)
    refuse_field("history", "has a piece that is out of range");
  return piece;
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

std::string budget_json(const Budget& budget) {
  RecordText text;
  text.put("turns", budget.turns, no_limit);
  text.put("tokens", budget.tokens, no_limit);
  text.put("cost", budget.cost, no_limit);
  text.put_duration("wall_clock", budget.wall_clock, no_limit);
  return text.take();
}

Budget read_budget(const json& object) {
  if (!object.is_object()) refuse_field("budget", "is not an object");
  Budget budget;
  get(object, "turns", budget.turns);
  get(object, "tokens", budget.tokens);
  get(object, "cost", budget.cost);
  get_duration(object, "wall_clock", budget.wall_clock);
  return budget;
}

std::string to_json(const AgentRecord& record) {
  RecordText text;
  text.add("node", record.node);
  text.add("spec", record.spec);
  text.put("name", record.name);
  text.put("parent", record.parent);
  text.put_enum("gate", record.gate, core::Gate::open);
  text.put_enum("grade", record.grade, core::Grade::none);
  text.put_enum("grade_below", record.grade_below, core::Grade::none);
  text.put("grade_deletes", record.grade_deletes);
  text.put("deletes_forks", record.deletes_forks);
  text.put("stopped_by_ancestor", record.stopped_by_ancestor);
  text.put("stays_stopped", record.stays_stopped);
  text.put("unsettled", record.unsettled);
  text.put_enum("cause", record.cause, StopCause::user);
  text.put("paused", record.paused);
  text.put("held", record.held);
  text.put("held_by_restart", record.held_by_restart);
  text.put("holds_below", record.holds_below);
  text.put("turns", record.turns);
  text.put("tool_turns", record.tool_turns);
  text.put("summary_tokens", record.summary_tokens);
  text.put("ended_tasks", record.ended_tasks);
  if (record.turn) text.add_json("turn", to_json(*record.turn));
  if (!record.tasks.empty()) text.add_json("tasks", tasks_json(record.tasks));
  if (!record.tool_children.empty()) text.add("tool_children", record.tool_children);
  text.put("origin", record.origin);
  text.put("of_call", record.of_call);
  text.put("of_task", record.of_task);
  if (!record.history.empty()) text.add_json("history", pieces_json(record.history));
  text.put("has_context", record.has_context);
  text.put("has_grants", record.has_grants);
  if (record.own) text.add_json("own", account_json(*record.own));
  if (record.subtree) text.add_json("subtree", account_json(*record.subtree));
  return text.take();
}

AgentRecord read_agent(std::string_view text) {
  const ParsedRecord parsed(text);
  const json& object = *parsed;
  AgentRecord record;
  need(object, "node", record.node);
  need(object, "spec", record.spec);
  get(object, "name", record.name);
  get(object, "parent", record.parent);
  get_enum(object, "gate", record.gate, core::Gate::terminate);
  get_enum(object, "grade", record.grade, core::Grade::after_step);
  get_enum(object, "grade_below", record.grade_below, core::Grade::after_step);
  get(object, "grade_deletes", record.grade_deletes);
  get(object, "deletes_forks", record.deletes_forks);
  get(object, "stopped_by_ancestor", record.stopped_by_ancestor);
  get(object, "stays_stopped", record.stays_stopped);
  get(object, "unsettled", record.unsettled);
  get_enum(object, "cause", record.cause, StopCause::lease);
  get(object, "paused", record.paused);
  get(object, "held", record.held);
  get(object, "held_by_restart", record.held_by_restart);
  get(object, "holds_below", record.holds_below);
  get(object, "turns", record.turns);
  get(object, "tool_turns", record.tool_turns);
  get(object, "summary_tokens", record.summary_tokens);
  get(object, "ended_tasks", record.ended_tasks);
  get_object(object, "turn", [&](const json& turn) { record.turn = read_turn(turn); });
  get_each(object, "tasks", [&](const json& task) { record.tasks.push_back(read_task(task)); });
  get_each(object, "tool_children",
           [&](const json& name) { read_value(name, "tool_children", record.tool_children.emplace_back()); });
  get(object, "origin", record.origin);
  get(object, "of_call", record.of_call);
  get(object, "of_task", record.of_task);
  get_each(object, "history", [&](const json& piece) { record.history.push_back(read_piece(piece)); });
  get(object, "has_context", record.has_context);
  get(object, "has_grants", record.has_grants);
  get_object(object, "own", [&](const json& own) { record.own = read_account(own, "own"); });
  get_object(object, "subtree",
             [&](const json& subtree) { record.subtree = read_account(subtree, "subtree"); });
  if (record.turns > max_turns) refuse_field("turns", "is out of range");
  if (record.tool_turns > max_turns) refuse_field("tool_turns", "is out of range");
  if (record.summary_tokens > max_place) refuse_field("summary_tokens", "is out of range");
  check_overlap(record.history);
  return record;
}

}  // namespace agentcore::detail::persist
