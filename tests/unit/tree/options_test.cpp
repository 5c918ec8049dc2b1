// Every number and every function that a host hands in is checked where it enters.
#include "core/validate.hpp"
#include "llm/http/config.hpp"
#include "llm/router/router_options.hpp"
#include "support/drive/tree_fixture.hpp"

#include <agentcore/http_recording.hpp>
#include <agentcore/llm_router.hpp>
#include <agentcore/subprocess.hpp>
#include <agentcore/testing/scripted_client.hpp>
#include <agentcore/tool_registry.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
const std::vector<double> no_amounts = {-1, -1e-300, std::nan(""), infinite, -infinite, 1.1e15};
const std::vector<double> no_costs = {-1, -1e-300, std::nan(""), -infinite, 1.1e15};  // infinite: no_limit
const std::vector<Duration> below_zero = {Duration(-1), Duration::min()};
const std::vector<Duration> not_above_zero = {Duration(0), Duration(-1), Duration::min()};

// Hands in an option and returns what is said of it; "" when it is accepted.
using Attempt = std::function<std::string()>;

// An option, and attempts to set it to what it must not be.
struct Row {
  std::string field;
  std::vector<Attempt> attempts;
};

template <typename Value, typename Try>
Row row(std::string field, const std::vector<Value>& values, Try attempt) {
  Row made{std::move(field), {}};
  for (const Value& value : values) made.attempts.push_back([value, attempt] { return attempt(value); });
  return made;
}

template <typename Call>
std::string thrown_by(Call&& call) {
  try {
    call();
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

std::string said(const std::optional<Error>& error) {
  if (error) CHECK(error->code == Errc::invalid_config);
  return error ? error->message : "";
}

template <typename Change>
std::string tree_with(Change change) {
  Runtime runtime;
  TreeOptions options;
  change(options);
  return thrown_by([&] { AgentTree tree(runtime, options); });
}

template <typename Change>
std::string spec_with(Change change) {
  TreeFixture t;
  AgentSpec spec;
  change(spec);
  const Result<Agent> made = t.tree->create(spec);
  const Result<Agent> shared = t.tree->create(std::make_shared<const AgentSpec>(spec));
  CHECK(made.has_value() == shared.has_value());
  return made ? "" : said(made.error());
}

std::string grant(const Budget& budget, bool subtree) {
  TreeFixture t;
  const Agent agent = t.root("a", {.limits = {.budget = {.turns = 3}, .subtree_budget = {.turns = 3}}});
  t.ask(agent);
  const Result<void> result = subtree ? agent.grant(budget, Scope::subtree) : agent.grant(budget);
  const std::string message = result ? std::string() : result.error().message;
  CHECK(static_cast<bool>(result) == message.empty());
  CHECK(result.code() == (result ? Errc::none : Errc::invalid_config));
  CHECK(agent.spent().value().turns == (result && !subtree ? 0 : 1));  // a refused grant changes nothing
  CHECK(agent.spent(Scope::subtree).value().turns == (result && subtree ? 0 : 1));
  return message;
}

template <typename Change>
std::string http_with(Change change) {
  HttpLlmOptions options;
  options.base_url = "http://127.0.0.1";
  change(options);
  return said(detail::llm::check_options(options));
}

template <typename Change>
std::string router_with(Change change) {
  Runtime runtime;
  testing::ScriptedClient client(runtime);
  RouterOptions options;
  options.routes = {{&client}};
  change(options);
  return said(detail::llm::check_options(options));
}

std::string request_with(std::optional<double> temperature, std::optional<double> top_p) {
  return said(detail::llm::check_request({.temperature = temperature, .top_p = top_p}, "m"));
}

ToolResult nothing(const nlohmann::json&, const ToolContext&) {
  return ToolResult::done("");
}

std::string tool_with(Duration timeout) {
  ToolRegistry registry;
  return thrown_by([&] { registry.add(make_tool({.name = "t", .timeout = timeout}, nothing)); });
}

std::string program_with(Duration grace) {
  SubprocessOptions options;
  options.command = [](const nlohmann::json&) { return SubprocessCommand{}; };
  options.kill_grace = grace;
  return thrown_by([&] { static_cast<void>(make_subprocess_tool({.name = "p"}, std::move(options))); });
}

std::string question_with(Duration timeout) {
  TreeFixture t;
  const auto tools = std::make_shared<ToolRegistry>();
  tools->add(make_tool({.name = "ask"}, [&](const nlohmann::json&, const ToolContext& context) {
    context.ask({.text = "?", .timeout = timeout}, [](const Answer&) {});
    return ToolResult::done("");
  }));
  const Agent agent = t.root("a", {.tools = tools});
  t.ask(agent);
  t.llm->call_tools("a", {{.id = "c", .name = "ask", .arguments = "{}"}});
  t.settle();
  const auto history = agent.conversation().value();
  const std::string result = history.back().content();
  return result.find("Question::") == std::string::npos ? "" : result;
}

std::string reply_with(testing::ScriptedReply reply) {
  TreeFixture t;
  testing::ScriptedClient client(*t.runtime, [&](const ChatRequest&) { return reply; });
  std::optional<Error> error;
  client.chat({}, {}, ChatSink({}, [&](ChatOutcome outcome) {
                if (outcome.kind == ChatOutcome::Kind::failed) error = std::move(outcome.error);
              }));
  t.advance(std::chrono::seconds(1));
  const std::string enqueued = thrown_by([&] { client.enqueue(reply); });
  CHECK(enqueued == said(error));
  return enqueued;
}

std::vector<Row> rows() {
  const auto tree = [](auto TreeOptions::*field) {
    return [field](auto value) {
      return tree_with(
          [&](TreeOptions& o) { o.*field = static_cast<std::decay_t<decltype(o.*field)>>(value); });
    };
  };
  const auto http = [](auto HttpLlmOptions::*field) {
    return [field](auto value) {
      return http_with(
          [&](HttpLlmOptions& o) { o.*field = static_cast<std::decay_t<decltype(o.*field)>>(value); });
    };
  };
  const auto price = [](double Prices::*field) {
    return [field](double value) { return spec_with([&](AgentSpec& s) { s.model.prices.*field = value; }); };
  };
  const auto http_price = [](double Prices::*field) {
    return
        [field](double value) { return http_with([&](HttpLlmOptions& o) { o.prices["m"].*field = value; }); };
  };
  const auto retry = [](Duration RetryPolicy::*field) {
    return [field](Duration value) { return router_with([&](RouterOptions& o) { o.retry.*field = value; }); };
  };
  return {
      row<int>("TreeOptions::max_depth", {0, 251}, tree(&TreeOptions::max_depth)),
      row<unsigned>("TreeOptions::max_agents", {0, 134'000'001}, tree(&TreeOptions::max_agents)),
      row<int>("TreeOptions::mailbox_limit", {0, 65'001}, tree(&TreeOptions::mailbox_limit)),
      row<int>("TreeOptions::max_message_bytes", {0}, tree(&TreeOptions::max_message_bytes)),
      row<int>("TreeOptions::max_answer_bytes", {0}, tree(&TreeOptions::max_answer_bytes)),
      row<int>("TreeOptions::max_tool_result_bytes", {0}, tree(&TreeOptions::max_tool_result_bytes)),
      row<unsigned>("TreeOptions::max_lingering_calls", {0}, tree(&TreeOptions::max_lingering_calls)),
      row("TreeOptions::stop_grace", below_zero, tree(&TreeOptions::stop_grace)),
      row("TreeOptions::tool_timeout", below_zero, tree(&TreeOptions::tool_timeout)),
      row("TreeOptions::question_timeout", below_zero, tree(&TreeOptions::question_timeout)),
      row<std::uint16_t>("AgentSpec::limits.mailbox", {0, 65'001},
                         [](auto n) { return spec_with([&](AgentSpec& s) { s.limits.mailbox = n; }); }),
      row("AgentSpec::limits.turn_timeout", below_zero,
          [](Duration x) { return spec_with([&](AgentSpec& s) { s.limits.turn_timeout = x; }); }),
      row("AgentSpec::limits.budget.cost", no_costs,
          [](double x) { return spec_with([&](AgentSpec& s) { s.limits.budget.cost = x; }); }),
      row("AgentSpec::limits.budget.wall_clock", below_zero,
          [](Duration x) { return spec_with([&](AgentSpec& s) { s.limits.budget.wall_clock = x; }); }),
      row("AgentSpec::limits.subtree_budget.cost", no_costs,
          [](double x) { return spec_with([&](AgentSpec& s) { s.limits.subtree_budget.cost = x; }); }),
      row("AgentSpec::limits.subtree_budget.wall_clock", below_zero,
          [](Duration x) {
            return spec_with([&](AgentSpec& s) { s.limits.subtree_budget.wall_clock = x; });
          }),
      row("AgentSpec::model.prices.prompt", no_amounts, price(&Prices::prompt)),
      row("AgentSpec::model.prices.completion", no_amounts, price(&Prices::completion)),
      row("AgentSpec::model.prices.cached_prompt", no_amounts,
          [](double x) { return spec_with([&](AgentSpec& s) { s.model.prices.cached_prompt = x; }); }),
      row("Budget::cost", no_costs, [](double x) { return grant({.cost = x}, false); }),
      row("Budget::cost", no_costs, [](double x) { return grant({.tokens = 9, .cost = x}, true); }),
      row("Budget::wall_clock", below_zero, [](Duration x) { return grant({.wall_clock = x}, false); }),
      row("Budget::wall_clock", below_zero, [](Duration x) { return grant({.wall_clock = x}, true); }),
      row("HttpLlmOptions::connect_timeout", not_above_zero, http(&HttpLlmOptions::connect_timeout)),
      row("HttpLlmOptions::first_byte_timeout", not_above_zero, http(&HttpLlmOptions::first_byte_timeout)),
      row("HttpLlmOptions::stall_timeout", not_above_zero, http(&HttpLlmOptions::stall_timeout)),
      row("HttpLlmOptions::total_timeout", not_above_zero, http(&HttpLlmOptions::total_timeout)),
      row<int>("HttpLlmOptions::max_response_bytes", {0}, http(&HttpLlmOptions::max_response_bytes)),
      row<int>("HttpLlmOptions::max_line_bytes", {0}, http(&HttpLlmOptions::max_line_bytes)),
      row<int>("HttpLlmOptions::tool_call_id_length", {0, 11}, http(&HttpLlmOptions::tool_call_id_length)),
      row("HttpLlmOptions::prices[\"m\"].prompt", no_amounts, http_price(&Prices::prompt)),
      row("HttpLlmOptions::prices[\"m\"].completion", no_amounts, http_price(&Prices::completion)),
      row("HttpLlmOptions::prices[\"m\"].cached_prompt", no_amounts,
          [](double x) { return http_with([&](HttpLlmOptions& o) { o.prices["m"].cached_prompt = x; }); }),
      row<double>("ChatRequest::temperature", {-1, 2.1, std::nan(""), infinite},
                  [](double x) { return request_with(x, {}); }),
      row<double>("ChatRequest::top_p", {-1, 1.1, std::nan(""), infinite},
                  [](double x) { return request_with({}, x); }),
      row<unsigned>(
          "RetryPolicy::max_attempts", {0},
          [](unsigned n) { return router_with([&](RouterOptions& o) { o.retry.max_attempts = n; }); }),
      row("RetryPolicy::first_delay", below_zero, retry(&RetryPolicy::first_delay)),
      row("RetryPolicy::max_delay", below_zero, retry(&RetryPolicy::max_delay)),
      row("RetryPolicy::max_retry_after", below_zero, retry(&RetryPolicy::max_retry_after)),
      row("RetryPolicy::timeout", below_zero, retry(&RetryPolicy::timeout)),
      row<std::uint32_t>(
          "BreakerPolicy::failures", {0},
          [](auto n) { return router_with([&](RouterOptions& o) { o.breaker.failures = n; }); }),
      row("BreakerPolicy::open_for", below_zero,
          [](Duration x) { return router_with([&](RouterOptions& o) { o.breaker.open_for = x; }); }),
      row("RuntimeOptions::poll_budget", below_zero,
          [](Duration x) { return thrown_by([&] { Runtime runtime({.poll_budget = x}); }); }),
      row("ToolSpec::timeout", below_zero, tool_with),
      row("SubprocessOptions::kill_grace", below_zero, program_with),
      row("Question::timeout", below_zero, question_with),
      row("Question::timeout", below_zero,
          [](Duration x) { return thrown_by([&] { static_cast<void>(make_ask_human_tool(x)); }); }),
      row("ScriptedReply::first_delay", below_zero,
          [](Duration x) { return reply_with({.first_delay = x}); }),
      row("ScriptedReply::interval", below_zero, [](Duration x) { return reply_with({.interval = x}); }),
      row<int>("ThreadPool::threads", {0, 1025},
               [](int n) { return thrown_by([&] { ThreadPool pool(static_cast<std::size_t>(n)); }); })};
}

}  // namespace

TEST_CASE("a number out of range is refused with its name and its range", "[options][G15]") {
  for (const Row& row : rows())
    for (std::size_t i = 0; i < row.attempts.size(); ++i) {
      INFO(row.field << ", value " << i);
      const std::string message = row.attempts[i]();
      CHECK(message.find(row.field + " is ") != std::string::npos);
      CHECK(message.find("; it must ") != std::string::npos);
    }
}

TEST_CASE("the ends of each range are accepted", "[options]") {
  CHECK(tree_with([](TreeOptions& o) { o.max_depth = 250, o.stop_grace = Duration::max(); }).empty());
  CHECK(tree_with([](TreeOptions& o) { o.max_message_bytes = 1, o.tool_timeout = Duration(0); }).empty());
  CHECK(spec_with([](AgentSpec& s) {
          s.limits.budget.cost = detail::core::max_amount, s.limits.mailbox = 65'000;
        }).empty());
  CHECK(grant({}, false).empty());
  CHECK(grant({.cost = detail::core::max_amount, .wall_clock = Duration::max()}, true).empty());
  CHECK(http_with([](HttpLlmOptions& o) { o.total_timeout = Duration::max(); }).empty());
  CHECK(http_with([](HttpLlmOptions& o) { o.prices["m"].cached_prompt = 0; }).empty());
  CHECK(request_with(2, 1).empty());
  CHECK(router_with([](RouterOptions& o) { o.retry.timeout = Duration::max(); }).empty());
  CHECK(tool_with(Duration(0)).empty());
  CHECK(program_with(Duration(0)).empty());
  CHECK(question_with(Duration(0)).empty());
  CHECK(reply_with({}).empty());
}

TEST_CASE("an error message shows a value in readable units", "[options]") {
  const auto said_of = [](Duration value) {
    return detail::core::Validation("S").not_negative("f", value).problem().value().message;
  };
  CHECK(said_of(std::chrono::seconds(-2)) == "S::f is -2 s; it must not be negative");
  CHECK(said_of(std::chrono::milliseconds(-1500)) == "S::f is -1500 ms; it must not be negative");
  CHECK(said_of(Duration(-1)) == "S::f is -1 ns; it must not be negative");
  detail::core::Validation many("S");
  many.number("first", std::nan(""), 0, 2).number("second", 3, 0, 2).count("third", 0, 1);
  REQUIRE(many.problem());
  CHECK(many.problem()->message == "S::first is nan; it must be 0 to 2");
}

TEST_CASE("a function that is called later must not be empty", "[options][G16]") {
  TreeFixture t;
  ThreadPool pool(1);
  const auto tools = std::make_shared<ToolRegistry>();
  std::string asked;
  tools->add(make_tool({.name = "ask"}, [&](const nlohmann::json&, const ToolContext& context) {
    asked = thrown_by([&] { context.ask({.text = "?"}, {}); });
    return ToolResult::done("");
  }));
  t.ask(t.root("a", {.tools = tools}));
  t.llm->call_tools("a", {{.id = "c", .name = "ask", .arguments = "{}"}});
  t.settle();
  const std::pair<const char*, std::string> refusals[] = {
      {"AgentTree::on_event", thrown_by([&] { static_cast<void>(t.tree->on_event({})); })},
      {"AgentTree::on", thrown_by([&] { static_cast<void>(t.tree->on<StateChanged>({})); })},
      {"AgentTree::walk", thrown_by([&] { t.tree->walk({}); })},
      {"Runtime::on_wake", thrown_by([&] { static_cast<void>(t.runtime->on_wake({})); })},
      {"Runtime::post", thrown_by([&] { t.runtime->post({}); })},
      {"Runtime::call_after", thrown_by([&] { static_cast<void>(t.runtime->call_after({}, {})); })},
      {"ThreadPool::submit", thrown_by([&] { pool.submit({}); })},
      {"HttpRecorder", thrown_by([] { HttpRecorder recorder({}); })},
      {"ToolContext::ask", asked}};
  for (const auto& [name, message] : refusals) {
    INFO(name << ": " << message);
    CHECK(message.starts_with(name));
    CHECK(message.ends_with("is empty; pass a function to call"));
  }
}

TEST_CASE("a message's sender counts against max_message_bytes", "[options][G15]") {
  TreeOptions options;
  options.max_message_bytes = 10;
  TreeFixture t(options);
  const Agent agent = t.root("a");
  CHECK(agent.send({.text = "12345", .sender = "123456"}).reason == Errc::message_too_large);
  CHECK(agent.send({.text = "1", .sender = "1", .parts = {{.url = "123456789"}}}).reason ==
        Errc::message_too_large);
  CHECK(agent.send({.text = "12345", .sender = "12345"}).accepted());
  // So do all members of a message, whose text alone has room.
  const std::vector<Message> messages{
      {.text = "12345", .kind = "123456"},
      {.text = "12345", .parts = {{.url = "123456"}}},
      {.text = "12345", .parts = {{.data = "123456"}}},
      {.text = "12345", .parts = {{.url = "1"}, {.data = "1", .media_type = "1234"}}},
      {.text = "12345", .parts = {{.url = "1", .detail = "12345"}}},
  };
  for (std::size_t i = 0; i < messages.size(); ++i) {
    INFO(i);
    CHECK(agent.send(Message(messages[i])).reason == Errc::message_too_large);
    CHECK(agent.steer(Message(messages[i])).reason == Errc::message_too_large);
    Message fits = messages[i];
    fits.text = "1234";
    CHECK(agent.send(std::move(fits)).accepted());
  }
}

TEST_CASE("an invalid cost from a client counts as unknown and the budget still holds",
          "[options][budget][G15]") {
  for (const double cost : no_amounts) {
    TreeFixture t;
    const Agent agent = t.root(
        "a", {.model = {.prices = {.prompt = 1e6, .completion = 1e6}}, .limits = {.budget = {.cost = 10}}});
    t.ask(agent);
    ChatOutcome outcome = ChatOutcome::completed(FinishReason::complete, {3, 4, 7});
    outcome.cost = cost;
    FakeClient::Call* const call = t.llm->find("a");
    REQUIRE(call);
    FakeClient::finish(*call, std::move(outcome));
    t.settle();
    CHECK(agent.spent().value().cost == 7);
  }
}

TEST_CASE("a count of tokens that is too large for its type stops the agent", "[options][budget][G15]") {
  TreeFixture t;
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  AgentSpec counts{.system_prompt = "you", .limits = {.budget = {.tokens = 1000}}};
  counts.context.count_tokens = [&](std::string_view) { return most; };
  counts.context.max_tokens = no_limit;
  const Agent counting = t.root("counts", counts);
  REQUIRE(counting.send("question").accepted());
  t.settle();
  CHECK(t.state("counts") == AgentState::stopped);
  const Agent agent = t.root("a", {.limits = {.budget = {.tokens = 100'000}}});
  for (int i = 0; i < 2; ++i) {
    if (t.state("a") != AgentState::idle) break;
    t.ask(agent);
    FakeClient::Call* const call = t.llm->find("a");
    REQUIRE(call);
    FakeClient::finish(*call, ChatOutcome::completed(FinishReason::complete, {most, most, most}));
    t.settle();
  }
  CHECK(t.state("a") == AgentState::stopped);
}

TEST_CASE("an agent whose spec says only a price for cached tokens pays it", "[options][budget]") {
  TreeFixture t;
  const Agent agent = t.root("a", {.model = {.prices = {.cached_prompt = 1e6}}});
  double cost = 0;
  const auto ends = t.tree->on_event([&](const Event& event) {
    if (const auto* ended = event.get<TurnEnded>()) cost = ended->result->cost.value_or(0);
  });
  t.ask(agent);
  FakeClient::Call* const call = t.llm->find("a");
  REQUIRE(call);
  FakeClient::finish(*call, ChatOutcome::completed(FinishReason::complete, {5, 1, 6, 4}));
  t.settle();
  CHECK(cost == 4);
}
