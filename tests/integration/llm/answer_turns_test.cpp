// The answers of real servers (tests/golden/answers) in whole turns of an agent, of one client and of a
// router: what the turn did must be what the documents of the providers say, however the bytes come.
// tests/golden/answers/README.md says why each expected value is right.
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"
#include "support/observe/recorder_lines.hpp"
#include "support/wire/golden.hpp"
#include "support/wire/gzip.hpp"
#include "support/wire/provider_request.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

struct Answer {
  std::string body, type;
};

struct Case {
  std::string name, provider;
  std::vector<Answer> answers;
  json agent, router;  // what is expected
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const json answers = json::parse(read_golden("answers/answers.json"));
  for (const json& turn : json::parse(read_golden("answers/turns.json"))) {
    Case one;
    one.name = turn.at("case");
    one.agent = turn.at("agent");
    one.router = turn.value("router", one.agent);
    for (const json& name : turn.at("answers")) {
      const json& answer =
          *std::ranges::find(answers, name, [](const json& each) { return each.at("name"); });
      one.answers.push_back({answer.at("body"), answer.value("type", "text/event-stream")});
      const std::string dialect = answer.at("dialect");
      one.provider = dialect == "anthropic_messages" ? "anthropic"
                     : dialect == "openai_responses" ? "openai-responses"
                                                     : "openai";
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

// A short answer in words.
Answer words(std::string_view provider, const std::string& text) {
  const json said = text;
  std::string body;
  if (provider == "openai")
    body = R"(data: {"choices":[{"index":0,"delta":{"content":)" + said.dump() +
           "}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
           "data: [DONE]\n\n";
  if (provider == "openai-responses")
    body = R"(data: {"type":"response.output_text.delta","output_index":0,"delta":)" + said.dump() +
           "}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n";
  if (provider == "anthropic")
    body =
        "data: {\"type\":\"message_start\",\"message\":{}}\n\n"
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\n"
        R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":)" +
        said.dump() +
        "}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n"
        "data: {\"type\":\"message_stop\"}\n\n";
  return {body, "text/event-stream"};
}

std::shared_ptr<const HttpReplay> replay_of(const std::vector<Answer>& answers, std::string_view path,
                                            std::size_t bytes) {
  std::vector<HttpExchange> exchanges;
  for (const Answer& answer : answers) {
    HttpExchange exchange{
        .url = "https://api.test/v1" + std::string(path), .status = 200, .content_type = answer.type};
    for (std::size_t at = 0; at < answer.body.size(); at += bytes)
      exchange.body.push_back({Duration(0), answer.body.substr(at, bytes)});
    exchanges.push_back(std::move(exchange));
  }
  return std::make_shared<HttpReplay>(std::move(exchanges));
}

HttpLlmOptions options_of(std::string_view provider) {
  HttpLlmOptions options = provider_options(provider).value();
  options.api_key_env.clear();
  options.api_key = "sk-of-the-test";
  options.model = "m";
  options.proxy = "none";
  return options;
}

// Ids that the library made are not the same in each run.
std::string id_in(const std::string& id, const Case& wanted) {
  const bool is_theirs = std::ranges::any_of(wanted.answers, [&](const Answer& answer) {
    return answer.body.find('"' + id + '"') != std::string::npos;
  });
  return is_theirs ? id : "?";
}

std::string shown(const ChatMessage& message, const Case& wanted) {
  std::string text(to_string(message.role));
  if (message.interruption != Interruption::none) text += "!" + std::string(to_string(message.interruption));
  if (message.role == Role::tool) {
    text += " " + id_in(message.tool_call_id, wanted) + " " +
            std::string(to_string(message.call_end.value_or(CallEnd{}).outcome));
    const bool is_done = message.call_end && message.call_end->success;
    return is_done ? text + ": " + message.content() : text;
  }
  for (const MessageItem& item : message.items) {
    if (const auto* const words = std::get_if<TextItem>(&item)) text += " \"" + words->text + "\"";
    if (const auto* const call = std::get_if<ToolCall>(&item))
      text += " call(" + id_in(call->id, wanted) + " " + call->name + " " + call->arguments + ")";
    if (const auto* const block = std::get_if<ReasoningBlock>(&item)) text += " thought(" + block->data + ")";
  }
  return text;
}

// One agent, with the tools of the corpus, and two servers; the second one is asked by the router alone.
struct Talk {
  enum class By { client, router };

  Talk(const Case& asked, By client, std::size_t bytes) : Talk(asked, client) {
    const std::string path(detail::llm::wire_format(options_of(asked.provider).dialect).path());
    for (auto* const options : {&first_options, &second_options})
      options->base_url =
          "https://" + std::string(options == &first_options ? "first" : "second") + ".test/v1";
    first_options.replay = replay_of(all_answers(), path, bytes);
    second_options.replay = replay_of(others(), path, bytes);
    begin();
  }
  // Of servers on this machine.
  Talk(const Case& asked, By client, const std::string& first_url, const std::string& second_url)
      : Talk(asked, client) {
    first_options.base_url = first_url;
    second_options.base_url = second_url;
    begin();
  }
  ~Talk() {
    subscription = {};
    tree.reset();
  }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;

  // What the first server answers: the answers of the case, and then in words.
  std::vector<Answer> all_answers() const { return answers_of(wanted); }
  static std::vector<Answer> answers_of(const Case& wanted) {
    std::vector<Answer> all = wanted.answers;
    for (int i = 0; i < 3; ++i) all.push_back(words(wanted.provider, "Done."));
    return all;
  }
  std::vector<Answer> others() const { return others_of(wanted); }
  static std::vector<Answer> others_of(const Case& wanted) {
    return std::vector<Answer>(3, words(wanted.provider, "From the second."));
  }

  void ask() {
    agent = tree->create({.id = "a", .tools = tools}).value();
    REQUIRE(agent.send("Ask.").accepted());
  }
  bool drive_to_end() {
    return drive(*runtime, nullptr, [this] { return !tree->busy(); });
  }

  json found() const {
    json result{{"end", end_of(ended)}, {"text", ended.text}, {"ran", ran}, {"asked", asked()}};
    result["history"] = history();
    return result;
  }
  json history() const {
    json lines = json::array();
    for (const ChatMessage& message : agent.conversation().value()) lines.push_back(shown(message, wanted));
    return lines;
  }
  static std::string end_of(const TurnResult& result) {
    std::string end =
        std::string(to_string(result.outcome)) + " " + std::string(to_string(result.finish_reason));
    if (result.outcome != TurnOutcome::failed) return end;
    end = "failed " + std::string(to_string(result.error.code));
    if (result.error.retryable) end += ", may be retried";
    if (result.error.model_specific) end += ", next route";
    return end;
  }
  // Which server was asked, in order.
  std::string asked() const {
    std::string servers;
    for (const HttpExchange& exchange : sent.exchanges())
      servers += (servers.empty() ? "" : " ") +
                 std::string(exchange.url.starts_with(second_options.base_url) ? "second" : "first");
    return servers;
  }
  // Why the provider would refuse a request that was sent.
  std::vector<std::string> refusals() const {
    std::vector<std::string> all;
    for (const HttpExchange& exchange : sent.exchanges())
      for (const std::string& why :
           agentcore::testing::validate_request(wanted.provider, exchange.request_body))
        all.push_back(why);
    return all;
  }
  std::size_t open_calls() const { return first->open_calls() + second->open_calls() + router->open_calls(); }

  const Case& wanted;
  const By by;
  agentcore::testing::ManualClock clock;
  RecorderLines sent;
  HttpLlmOptions first_options, second_options;
  std::vector<std::string> ran;
  TurnResult ended;
  std::shared_ptr<ToolRegistry> tools = std::make_shared<ToolRegistry>();
  std::unique_ptr<Runtime> runtime = std::make_unique<Runtime>(RuntimeOptions{.clock = &clock});
  std::unique_ptr<HttpLlmClient> first, second;
  std::unique_ptr<LlmRouter> router;
  std::unique_ptr<AgentTree> tree;
  Subscription subscription;
  Agent agent;

 private:
  Talk(const Case& asked, By client)
      : wanted(asked), by(client), first_options(options_of(asked.provider)), second_options(first_options) {
    add_tool("now", "12:00", R"({"type":"object","properties":{"a":{"type":"integer"}}})");
    add_tool("get_weather", "sunny", R"({"type":"object","properties":{"city":{"type":"string"}}})");
  }
  void add_tool(const std::string& name, const std::string& result, const std::string& parameters) {
    tools->add(make_tool({.name = name, .parameters = parameters},
                         [this, name, result](const json& arguments, const ToolContext&) {
                           ran.push_back(name + " " + arguments.dump());
                           return ToolResult::done(result);
                         }));
  }
  void begin() {
    const auto recorder = sent.recorder();
    first_options.recorder = second_options.recorder = recorder;
    first = std::make_unique<HttpLlmClient>(*runtime, first_options);
    second = std::make_unique<HttpLlmClient>(*runtime, second_options);
    RouterOptions options{.routes = {{.client = first.get()}, {.client = second.get()}}};
    options.retry = {.max_attempts = 2, .first_delay = Duration(0)};
    router = std::make_unique<LlmRouter>(*runtime, std::move(options));
    LlmClient& llm = by == By::router ? static_cast<LlmClient&>(*router) : *first;
    tree = std::make_unique<AgentTree>(*runtime, TreeOptions{.llm = &llm});
    subscription = tree->on<TurnEnded>([this](const TurnEnded& event) { ended = *event.result; });
  }
};

const json& expected(const Case& wanted, Talk::By by) {
  return by == Talk::By::router ? wanted.router : wanted.agent;
}

std::string without_mark(std::string line) {
  const auto mark = line.find('!');
  if (mark != std::string::npos && mark < line.find(' ')) line.erase(mark, line.find(' ') - mark);
  return line;
}

// The first line of a history that was stopped which is not that of the whole one. The result of a call may
// say that it has not begun.
std::string misplaced(const json& stopped, const json& whole) {
  for (std::size_t i = 0; i < stopped.size(); ++i) {
    const std::string line = stopped[i];
    if (i == whole.size()) return line;
    const std::string other = whole[i];
    const bool is_withheld =
        line.ends_with(" not_started") && other.starts_with(line.substr(0, line.rfind(' ')));
    if (without_mark(line) != without_mark(other) && !is_withheld) return line;
  }
  return "";
}

// Gives the answers, one after the other, over any number of connections.
SocketServer::Script script_of(std::vector<Answer> answers, bool deflates) {
  auto next = std::make_shared<std::atomic<std::size_t>>(0);
  return [answers = std::move(answers), deflates, next](Peer& peer) {
    if (peer.read_request().empty()) return;
    const Answer& answer = answers.at((*next)++);
    peer.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: " + answer.type + "\r\n" +
               (deflates ? "Content-Encoding: deflate\r\n" : "") + "\r\n" +
               (deflates ? deflate(answer.body) : answer.body));
  };
}

}  // namespace

TEST_CASE("an answer of a real server does in a turn what its documents say, however it is cut",
          "[integration][llm][answers][O2][G8][G9]") {
  for (const Case& one : all_cases()) {
    INFO(one.name);
    for (const Talk::By by : {Talk::By::client, Talk::By::router})
      for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{7}, std::size_t{1}}) {
        INFO((by == Talk::By::router ? "router" : "agent") << ", pieces of " << bytes);
        Talk talk(one, by, bytes);
        talk.ask();
        REQUIRE(talk.runtime->run_until_idle());
        CHECK(talk.found().dump(1) == expected(one, by).dump(1));
        CHECK(talk.refusals() == std::vector<std::string>{});
        CHECK(is_valid_history(talk.agent.conversation().value()));
      }
  }
}

TEST_CASE("an answer of a real server does the same over a connection, compressed or not",
          "[integration][llm][answers][router]") {
  for (const Case& one : all_cases()) {
    INFO(one.name);
    for (const Talk::By by : {Talk::By::client, Talk::By::router}) {
      const bool deflates = by == Talk::By::router;
      SocketServer first(script_of(Talk::answers_of(one), deflates));
      SocketServer second(script_of(Talk::others_of(one), deflates));
      Talk talk(one, by, first.url(), second.url());
      talk.ask();
      REQUIRE(talk.drive_to_end());
      CHECK(talk.found().dump(1) == expected(one, by).dump(1));
    }
  }
}

TEST_CASE("a stop anywhere in an answer of a real server starts nothing more, and the agent goes on after it",
          "[integration][llm][answers][router][G1][G5][G8][G9]") {
  const std::size_t stops = amount<std::size_t>(12, 4);
  for (const Case& one : all_cases()) {
    INFO(one.name);
    for (const Talk::By by : {Talk::By::client, Talk::By::router}) {
      std::size_t polls = 1;  // of the whole turn
      {
        Talk whole(one, by, 7);
        whole.ask();
        while (whole.runtime->poll()) ++polls;
      }
      for (std::size_t after = 1; after <= polls; after += std::max<std::size_t>(1, polls / stops)) {
        INFO((by == Talk::By::router ? "router" : "agent") << ", stopped after " << after << " polls");
        Talk talk(one, by, 7);
        talk.ask();
        for (std::size_t poll = 0; poll < after; ++poll) talk.runtime->poll();
        const std::vector<std::string> before = talk.ran;
        const std::string asked = talk.asked();
        const bool has_ended = !talk.tree->busy();
        REQUIRE(talk.agent.stop().accepted());
        REQUIRE(talk.runtime->run_until_idle());
        CHECK(talk.ran == before);
        CHECK(talk.open_calls() == 0);
        CHECK(talk.router->call_slots().running() == 0);
        const json& whole = expected(one, by);
        const std::string all_asked = whole.at("asked");
        CHECK(all_asked.starts_with(asked));
        const json ran = talk.ran;
        REQUIRE(ran.size() <= whole.at("ran").size());
        CHECK(std::equal(ran.begin(), ran.end(), whole.at("ran").begin()));
        if (!has_ended) CHECK(talk.ended.outcome == TurnOutcome::stopped);
        CHECK(is_valid_history(talk.agent.conversation().value()));
        CHECK(misplaced(talk.history(), whole.at("history")) == "");
        REQUIRE(talk.agent.resume().accepted());
        REQUIRE(talk.agent.send("Go on.").accepted());
        REQUIRE(talk.runtime->run_until_idle());
        CHECK(talk.refusals() == std::vector<std::string>{});
      }
    }
  }
}

TEST_CASE("the page about the answers of real servers names each case", "[integration][llm][answers]") {
  const std::string page = read_golden("answers/README.md");
  for (const Case& one : all_cases()) CHECK(page.find("| " + one.name + " |") != std::string::npos);
}
