// What is sent, whatever happens: verbs, answers with reasoning among texts and calls in all dialects, other
// models and providers, windows, trims, summaries and restarts from a store. The clients are real ones; they
// replay generated answers and record what they send.
#include "property/generated_answer.hpp"
#include "support/observe/recorder_lines.hpp"
#include "support/prop.hpp"
#include "support/store/store_folder.hpp"
#include "support/wire/golden.hpp"
#include "support/wire/provider_request.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>
#include <agentcore/memory_store.hpp>
#include <agentcore/sqlite_store.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using namespace property_test;
using Json = nlohmann::json;

namespace {

enum class Verb : std::uint8_t {
  send,
  send_image,
  poll,
  settle,
  steer,
  steer_now,
  interrupt,
  abort,
  pause,
  unpause,
  stop,
  resume,
  release,
  remove,
  end_call,
  route,
  open,
  close,
  write,
  restart
};

struct Move {
  Verb verb = Verb::poll;
  int number = 0;
};

void showValue(const Move& move, std::ostream& out) {
  static const char* const names[] = {"send",      "send image", "poll",    "settle", "steer",
                                      "steer now", "interrupt",  "abort",   "pause",  "unpause",
                                      "stop",      "resume",     "release", "remove", "end call",
                                      "route",     "open",       "close",   "write",  "restart"};
  out << names[static_cast<int>(move.verb)] << ' ' << move.number;
}

// What the agent and its models are. Each provider has two models.
struct Setup {
  std::vector<std::size_t> rows;  // of providers()
  bool in_file = false;
  bool goes_on = false;  // a turn that a restart finds
  bool is_killed = false;
  bool summarises = false;
  bool windows_in_front = false;
  bool thinks = false;       // Anthropic's second model is told to
  std::size_t reported = 0;  // where the answers that servers were reported to send begin
  std::size_t max_tokens = no_limit;
};

void showValue(const Setup& setup, std::ostream& out) {
  for (const std::size_t row : setup.rows) out << providers()[row].name << ' ';
  out << (setup.in_file ? "file " : "memory ") << (setup.goes_on ? "goes-on " : "")
      << (setup.is_killed ? "killed " : "") << (setup.summarises ? "summarises " : "")
      << (setup.windows_in_front ? "windows-in-front " : "") << (setup.thinks ? "thinks " : "") << "max "
      << setup.max_tokens << " reported " << setup.reported;
}

rc::Gen<Move> any_move() {
  const auto verb = rc::gen::weightedElement<Verb>(
      {{12, Verb::send},   {1, Verb::send_image}, {6, Verb::poll},      {10, Verb::settle},
       {2, Verb::steer},   {2, Verb::steer_now},  {2, Verb::interrupt}, {1, Verb::abort},
       {1, Verb::pause},   {2, Verb::unpause},    {1, Verb::stop},      {2, Verb::resume},
       {2, Verb::release}, {1, Verb::remove},     {4, Verb::end_call},  {4, Verb::route},
       {2, Verb::open},    {1, Verb::close},      {2, Verb::write},     {3, Verb::restart}});
  return rc::gen::build<Move>(rc::gen::set(&Move::verb, verb),
                              rc::gen::set(&Move::number, rc::gen::inRange(0, 40)));
}

std::size_t row_of(std::string_view name) {
  const auto all = providers();
  return static_cast<std::size_t>(std::ranges::find(all, name, &Provider::name) - all.begin());
}

rc::Gen<Setup> any_setup() {
  const auto row = rc::gen::oneOf(
      rc::gen::inRange<std::size_t>(0, providers().size()),
      rc::gen::element<std::size_t>(row_of("anthropic"), row_of("openai-responses"), row_of("gemini")));
  return rc::gen::build<Setup>(
      rc::gen::set(&Setup::rows, rc::gen::container<std::vector<std::size_t>>(3, row)),
      rc::gen::set(&Setup::in_file, rc::gen::weightedElement<bool>({{3, false}, {1, true}})),
      rc::gen::set(&Setup::goes_on), rc::gen::set(&Setup::is_killed), rc::gen::set(&Setup::summarises),
      rc::gen::set(&Setup::windows_in_front), rc::gen::set(&Setup::thinks),
      rc::gen::set(&Setup::reported, rc::gen::inRange<std::size_t>(0, 1000)),
      rc::gen::set(&Setup::max_tokens, rc::gen::element<std::size_t>(no_limit, no_limit, 300, 500, 1000)));
}

constexpr std::size_t models = 2;  // of each provider

// Answers in the forms that servers of that dialect were reported to send, good ones and bad ones.
const std::vector<HttpExchange>& reported_answers(Dialect dialect) {
  static const auto all = [] {
    std::map<std::string, std::vector<HttpExchange>, std::less<>> answers;
    for (const Json& answer : Json::parse(read_golden("answers/answers.json"))) {
      HttpExchange exchange{.status = 200, .content_type = answer.value("type", "text/event-stream")};
      exchange.body.push_back({Duration(0), answer.at("body")});
      answers[answer.at("dialect")].push_back(std::move(exchange));
    }
    return answers;
  }();
  return all.find(to_string(dialect))->second;
}

// Who a client is.
struct Maker {
  const Provider* provider = nullptr;
  std::string server, model, key;
  ReasoningRule rule;
};

struct Sent {
  Maker by;
  HttpExchange exchange;
};

// Asks the router of the moment.
class Switch final : public LlmClient {
 public:
  void chat(ChatRequest request, StopToken stop, ChatSink sink) override {
    routers.at(at % routers.size())->chat(std::move(request), std::move(stop), std::move(sink));
  }
  bool abort(std::string_view agent_id) override {
    bool found = false;
    for (const auto& router : routers) found = router->abort(agent_id) || found;
    return found;
  }
  bool has_active_request(std::string_view agent_id) const override {
    return std::ranges::any_of(routers,
                               [&](const auto& router) { return router->has_active_request(agent_id); });
  }

  std::vector<std::unique_ptr<LlmRouter>> routers;
  std::size_t at = 0;
};

class World {
 public:
  World(Setup setup, std::vector<GeneratedAnswer> answers)
      : setup_(std::move(setup)), answers_(std::move(answers)) {
    if (setup_.in_file) file_ = SqliteStore::open(folder_.file()).value();
    const std::string schema = R"({"type":"object","properties":{"a":{"type":"integer"}}})";
    tools_->add(make_tool({.name = "look", .parameters = schema, .replay = ToolReplay::safe},
                          [](const Json&, const ToolContext&) { return ToolResult::done("seen"); }));
    tools_->add({.spec = {.name = "held", .parameters = schema},
                 .start = [this](const Json&, const ToolContext&, ToolDone done) {
                   held_.push_back(std::move(done));
                 }});
    run_ = std::make_unique<Run>(*this);
  }
  ~World() { end_run(); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void act(const Move& move);
  void settle() {
    for (int polls = 0; polls < 300 && run_->runtime->poll(); ++polls) {
    }
  }
  const std::vector<Sent>& sent() const { return sent_; }
  std::size_t restarts() const { return runs_ - 1; }
  std::size_t summaries = 0, trims = 0;

 private:
  struct Run {
    explicit Run(World& world);
    ~Run() {
      subscriptions.clear();
      tree.reset();
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    std::unique_ptr<Runtime> runtime;
    std::vector<std::unique_ptr<HttpLlmClient>> clients;
    Switch llm;
    std::unique_ptr<AgentTree> tree;
    std::vector<Subscription> subscriptions;
  };

  HttpLlmOptions options_of(std::size_t client);
  Maker maker_of(std::size_t client, const HttpLlmOptions& options) const;
  std::shared_ptr<const HttpReplay> replay_of(std::size_t client, const HttpLlmOptions& options) const;
  AgentSpec spec() const;
  Store& store() { return file_ ? static_cast<Store&>(*file_) : memory_; }
  std::string text() {
    ++texts_;
    return "Message " + std::to_string(texts_) + "." +
           std::string(static_cast<std::size_t>(texts_ * 37 % 400), 'x');
  }
  void change_windows(Verb verb);
  void restart();
  void end_run() {
    run_.reset();
    held_.clear();
  }

  const Setup setup_;
  const std::vector<GeneratedAnswer> answers_;
  testing::ManualClock clock_;
  StoreFolder folder_;
  MemoryStore memory_;
  std::unique_ptr<SqliteStore> file_;
  std::shared_ptr<ToolRegistry> tools_ = std::make_shared<ToolRegistry>();
  std::vector<ToolDone> held_;
  std::vector<std::string> windows_;
  std::vector<Sent> sent_;
  std::size_t runs_ = 0;
  int texts_ = 0;
  std::unique_ptr<Run> run_;
};

HttpLlmOptions World::options_of(std::size_t client) {
  const Provider& provider = providers()[setup_.rows[client / models]];
  HttpLlmOptions options = provider_options(provider.name).value();
  if (options.base_url.empty()) options.base_url = "https://resource.test/v1";
  options.api_key_env.clear();
  options.api_key = "sk-key-number-" + std::to_string(runs_ % 2);
  options.model = client % models == 0 ? "m1" : "m2";
  if (setup_.thinks && client % models == 1 && provider.name == "anthropic")
    options.extra_body = R"({"thinking":{"type":"enabled","budget_tokens":1024}})";
  options.replay = replay_of(client, options);
  const Maker maker = maker_of(client, options);
  options.recorder = std::make_shared<HttpRecorder>([this, maker](std::string_view line) {
    sent_.push_back({maker, exchange_from_json_line(line.substr(0, line.find('\n'))).value()});
  });
  return options;
}

Maker World::maker_of(std::size_t client, const HttpLlmOptions& options) const {
  const Provider& provider = providers()[setup_.rows[client / models]];
  return {&provider, options.base_url, options.model, options.api_key,
          options.reasoning.value_or(detail::llm::rule_of(options.dialect))};
}

std::shared_ptr<const HttpReplay> World::replay_of(std::size_t client, const HttpLlmOptions& options) const {
  constexpr std::size_t count = 12;
  std::vector<HttpExchange> exchanges;
  const auto& reported = reported_answers(options.dialect);
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 5 == 1) {
      exchanges.push_back(reported[(setup_.reported + client * 17 + runs_ * 7 + i) % reported.size()]);
      exchanges.back().url = options.base_url + std::string(detail::llm::wire_format(options.dialect).path());
      continue;
    }
    // Some are in words alone, as a summary has to be.
    static const GeneratedAnswer words{{Piece::text}, AnswerEnd::usual};
    const GeneratedAnswer& answer =
        i % 3 == 2 ? words : answers_[(client * 3 + runs_ * 7 + i) % answers_.size()];
    HttpExchange exchange{
        .url = options.base_url + std::string(detail::llm::wire_format(options.dialect).path()),
        .status = 200,
        .content_type = "text/event-stream"};
    const std::string mark = std::to_string(runs_) + "-" + std::to_string(client) + "-" + std::to_string(i);
    std::vector<std::string> events =
        AnswerWriter(providers()[setup_.rows[client / models]], mark).write(answer);
    if (answer.end == AnswerEnd::busy) {
      exchange.status = 503;
      exchange.content_type = "application/json";
      events = {R"({"error":{"message":"busy"}})"};
    }
    for (std::string& event : events) exchange.body.push_back({Duration(0), std::move(event)});
    exchanges.push_back(std::move(exchange));
  }
  return std::make_shared<HttpReplay>(std::move(exchanges));
}

World::Run::Run(World& world) : runtime(std::make_unique<Runtime>(RuntimeOptions{.clock = &world.clock_})) {
  ++world.runs_;
  const std::size_t count = world.setup_.rows.size() * models;
  for (std::size_t i = 0; i < count; ++i)
    clients.push_back(std::make_unique<HttpLlmClient>(*runtime, world.options_of(i)));
  for (std::size_t i = 0; i < count; ++i) {
    RouterOptions options{
        .routes = {{.client = clients[i].get()}, {.client = clients[(i + 3) % count].get()}}};
    options.retry = {.max_attempts = 1, .first_delay = Duration(0)};
    llm.routers.push_back(std::make_unique<LlmRouter>(*runtime, std::move(options)));
  }
  tree = std::make_unique<AgentTree>(*runtime, TreeOptions{.llm = &llm});
  subscriptions.push_back(tree->on<CompactionChanged>(
      [&world](const CompactionChanged& event) { world.summaries += event.used ? 1 : 0; }));
  subscriptions.push_back(tree->on<ContextTrimmed>([&world](const ContextTrimmed&) { ++world.trims; }));
  RestoreOptions options{.durability = Durability::each_message,
                         .sync = StoreSync::process,
                         .turns = world.setup_.goes_on ? InterruptedTurns::go_on : InterruptedTurns::end,
                         .max_attempts = 1'000'000};
  options.code.add_tools("tools", world.tools_);
  static_cast<void>(tree->restore(&world.store(), std::move(options)).value());
}

AgentSpec World::spec() const {
  AgentSpec spec{.id = "a"};
  spec.code.tools = "tools";
  spec.system_prompt = texts_ % 2 == 0 ? "Be brief." : "";
  spec.partial_answers = texts_ % 3 == 0 ? PartialAnswers::drop : PartialAnswers::keep;
  if (setup_.max_tokens != no_limit)
    spec.context = {.max_tokens = setup_.max_tokens,
                    .target_tokens = setup_.max_tokens / 2,
                    .min_conversation_tokens = 1};
  spec.context.volatile_place =
      setup_.windows_in_front ? VolatilePlace::system_prompt : VolatilePlace::last_message;
  if (setup_.summarises) spec.context.compact = Compaction{.max_tokens = 40};
  return spec;
}

void World::change_windows(Verb verb) {
  if (verb == Verb::open) {
    windows_.push_back("w" + std::to_string(++texts_));
    Window window{.id = windows_.back(), .content = text()};
    if (texts_ % 2 == 0)
      window.actions.push_back(make_tool(
          {.name = "press"}, [](const Json&, const ToolContext&) { return ToolResult::done("pressed"); }));
    tools_->open(std::move(window));
  } else if (!windows_.empty() && verb == Verb::close) {
    tools_->close(windows_.back());
    windows_.pop_back();
  } else if (!windows_.empty()) {
    tools_->set_content(windows_.back(), text());
  }
}

void World::restart() {
  if (file_) {
    end_run();
    file_.reset();
    file_ = SqliteStore::open(folder_.file()).value();
  } else {
    const MemoryStore before = memory_;
    end_run();
    if (setup_.is_killed) memory_ = before;
  }
  run_ = std::make_unique<Run>(*this);
}

void World::act(const Move& move) {
  AgentTree& tree = *run_->tree;
  auto found = tree.find("a");
  const Agent agent = found ? *found : tree.create(spec()).value();
  switch (move.verb) {
    case Verb::send:
      return static_cast<void>(agent.send(text()));
    case Verb::send_image:
      return static_cast<void>(
          agent.send({.text = text(), .parts = {{.data = "aGk=", .media_type = "image/png"}}}));
    case Verb::poll:
      for (int polls = 0; polls < move.number; ++polls) run_->runtime->poll();
      return;
    case Verb::settle:
      return settle();
    case Verb::steer:
      return static_cast<void>(agent.steer(text(), {.when = SteerWhen::next_step}));
    case Verb::steer_now:
      return static_cast<void>(agent.steer(text(), {.when = SteerWhen::now}));
    case Verb::interrupt:
      return static_cast<void>(agent.interrupt());
    case Verb::abort:
      return static_cast<void>(agent.abort());
    case Verb::pause:
      return static_cast<void>(agent.pause());
    case Verb::unpause:
      return static_cast<void>(agent.unpause());
    case Verb::stop:
      return static_cast<void>(agent.stop());
    case Verb::resume:
      return static_cast<void>(agent.resume());
    case Verb::release:
      return static_cast<void>(agent.release_queue());
    case Verb::remove:
      static_cast<void>(agent.terminate());
      return settle();
    case Verb::end_call:
      if (held_.empty()) return;
      held_.back()(ToolResult::done("held"));
      return held_.pop_back();
    case Verb::route:
      run_->llm.at = static_cast<std::size_t>(move.number);
      return;
    case Verb::restart:
      return restart();
    default:
      return change_windows(move.verb);
  }
}

bool is_thought(const Json& block) {
  const std::string type = block.is_object() ? block.value("type", "") : "";
  return type == "thinking" || type == "redacted_thinking";
}

// What stands before an answer, in a request to Anthropic: without reasoning, marks for the cache, and the
// windows behind the last message.
std::string beginning(const Json& body, std::size_t count) {
  Json all = Json::array({body.value("system", Json())});
  for (std::size_t i = 0; i < count; ++i) {
    Json message = body.at("messages").at(i);
    Json& content = message["content"];
    if (content.is_string()) content = Json::array({{{"type", "text"}, {"text", content}}});
    for (auto block = content.begin(); block != content.end();) {
      block->erase("cache_control");
      const bool is_tail = block->value("text", "").starts_with("# Windows");
      block = is_thought(*block) || is_tail ? content.erase(block) : block + 1;
    }
    if (content.empty()) continue;
    // The API joins messages of one role.
    if (all.back().is_object() && all.back()["role"] == message["role"])
      all.back()["content"].insert(all.back()["content"].end(), content.begin(), content.end());
    else
      all.push_back(std::move(message));
  }
  if (all[0].is_array())
    for (Json& block : all[0]) block.erase("cache_control");
  return all.dump();
}

// The number of the message with that mark.
std::size_t place_of(const Json& body, const std::string& mark) {
  const Json& messages = body.at("messages");
  std::size_t place = 0;
  while (place < messages.size() && messages[place].dump().find(mark) == std::string::npos) ++place;
  return place;
}

bool has_mark(const HttpExchange& exchange, const std::string& mark) {
  return std::ranges::any_of(exchange.body, [&](const HttpExchange::Piece& piece) {
    return piece.bytes.find(mark) != std::string::npos;
  });
}

// What is wrong with reasoning in a request: it was made by another model, say.
std::string problem_of(const std::string& mark, const Sent& sent, const std::vector<Sent>& all) {
  const auto maker = std::ranges::find_if(all, [&](const Sent& one) { return has_mark(one.exchange, mark); });
  if (maker == all.end()) return mark + " was made by nobody";
  const ReasoningRule& rule = sent.by.rule;
  if (maker->by.server != sent.by.server) return mark + " was made by another server";
  if (rule.same_model && maker->by.model != sent.by.model) return mark + " was made by another model";
  if (rule.same_account && maker->by.key != sent.by.key) return mark + " was made for another account";
  if (!rule.same_prefix) return "";
  const Json made = Json::parse(maker->exchange.request_body), now = Json::parse(sent.exchange.request_body);
  const std::string before = beginning(made, made.at("messages").size());
  const std::string after = beginning(now, place_of(now, mark));
  return before == after ? "" : mark + " was made behind\n" + before + "\nand goes back behind\n" + after;
}

std::string problem_of(const Sent& sent, const std::vector<Sent>& all) {
  const std::string& body = sent.exchange.request_body;
  std::string why = refusal_of(sent.by.provider->name, body, sent.exchange.url);
  static const std::regex mark("T[0-9]+-[0-9]+-[0-9]+-[0-9]+;");
  for (std::sregex_iterator at(body.begin(), body.end(), mark), end; why.empty() && at != end; ++at)
    why = problem_of(at->str(), sent, all);
  return why.empty() ? why : why + " in " + body;
}

bool has_reasoning(const Sent& sent) {
  static const std::regex mark("T[0-9]+-[0-9]+-[0-9]+-[0-9]+;");
  return std::regex_search(sent.exchange.request_body, mark);
}

}  // namespace

TEST_CASE("each request is one that its provider takes, whatever happened before it",
          "[property][llm][provider][reasoning][router][context][compaction][restore][G8]") {
  prop("also the reasoning in it, which only who made it gets back", [] {
    const Setup setup = *any_setup();
    const auto answers = *rc::gen::nonEmpty(rc::gen::container<std::vector<GeneratedAnswer>>(any_answer()));
    const auto moves = *rc::gen::scale(2, rc::gen::container<std::vector<Move>>(any_move()));
    World world(setup, answers);
    for (const Move& move : moves) world.act(move);
    world.settle();
    for (const Sent& sent : world.sent())
      if (const std::string why = problem_of(sent, world.sent()); !why.empty()) RC_FAIL(why);
    RC_CLASSIFY(world.sent().size() > 5, "more than 5 requests");
    RC_CLASSIFY(std::ranges::any_of(world.sent(), has_reasoning), "with reasoning that goes back");
    RC_TAG(std::string(world.restarts() > 0 ? "restart " : "") + (world.summaries > 0 ? "summary " : "") +
           (world.trims > 0 ? "trim" : ""));
  });
}
