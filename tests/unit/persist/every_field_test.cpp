// [G14] Each field of each record is written and read: each has, alone, a value that is not its default.
#include "unit/persist/every_field.hpp"

#include "persist/agent_record.hpp"
#include "persist/context_record.hpp"
#include "persist/grant_record.hpp"
#include "persist/history_record.hpp"
#include "persist/mail_record.hpp"
#include "persist/tree_record.hpp"
#include "persist/turn_record.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

#include <agentcore/chat.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::detail;
using namespace std::chrono_literals;
using agentcore::test::check_fields;
using agentcore::test::count_of;
using agentcore::test::Field;
using nlohmann::json;

namespace {

template <typename Record>
std::string text_of(const Record& record) {
  return persist::to_json(record);
}

TextItem& text_item(ChatMessage& message) {
  return ItemsOf<TextItem>(message.items).front();
}

turn::StoredTurn usual_turn() {
  turn::StoredTurn turn;
  turn.number = 1;
  turn.message = MessageId{2};
  turn.deadline = {WallTime(24h), 3h};
  return turn;
}

}  // namespace

TEST_CASE("every field of the record of a tree is kept", "[persist][restore][G14]") {
  using persist::TreeRecord;
  const TreeRecord usual;
  const auto& [format, next_key, next_spec, next_segment, generation, sequence, questions, grants, identity,
               stopped, stop_unsettled, paused, swept, epoch] = usual;
  const std::size_t kept = count_of(next_key, next_spec, next_segment, generation, sequence, questions,
                                    grants, identity, stopped, stop_unsettled, paused, swept, epoch);
  CHECK(format == TreeRecord::format_now);
  check_fields<TreeRecord>(
      usual, kept,
      {{"next_key", [](TreeRecord& tree) { tree.next_key = 2; }},
       {"next_spec", [](TreeRecord& tree) { tree.next_spec = 2; }},
       {"next_segment", [](TreeRecord& tree) { tree.next_segment = 2; }},
       {"generation", [](TreeRecord& tree) { tree.generation = 2; }},
       {"sequence", [](TreeRecord& tree) { tree.sequence = 2; }},
       {"questions", [](TreeRecord& tree) { tree.questions = 2; }},
       {"grants", [](TreeRecord& tree) { tree.grants = 2; }},
       {"identity", [](TreeRecord& tree) { tree.identity = "0123456789abcdef0123456789abcdef"; }},
       {"stopped", [](TreeRecord& tree) { tree.stopped = true; }},
       {"stop_unsettled", [](TreeRecord& tree) { tree.stop_unsettled = true; }},
       {"paused", [](TreeRecord& tree) { tree.paused = true; }},
       {"swept", [](TreeRecord& tree) { tree.swept = true; }},
       {"epoch", [](TreeRecord& tree) { tree.epoch = 2; }}},
      text_of<TreeRecord>, persist::read_tree);
}

TEST_CASE("every field of the record of an agent is kept", "[persist][restore][G14]") {
  using persist::AgentRecord;
  AgentRecord usual;
  usual.node = 1;
  usual.spec = 1;
  const auto& [node, name, parent, spec, gate, grade, grade_below, grade_deletes, deletes_forks,
               stopped_by_ancestor, stays_stopped, unsettled, cause, paused, held, held_by_restart,
               holds_below, turns, tool_turns, summary_tokens, ended_tasks, turn, tasks, tool_children,
               origin, of_call, of_task, history, has_context, has_grants, own, subtree] = usual;
  const std::size_t kept =
      count_of(node, name, parent, spec, gate, grade, grade_below, grade_deletes, deletes_forks,
               stopped_by_ancestor, stays_stopped, unsettled, cause, paused, held, held_by_restart,
               holds_below, turns, tool_turns, summary_tokens, ended_tasks, turn, tasks, tool_children,
               origin, of_call, of_task, history, has_context, has_grants, own, subtree);
  std::vector<Field<AgentRecord>> fields{
      {"node", [](AgentRecord& agent) { agent.node = 2; }},
      {"name", [](AgentRecord& agent) { agent.name = "a"; }},
      {"parent", [](AgentRecord& agent) { agent.parent = 1; }},
      {"spec", [](AgentRecord& agent) { agent.spec = 2; }},
      {"grade_deletes", [](AgentRecord& agent) { agent.grade_deletes = true; }},
      {"deletes_forks", [](AgentRecord& agent) { agent.deletes_forks = true; }},
      {"stopped_by_ancestor", [](AgentRecord& agent) { agent.stopped_by_ancestor = true; }},
      {"stays_stopped", [](AgentRecord& agent) { agent.stays_stopped = true; }},
      {"unsettled", [](AgentRecord& agent) { agent.unsettled = true; }},
      {"paused", [](AgentRecord& agent) { agent.paused = true; }},
      {"held", [](AgentRecord& agent) { agent.held = true; }},
      {"held_by_restart", [](AgentRecord& agent) { agent.held_by_restart = true; }},
      {"holds_below", [](AgentRecord& agent) { agent.holds_below = true; }},
      {"turns", [](AgentRecord& agent) { agent.turns = 1; }},
      {"tool_turns", [](AgentRecord& agent) { agent.tool_turns = 1; }},
      {"summary_tokens", [](AgentRecord& agent) { agent.summary_tokens = 1; }},
      {"ended_tasks", [](AgentRecord& agent) { agent.ended_tasks = "done"; }},
      {"turn", [](AgentRecord& agent) { agent.turn = usual_turn(); }},
      {"tasks",
       [](AgentRecord& agent) {
         agent.tasks = {{"task_1", "build"}};
       }},
      {"tasks",
       [](AgentRecord& agent) {
         agent.tasks = {{"task_2", "build"}};
       }},
      {"tasks",
       [](AgentRecord& agent) {
         agent.tasks = {{"task_1", "test"}};
       }},
      {"tool_children", [](AgentRecord& agent) { agent.tool_children = {"a"}; }},
      {"tool_children",
       [](AgentRecord& agent) {
         agent.tool_children = {"a", "b"};
       }},
      {"origin", [](AgentRecord& agent) { agent.origin = 2; }},
      {"of_call", [](AgentRecord& agent) { agent.of_call = true; }},
      {"of_task", [](AgentRecord& agent) { agent.of_task = true; }},
      {"history",
       [](AgentRecord& agent) {
         agent.history = {{1, 2, 3}};
       }},
      {"history",
       [](AgentRecord& agent) {
         agent.history = {{1, 2, 3}, {3, 1, 2}};
       }},
      {"has_context", [](AgentRecord& agent) { agent.has_context = true; }},
      {"has_grants", [](AgentRecord& agent) { agent.has_grants = true; }},
      {"own", [](AgentRecord& agent) { agent.own.emplace(); }},
      {"subtree", [](AgentRecord& agent) { agent.subtree.emplace(); }}};
  for (const auto value : {core::Gate::stop_self, core::Gate::stop_tree, core::Gate::terminate})
    fields.push_back({"gate", [value](AgentRecord& agent) { agent.gate = value; }});
  for (const auto value : {core::Grade::after_turn, core::Grade::after_step}) {
    fields.push_back({"grade", [value](AgentRecord& agent) { agent.grade = value; }});
    fields.push_back({"grade_below", [value](AgentRecord& agent) { agent.grade_below = value; }});
  }
  for (const auto value : {StopCause::parent, StopCause::deadline, StopCause::budget, StopCause::shutdown,
                           StopCause::terminate, StopCause::lease})
    fields.push_back({"cause", [value](AgentRecord& agent) { agent.cause = value; }});
  check_fields(usual, kept, fields, text_of<AgentRecord>, persist::read_agent);
}

TEST_CASE("every field of the record of a budget is kept", "[persist][restore][budget][G14]") {
  using persist::AccountRecord;
  const AccountRecord usual;
  const auto& [budget, spent, expired] = usual;
  const auto& [turns, tokens, cost, wall_clock] = budget;
  // What is reserved for a call that runs is not kept.
  const auto& [used_turns, used_tokens, used_cost, used_reserved] = spent;
  CHECK(used_reserved == 0);
  const std::size_t kept =
      count_of(turns, tokens, cost, wall_clock, used_turns, used_tokens, used_cost, expired);
  const std::vector<Field<AccountRecord>> fields{
      {"turns", [](AccountRecord& account) { account.budget.turns = 3; }},
      {"tokens", [](AccountRecord& account) { account.budget.tokens = 3; }},
      {"cost", [](AccountRecord& account) { account.budget.cost = 0.5; }},
      {"wall_clock", [](AccountRecord& account) { account.budget.wall_clock = 3ns; }},
      {"used_turns", [](AccountRecord& account) { account.spent.turns = 3; }},
      {"used_tokens", [](AccountRecord& account) { account.spent.tokens = 3; }},
      {"used_cost", [](AccountRecord& account) { account.spent.cost = 0.5; }},
      {"expired", [](AccountRecord& account) { account.expired = true; }}};
  const auto in_agent = [](std::optional<AccountRecord> persist::AgentRecord::*member) {
    return [member](const AccountRecord& account) {
      persist::AgentRecord agent;
      agent.*member = account;
      return persist::to_json(agent);
    };
  };
  check_fields(usual, kept, fields, in_agent(&persist::AgentRecord::own),
               [](const std::string& text) { return persist::read_agent(text).own.value(); });
  check_fields(usual, kept, fields, in_agent(&persist::AgentRecord::subtree),
               [](const std::string& text) { return persist::read_agent(text).subtree.value(); });
}

TEST_CASE("every field of the record of a turn is kept", "[persist][restore][turns][G14]") {
  using turn::StoredTurn;
  const StoredTurn usual = usual_turn();
  const auto& [number, message, asked, delegated, over, has_words, was_cut_off, deadline, deadline_of_message,
               attempt, allowed, model_calls, repairs, unreadable, usage, cost, calls, questions] = usual;
  const auto& [prompt, completion, total, cached, reasoning, complete, cache_write] = usage;
  const std::size_t kept =
      count_of(number, message, asked, delegated, over, has_words, was_cut_off, deadline, deadline_of_message,
               attempt, allowed, model_calls, repairs, unreadable, cost, calls, questions) +
      count_of(prompt, completion, total, cached, reasoning, complete, cache_write);
  const auto with_question = [](turn::RestoredQuestion question) {
    return Field<StoredTurn>{"questions", [question](StoredTurn& turn) { turn.questions = {question}; }};
  };
  check_fields<StoredTurn>(
      usual, kept,
      {{"number", [](StoredTurn& turn) { turn.number = 5; }},
       {"message", [](StoredTurn& turn) { turn.message.value = 5; }},
       {"asked", [](StoredTurn& turn) { turn.asked = true; }},
       {"delegated", [](StoredTurn& turn) { turn.delegated = true; }},
       {"has_words", [](StoredTurn& turn) { turn.has_words = true; }},
       {"over", [](StoredTurn& turn) { turn.over = true; }},
       {"deadline", [](StoredTurn& turn) { turn.deadline.reset(); }},
       {"deadline", [](StoredTurn& turn) { turn.deadline->when += 1ns; }},
       {"deadline", [](StoredTurn& turn) { turn.deadline->left += 1ns; }},
       {"deadline_of_message", [](StoredTurn& turn) { turn.deadline_of_message = true; }},
       {"attempt", [](StoredTurn& turn) { turn.attempt = 5; }},
       {"allowed", [](StoredTurn& turn) { turn.allowed = 5ns; }},
       {"model_calls", [](StoredTurn& turn) { turn.model_calls = 5; }},
       {"repairs", [](StoredTurn& turn) { turn.repairs = 5; }},
       {"unreadable", [](StoredTurn& turn) { turn.unreadable = 5; }},
       {"was_cut_off", [](StoredTurn& turn) { turn.was_cut_off = true; }},
       {"prompt_tokens", [](StoredTurn& turn) { turn.usage.prompt_tokens = 5; }},
       {"completion_tokens", [](StoredTurn& turn) { turn.usage.completion_tokens = 5; }},
       {"total_tokens", [](StoredTurn& turn) { turn.usage.total_tokens = 5; }},
       {"cached_tokens", [](StoredTurn& turn) { turn.usage.cached_tokens = 5; }},
       {"reasoning_tokens", [](StoredTurn& turn) { turn.usage.reasoning_tokens = 5; }},
       {"cache_write_tokens", [](StoredTurn& turn) { turn.usage.cache_write_tokens = 5; }},
       {"complete", [](StoredTurn& turn) { turn.usage.complete = false; }},
       {"cost", [](StoredTurn& turn) { turn.cost = 0.5; }},
       {"cost", [](StoredTurn& turn) { turn.cost = 0; }},
       {"calls", [](StoredTurn& turn) { turn.calls.resize(1); }},
       {"calls", [](StoredTurn& turn) { turn.calls.resize(2); }},
       with_question({"c", false, 1, {}}),
       with_question({"d", false, 1, {}}),
       with_question({"c", true, 1, {}}),
       with_question({"c", false, 2, {}}),
       with_question({"c", false, 1, 0}),
       with_question({"c", false, 1, 7})},
      text_of<StoredTurn>, [](const std::string& text) { return persist::read_turn(json::parse(text)); });
}

TEST_CASE("every field of the record of a tool call is kept", "[persist][restore][turns][G9][G14]") {
  using turn::StoredCall;
  using State = turn::Call::State;
  const StoredCall usual;
  const auto& [state, outcome, success, by_host, ends_turn, readable, may_begin, begun_before, no_arguments] =
      usual;
  const std::size_t kept =
      count_of(state, outcome, success, by_host, ends_turn, readable, may_begin, begun_before, no_arguments);
  std::vector<Field<StoredCall>> fields{{"success", [](StoredCall& call) { call.success = true; }},
                                        {"by_host", [](StoredCall& call) { call.by_host = true; }},
                                        {"ends_turn", [](StoredCall& call) { call.ends_turn = true; }},
                                        {"readable", [](StoredCall& call) { call.readable = false; }},
                                        {"may_begin", [](StoredCall& call) { call.may_begin = true; }},
                                        {"begun_before", [](StoredCall& call) { call.begun_before = true; }},
                                        {"no_arguments", [](StoredCall& call) { call.no_arguments = true; }}};
  for (const State value : {State::waiting, State::asking, State::approved, State::storing, State::running})
    fields.push_back({"state", [value](StoredCall& call) { call.state = value; }});
  for (const ToolOutcome value : {ToolOutcome::completed, ToolOutcome::interrupted, ToolOutcome::abandoned})
    fields.push_back({"outcome", [value](StoredCall& call) { call.outcome = value; }});
  check_fields(
      usual, kept, fields,
      [](const StoredCall& call) {
        turn::StoredTurn turn = usual_turn();
        turn.calls = {call};
        return persist::to_json(turn);
      },
      [](const std::string& text) { return persist::read_turn(json::parse(text)).calls.at(0); });
}

TEST_CASE("every field of the record of a message that waits is kept", "[persist][restore][mail][G14]") {
  using persist::MailRecord;
  MailRecord usual;
  usual.message.parts.emplace_back();
  const auto& [id, message, deadline, simulated, begun] = usual;
  const auto& [text, sender, parts, kind, priority] = message;
  const auto& [url, data, media_type, detail, part_kind, part_name] = parts[0];
  const std::size_t kept = count_of(id, deadline, simulated, begun) +
                           count_of(text, sender, parts, kind, priority) +
                           count_of(url, data, media_type, detail, part_kind, part_name);
  check_fields<MailRecord>(
      usual, kept,
      {{"id", [](MailRecord& mail) { mail.id.value = 7; }},
       {"text", [](MailRecord& mail) { mail.message.text = "t"; }},
       {"sender", [](MailRecord& mail) { mail.message.sender = "t"; }},
       {"simulated", [](MailRecord& mail) { mail.simulated = true; }},
       {"begun", [](MailRecord& mail) { mail.begun = 2; }},
       {"parts", [](MailRecord& mail) { mail.message.parts.clear(); }},
       {"parts", [](MailRecord& mail) { mail.message.parts.resize(2); }},
       {"url", [](MailRecord& mail) { mail.message.parts[0].url = "t"; }},
       {"data", [](MailRecord& mail) { mail.message.parts[0].data = "t"; }},
       {"media_type", [](MailRecord& mail) { mail.message.parts[0].media_type = "t"; }},
       {"part_kind", [](MailRecord& mail) { mail.message.parts[0].kind = ContentPart::Kind::document; }},
       {"part_kind", [](MailRecord& mail) { mail.message.parts[0].kind = ContentPart::Kind::audio; }},
       {"part_name", [](MailRecord& mail) { mail.message.parts[0].name = "t"; }},
       {"detail", [](MailRecord& mail) { mail.message.parts[0].detail = "t"; }},
       {"kind", [](MailRecord& mail) { mail.message.kind = "t"; }},
       {"priority", [](MailRecord& mail) { mail.message.priority = MessagePriority::urgent; }},
       {"deadline",
        [](MailRecord& mail) {
          mail.deadline = {WallTime(24h), 3ms};
        }},
       {"deadline",
        [](MailRecord& mail) {
          mail.deadline = {WallTime(25h), 3ms};
        }},
       {"deadline",
        [](MailRecord& mail) {
          mail.deadline = {WallTime(24h), 4ms};
        }}},
      text_of<MailRecord>, persist::read_mail);
}

TEST_CASE("every field of the record of a message of a conversation is kept", "[persist][restore][G8][G14]") {
  struct Stored {
    ChatMessage message;
    turn::TurnPlace place;
  };
  Stored usual{ChatMessage::user("what?"), {.turn = 1}};
  usual.message.items.emplace_back(ToolCall{.id = "1", .name = "look"});
  test::put_reasoning(usual.message, {{"openai_chat", "{}", ""}});
  const auto& [role, items, interruption, tool_call_id, call_end, steered, pinned, summary] = usual.message;
  const auto& [words, refusal, item, phase] = std::get<TextItem>(items[1]);
  const auto& [turn, question, message, tasks] = usual.place;
  const auto& [call_id, name, arguments, window_id, action_id] = usual.message.tool_calls()[0];
  const auto& [dialect, data, server, model, account, prefix] = usual.message.reasoning()[0];
  static_cast<void>(question);  // the position of the message itself
  static_cast<void>(call_end);  // only of a result: see below
  static_cast<void>(role);      // a turn begins with a question: see the record_text tests
  const std::size_t kept = count_of(items, tool_call_id, interruption, pinned, steered, summary) +
                           count_of(words, refusal, item, phase) + count_of(turn, message, tasks) +
                           count_of(call_id, name, arguments, window_id, action_id) +
                           count_of(dialect, data, server, model, account, prefix);
  std::vector<Field<Stored>> fields{
      {"words", [](Stored& stored) { stored.message.set_content("t"); }},
      {"refusal", [](Stored& stored) { text_item(stored.message).refusal = true; }},
      {"item", [](Stored& stored) { text_item(stored.message).id = "t"; }},
      {"phase", [](Stored& stored) { text_item(stored.message).phase = "t"; }},
      {"items", [](Stored& stored) { std::swap(stored.message.items[0], stored.message.items[1]); }},
      {"items", [](Stored& stored) { stored.message.items.emplace_back(TextItem{"t"}); }},
      {"items", [](Stored& stored) { stored.message.remove<ToolCall>(); }},
      {"items", [](Stored& stored) { stored.message.remove<ReasoningBlock>(); }},
      {"items", [](Stored& stored) { stored.message.items.emplace_back(ToolCall{.id = "2", .name = "go"}); }},
      {"tool_call_id", [](Stored& stored) { stored.message.tool_call_id = "t"; }},
      {"items",
       [](Stored& stored) { stored.message.items.emplace_back(ContentPart{.url = "https://a.test/b"}); }},
      {"items",
       [](Stored& stored) {
         stored.message.items.emplace_back(ContentPart{.url = "https://a.test/b", .detail = "low"});
       }},
      {"items",
       [](Stored& stored) {
         stored.message.items.emplace_back(ContentPart{.data = "aGk=", .media_type = "image/png"});
       }},
      {"items",
       [](Stored& stored) {
         test::put_reasoning(stored.message, {{"responses", "{}", ""}});
       }},
      {"pinned", [](Stored& stored) { stored.message.pinned = true; }},
      {"steered", [](Stored& stored) { stored.message.steered = true; }},
      {"summary", [](Stored& stored) { stored.message.summary = true; }},
      {"turn", [](Stored& stored) { stored.place.turn = 2; }},
      {"message", [](Stored& stored) { stored.place.message.value = 7; }},
      {"tasks", [](Stored& stored) { stored.place.tasks = 3; }},
      {"tasks", [](Stored& stored) { stored.place.tasks = stored.message.content().size(); }},
      {"call_id", [](Stored& stored) { stored.message.tool_calls()[0].id = "t"; }},
      {"name", [](Stored& stored) { stored.message.tool_calls()[0].name = "t"; }},
      {"arguments", [](Stored& stored) { stored.message.tool_calls()[0].arguments = "{}"; }},
      {"window_id", [](Stored& stored) { stored.message.tool_calls()[0].window_id = "t"; }},
      {"action_id", [](Stored& stored) { stored.message.tool_calls()[0].action_id = "t"; }},
      {"dialect", [](Stored& stored) { stored.message.reasoning()[0].dialect = "responses"; }},
      {"data", [](Stored& stored) { stored.message.reasoning()[0].data = R"({"a":1})"; }},
      {"server", [](Stored& stored) { stored.message.reasoning()[0].server = "t"; }},
      {"model", [](Stored& stored) { stored.message.reasoning()[0].model = "t"; }},
      {"account", [](Stored& stored) { stored.message.reasoning()[0].account = "t"; }},
      {"prefix", [](Stored& stored) { stored.message.reasoning()[0].prefix = "t"; }}};
  for (const Interruption value : {Interruption::aborted, Interruption::stopped, Interruption::failed,
                                   Interruption::interrupted, Interruption::steered, Interruption::truncated})
    fields.push_back({"interruption", [value](Stored& stored) { stored.message.interruption = value; }});
  check_fields(
      usual, kept, fields,
      [](const Stored& stored) { return persist::to_json(stored.message, &stored.place); },
      [](const std::string& text) {
        persist::StoredMessage read = persist::read_message(text);
        return Stored{std::move(read.message), read.place.value()};
      });
}

TEST_CASE("how a call ended is kept with its result", "[persist][restore][G9][G14]") {
  for (const CallEnd end : {CallEnd{ToolOutcome::not_started, false}, CallEnd{ToolOutcome::completed, false},
                            CallEnd{ToolOutcome::completed, true}, CallEnd{ToolOutcome::interrupted, false},
                            CallEnd{ToolOutcome::abandoned, false}}) {
    ChatMessage result = ChatMessage::tool_result("c", "text");
    result.call_end = end;
    CHECK(persist::read_message(persist::to_json(result, nullptr)).message == result);
  }
}

TEST_CASE("every field of the record of what is sent is kept", "[persist][restore][G14]") {
  using turn::SentContext;
  SentContext usual;
  usual.summaries.push_back({ChatMessage::user("before"), 1, 1});
  // The rest is counted again, or given up with the process.
  const auto& [tokens, cuts, cuts_told, messages, for_now, unsent, windows, request_ends, summaries,
               lost_messages] = usual;
  const auto& [text, cost, end] = summaries[0];
  static_cast<void>(count_of(tokens, cuts, cuts_told, for_now, unsent, windows, request_ends));
  check_fields<SentContext>(
      usual, count_of(messages, summaries, lost_messages) + count_of(text, cost, end),
      {{"messages", [](SentContext& sent) { sent.messages = {false}; }},
       {"messages",
        [](SentContext& sent) {
          sent.messages = {true, false};
        }},
       {"messages",
        [](SentContext& sent) {
          sent.messages = {false, false, true, false};
        }},
       {"summaries", [](SentContext& sent) { sent.summaries.clear(); }},
       {"summaries",
        [](SentContext& sent) {
          sent.summaries.push_back({ChatMessage::user("more"), 2, 3});
        }},
       {"message", [](SentContext& sent) { sent.summaries[0].message.set_content("other"); }},
       {"tokens", [](SentContext& sent) { sent.summaries[0].tokens = 5; }},
       {"end", [](SentContext& sent) { sent.summaries[0].end = 4; }},
       {"lost_messages", [](SentContext& sent) { sent.lost_messages = true; }}},
      text_of<SentContext>, [](const std::string& read) { return persist::read_context(read, 4); });
  CHECK(persist::sends_all(SentContext()));
  for (const auto& set : std::vector<std::function<void(SentContext&)>>{
           [](SentContext& sent) {
             sent.messages = {true, false};
           },
           [](SentContext& sent) { sent.lost_messages = true; },
           [](SentContext& sent) { sent.summaries.emplace_back(); }}) {
    SentContext sent;
    set(sent);
    CHECK_FALSE(persist::sends_all(sent));
  }
}

TEST_CASE("every field of the record of a grant is kept", "[persist][restore][grants][G14]") {
  using turn::StoredGrant;
  const StoredGrant usual;
  const auto& [id, scope, covers] = usual;
  const auto& [window_id, tool, description, parameters, mode, arguments, key] = covers;
  const std::size_t kept =
      count_of(id, scope) + count_of(window_id, tool, description, parameters, mode, arguments, key);
  std::vector<Field<StoredGrant>> fields{
      {"id", [](StoredGrant& grant) { grant.id = 5; }},
      {"scope", [](StoredGrant& grant) { grant.scope = GrantScope::subtree; }},
      {"window_id", [](StoredGrant& grant) { grant.covers.window_id = "t"; }},
      {"tool", [](StoredGrant& grant) { grant.covers.tool = "t"; }},
      {"description", [](StoredGrant& grant) { grant.covers.description = "t"; }},
      {"parameters", [](StoredGrant& grant) { grant.covers.parameters = "t"; }},
      {"arguments", [](StoredGrant& grant) { grant.covers.arguments = "t"; }},
      {"key", [](StoredGrant& grant) { grant.covers.key = "t"; }}};
  for (const ToolMode value : {ToolMode::async})
    fields.push_back({"mode", [value](StoredGrant& grant) { grant.covers.mode = value; }});
  check_fields(usual, kept, fields, text_of<StoredGrant>, persist::read_grant);
}
