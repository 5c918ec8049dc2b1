// Errors of what the host passes: options, specs, budgets, and functions to call.
#include "support/drive/tree_fixture.hpp"
#include "unit/errors/error_rows.hpp"

#include <agentcore/testing/scripted_client.hpp>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

struct SpecTable {
  TreeFixture t;
  ErrorRows rows;

  void add(AgentSpec spec, std::string text, Errc code = Errc::invalid_config) {
    const Result<Agent> made = t.tree->create(std::move(spec));
    REQUIRE_FALSE(made);
    rows.push_back({text, made.error(), code, text});
  }
  void add_numbers() {
    add({.limits = {.mailbox = 65'001}}, "AgentSpec::limits.mailbox is 65001; it must be 1 to 65000");
    add({.model = {.temperature = 2.5}}, "AgentSpec::model.temperature is 2.5; it must be 0 to 2");
    add({.model = {.temperature = 2.0000001}},
        "AgentSpec::model.temperature is 2.0000001; it must be 0 to 2");
    add({.model = {.max_tokens = 0}}, "AgentSpec::model.max_tokens is 0; it must be at least 1");
    add({.model = {.top_p = 1.5}}, "AgentSpec::model.top_p is 1.5; it must be 0 to 1");
    add({.limits = {.turn_timeout = -1s}}, "AgentSpec::limits.turn_timeout is -1 s; it must not be negative");
    add({.limits = {.budget = {.cost = -1}}}, "AgentSpec::limits.budget.cost is -1; it must be 0 to 1e+15");
    add({.limits = {.budget = {.wall_clock = -1s}}},
        "AgentSpec::limits.budget.wall_clock is -1 s; it must not be negative");
    add({.limits = {.subtree_budget = {.cost = -1}}},
        "AgentSpec::limits.subtree_budget.cost is -1; it must be 0 to 1e+15");
    add({.model = {.prices = {.prompt = -1}}}, "AgentSpec::model.prices.prompt is -1; it must be 0 to 1e+15");
    add({.model = {.prices = {.completion = -1}}},
        "AgentSpec::model.prices.completion is -1; it must be 0 to 1e+15");
    add({.model = {.prices = {.cached_prompt = -1}}},
        "AgentSpec::model.prices.cached_prompt is -1; it must be 0 to 1e+15");
  }
  void add_texts() {
    AgentSpec spec;
    spec.model.response_format = {ResponseFormat::Kind::json_schema, "", "[]"};
    add(spec,
        "AgentSpec::model.response_format.schema must be the text of a JSON object with at least one member, "
        "nested "
        "at most 64 levels; for JSON without a schema set ResponseFormat::Kind::json_object");
    spec.model.response_format = {ResponseFormat::Kind::json_schema, "a b", R"({"type":"object"})"};
    add(spec, "AgentSpec::model.response_format.name must be at most 64 letters, digits, '_' and '-'");
    spec.model.response_format = {ResponseFormat::Kind::json_schema, "", R"({"type":"objekt"})"};
    add(spec,
        "AgentSpec::model.response_format.schema: not a usable schema: Unrecognised JSON type name 'objekt'; "
        "with ResponseFormat::validate = false it is sent, and answers are not checked");
    spec.model.response_format.schema = R"({"$ref":"https://example.com/age.json"})";
    add(spec,
        "AgentSpec::model.response_format.schema: not a usable schema: its $ref "
        "\"https://example.com/age.json\" leads nowhere within it; only \"#\" and \"#/...\" are "
        "supported; with ResponseFormat::validate = false it is sent, and answers are not checked");
    add({.model = {.tool_choice = {ToolChoice::Mode::named, ""}}},
        "AgentSpec::model.tool_choice.name is empty; Mode::named needs the name of a tool");
    add({.system_prompt = "new", .history = {ChatMessage::system("old")}},
        "AgentSpec::history: message 1 (system) is not AgentSpec::system_prompt; leave system_prompt empty "
        "to "
        "go on with the history's, or remove message 1 to replace it",
        Errc::invalid_history);
  }
  void add_grants() {
    const Agent agent = t.root("a");
    for (const auto& [budget, text] :
         {std::pair<Budget, std::string>{{.cost = -1}, "Budget::cost is -1; it must be 0 to 1e+15"},
          {{.wall_clock = -2ms}, "Budget::wall_clock is -2 ms; it must not be negative"}}) {
      const Result<void> own = agent.grant(budget);
      const Result<void> subtree = agent.grant(budget, Scope::subtree);
      rows.push_back({text, own.error(), Errc::invalid_config, text});
      rows.push_back({text, subtree.error(), Errc::invalid_config, text});
    }
  }
};

// The text of the exception for options that `change` made invalid.
template <typename Change>
void add_tree_option(ErrorRows& rows, std::string text, Change&& change) {
  Runtime runtime;
  TreeOptions options;
  change(options);
  rows.push_back({text, thrown_by([&] { AgentTree tree(runtime, options); }), Errc::none, text});
}

void add_tree_options(ErrorRows& rows) {
  const auto add = [&rows](std::string text, auto&& change) { add_tree_option(rows, text, change); };
  add("TreeOptions::max_depth is 0; it must be 1 to 250", [](auto& o) { o.max_depth = 0; });
  add("TreeOptions::max_agents is 0; it must be 1 to 134000000", [](auto& o) { o.max_agents = 0; });
  add("TreeOptions::mailbox_limit is 0; it must be 1 to 65000", [](auto& o) { o.mailbox_limit = 0; });
  add("TreeOptions::max_message_bytes is 0; it must be at least 1", [](auto& o) { o.max_message_bytes = 0; });
  add("TreeOptions::max_answer_bytes is 0; it must be at least 1", [](auto& o) { o.max_answer_bytes = 0; });
  add("TreeOptions::max_tool_result_bytes is 0; it must be at least 1",
      [](auto& o) { o.max_tool_result_bytes = 0; });
  add("TreeOptions::max_lingering_calls is 0; it must be at least 1",
      [](auto& o) { o.max_lingering_calls = 0; });
  add("TreeOptions::stop_grace is -1 s; it must not be negative", [](auto& o) { o.stop_grace = -1s; });
  add("TreeOptions::tool_timeout is -1 s; it must not be negative", [](auto& o) { o.tool_timeout = -1s; });
  add("TreeOptions::question_timeout is -1 ns; it must not be negative",
      [](auto& o) { o.question_timeout = Duration(-1); });
}

template <typename Function>
void add_thrown(ErrorRows& rows, std::string text, Function&& function) {
  rows.push_back({text, thrown_by(function), Errc::none, text});
}

void add_empty_functions(ErrorRows& rows) {
  TreeFixture t;
  const Agent agent = t.root("a");
  const std::string rest = " is empty; pass a function to call";
  add_thrown(rows, "AgentTree::walk: visit" + rest, [&] { t.tree->walk({}); });
  add_thrown(rows, "AgentTree::on_event: callback" + rest, [&] { static_cast<void>(t.tree->on_event({})); });
  add_thrown(rows, "Agent::on_event: callback" + rest, [&] { static_cast<void>(agent.on_event({})); });
  add_thrown(rows, "Runtime::on_wake: wake" + rest, [&] { static_cast<void>(t.runtime->on_wake({})); });
  add_thrown(rows, "Runtime::post: function" + rest, [&] { t.runtime->post({}); });
  add_thrown(rows, "Runtime::call_after: function" + rest,
             [&] { static_cast<void>(t.runtime->call_after(1s, {})); });
  ThreadPool pool(1);
  add_thrown(rows, "ThreadPool::submit: job" + rest, [&] { pool.submit({}); });
}

void add_other_options(ErrorRows& rows) {
  add_thrown(rows, "RuntimeOptions::poll_budget is -1 s; it must not be negative",
             [] { Runtime runtime({.poll_budget = -1s}); });
  add_thrown(rows, "ThreadPool::threads is 0; it must be 1 to 1024", [] { ThreadPool pool(0); });
  Runtime runtime;
  testing::ScriptedClient client(runtime);
  testing::ScriptedReply reply;
  reply.first_delay = -1s;
  add_thrown(rows, "ScriptedReply::first_delay is -1 s; it must not be negative",
             [&] { client.enqueue(reply); });
  reply.first_delay = 0s;
  reply.interval = -1s;
  add_thrown(rows, "ScriptedReply::interval is -1 s; it must not be negative",
             [&] { client.enqueue(reply); });
}

}  // namespace

ErrorRows test::spec_errors() {
  SpecTable table;
  table.add_numbers();
  table.add_texts();
  table.add_grants();
  return table.rows;
}

ErrorRows test::function_errors() {
  ErrorRows rows;
  add_tree_options(rows);
  add_empty_functions(rows);
  add_other_options(rows);
  return rows;
}

TEST_CASE("every error of an AgentSpec or a Budget has its text", "[errors][tree]") {
  check(spec_errors());
}

TEST_CASE("every exception for an option out of range or an empty function has its text", "[errors][tree]") {
  check(function_errors());
}

TEST_CASE("the exception of Result::value has the code and the message", "[errors]") {
  TreeFixture t;
  try {
    static_cast<void>(t.tree->find("x").value());
    FAIL("nothing was thrown");
  } catch (const BadResultAccess& error) {
    CHECK(std::string(error.what()) == "agent_not_found: no agent has the id 'x'");
  }
}
