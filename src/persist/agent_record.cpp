#include "persist/agent_record.hpp"

#include "persist/json_fields.hpp"
#include "persist/record_text.hpp"
#include "persist/turn_record.hpp"

#include <agentcore/store.hpp>

namespace agentcore::detail::persist {
namespace {

json account_json(const AccountRecord& account) {
  json object{{"budget", budget_json(account.budget)}};
  put(object, "turns", account.spent.turns);
  put(object, "tokens", account.spent.tokens);
  put(object, "cost", account.spent.cost);
  put(object, "expired", account.expired);
  return object;
}

AccountRecord read_account(const json& object) {
  AccountRecord account;
  account.budget = read_budget(object.at("budget"));
  get(object, "turns", account.spent.turns);
  get(object, "tokens", account.spent.tokens);
  get(object, "cost", account.spent.cost);
  get(object, "expired", account.expired);
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
  json list = json::array();
  for (const TaskRecord& task : tasks) list.push_back({task.id, task.tool});
  return list.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<Piece> read_pieces(const json& list) {
  std::vector<Piece> pieces;
  for (const json& entry : list) {
    const Piece piece{entry.at(0).get<std::uint64_t>(), entry.at(1).get<std::uint64_t>(),
                      entry.at(2).get<std::uint64_t>()};
    if (piece.segment > RecordKey::max || piece.first > RecordKey::max || piece.count == 0 ||
        piece.count > RecordKey::max - piece.first)
      throw json::other_error::create(501, "history has a piece that is out of range", &entry);
    pieces.push_back(piece);
  }
  return pieces;
}

}  // namespace

AccountRecord account_record(const turn::Account& account, const loop::Engine& engine) {
  AccountRecord record{account.budget(), account.spent(), account.is_expired()};
  record.budget.wall_clock = account.wall_clock().left(engine);
  return record;
}

json budget_json(const Budget& budget) {
  json object = json::object();
  put(object, "turns", budget.turns, no_limit);
  put(object, "tokens", budget.tokens, no_limit);
  put(object, "cost", budget.cost, no_limit);
  put_duration(object, "wall_clock", budget.wall_clock, no_limit);
  return object;
}

Budget read_budget(const json& object) {
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
  text.put("stopped_by_ancestor", record.stopped_by_ancestor);
  text.put("stays_stopped", record.stays_stopped);
  text.put_enum("cause", record.cause, StopCause::user);
  text.put("paused", record.paused);
  text.put("held", record.held);
  text.put("holds_below", record.holds_below);
  text.put("turns", record.turns);
  text.put("tool_turns", record.tool_turns);
  text.put("summary_tokens", record.summary_tokens);
  text.put("ended_tasks", record.ended_tasks);
  if (record.turn) text.add_json("turn", to_json(*record.turn));
  if (!record.tasks.empty()) text.add_json("tasks", tasks_json(record.tasks));
  text.put("origin", record.origin);
  text.put("of_call", record.of_call);
  if (!record.history.empty()) text.add_json("history", pieces_json(record.history));
  text.put("has_context", record.has_context);
  text.put("has_grants", record.has_grants);
  if (record.own) text.add_json("own", account_json(*record.own).dump());
  if (record.subtree) text.add_json("subtree", account_json(*record.subtree).dump());
  return text.take();
}

AgentRecord read_agent(std::string_view text) {
  const json object = parse_object(text);
  AgentRecord record;
  object.at("node").get_to(record.node);
  object.at("spec").get_to(record.spec);
  get(object, "name", record.name);
  get(object, "parent", record.parent);
  get_enum(object, "gate", record.gate, core::Gate::terminate);
  get_enum(object, "grade", record.grade, core::Grade::after_step);
  get_enum(object, "grade_below", record.grade_below, core::Grade::after_step);
  get(object, "grade_deletes", record.grade_deletes);
  get(object, "stopped_by_ancestor", record.stopped_by_ancestor);
  get(object, "stays_stopped", record.stays_stopped);
  get_enum(object, "cause", record.cause, StopCause::lease);
  get(object, "paused", record.paused);
  get(object, "held", record.held);
  get(object, "holds_below", record.holds_below);
  get(object, "turns", record.turns);
  get(object, "tool_turns", record.tool_turns);
  get(object, "summary_tokens", record.summary_tokens);
  get(object, "ended_tasks", record.ended_tasks);
  if (const auto turn = object.find("turn"); turn != object.end()) record.turn = read_turn(*turn);
  if (const auto tasks = object.find("tasks"); tasks != object.end())
    for (const json& task : *tasks)
      record.tasks.push_back({task.at(0).get<std::string>(), task.at(1).get<std::string>()});
  get(object, "origin", record.origin);
  get(object, "of_call", record.of_call);
  if (const auto history = object.find("history"); history != object.end())
    record.history = read_pieces(*history);
  get(object, "has_context", record.has_context);
  get(object, "has_grants", record.has_grants);
  if (const auto own = object.find("own"); own != object.end()) record.own = read_account(*own);
  if (const auto subtree = object.find("subtree"); subtree != object.end())
    record.subtree = read_account(*subtree);
  return record;
}

}  // namespace agentcore::detail::persist
