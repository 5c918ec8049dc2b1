#include "property/restart_world.hpp"

#include <algorithm>
#include <chrono>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace agentcore::test {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump();
}

// The word before the number.
std::pair<std::string, std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  std::pair<std::string, std::string> found;
  words >> found.first >> found.second;
  return found;
}

ToolCall call(std::string id, std::string name, std::string arguments) {
  return {.id = std::move(id), .name = std::move(name), .arguments = std::move(arguments)};
}

// What the model answers depends on the request alone.
testing::ScriptedReply reply_to(const ChatRequest& request) {
  testing::ScriptedReply reply;
  reply.usage = {.prompt_tokens = 20, .completion_tokens = 10, .total_tokens = 30};
  const ChatMessage& last = request.messages.back();
  if (last.role == Role::tool) {
    if (last.tool_call_id.starts_with("loop"))
      reply.tool_calls = {call(last.tool_call_id + "x", "safe", "{}")};
    else
      reply.deltas = {"after ", last.tool_call_id};
    return reply;
  }
  const auto [script, number] = words_of(last.content());
  reply.deltas = {"heard ", script, " ", number};
  const std::string id = script + number;
  const std::string arguments = "{}";
  if (script == "never" || script == "safe" || script == "careful" || script == "task" ||
      script == "finish" || script == "absent")
    reply.tool_calls = {call(id, script, arguments)};
  if (script == "loop") reply.tool_calls = {call(id, "safe", arguments)};
  if (script == "both")
    reply.tool_calls = {call(id + "a", "never", arguments), call(id + "b", "careful", "{}"),
                        call(id + "c", "safe", arguments)};
  if (script == "unreadable") reply.tool_calls = {call(id, "safe", "no object")};
  if (script == "question") reply.tool_calls = {call(id, "ask_human", R"({"question":"Which?"})")};
  if (script == "delegate") reply.tool_calls = {call(id, "delegate", R"({"message":"say )" + number + "\"}")};
  if (script == "delegate_never")
    reply.tool_calls = {call(id, "delegate", R"({"message":"never )" + number + "\"}")};
  if (script == "fail") reply.error = {.code = Errc::api_error, .message = "no answer to " + number};
  if (script == "much") {
    reply.deltas = {std::string(3000, 'm')};
    reply.usage = {.prompt_tokens = 900, .completion_tokens = 800, .total_tokens = 1700};
  }
  if (script == "json") reply.deltas = {R"({"of":)" + quoted(number) + "}"};
  return reply;
}

std::string to_text(const ChatMessage& message) {
  std::string text =
      std::string(to_string(message.role)).substr(0, 1) + ':' + message.content().substr(0, 300);
  if (message.interruption != Interruption::none) text += '!' + std::string(to_string(message.interruption));
  for (const ToolCall& asked : message.tool_calls())
    text += " call(" + asked.id + ',' + asked.name + ',' + asked.arguments + ',' + asked.window_id + ',' +
            asked.action_id + ')';
  if (!message.tool_call_id.empty()) text += " of " + message.tool_call_id;
  if (message.steered) text += " steered";
  if (message.pinned) text += " pinned";
  if (message.summary) text += " summary";
  for (const ContentPart& part : message.parts()) text += " part " + part.url;
  return text;
}

std::string to_text(const std::vector<ChatMessage>& messages) {
  std::string text;
  for (const ChatMessage& message : messages) text += "\n    " + to_text(message);
  return text;
}

std::string to_text(const Spent& spent) {
  std::ostringstream text;
  text << spent.turns << '/' << spent.tokens << '/' << spent.cost << '/' << spent.tokens_reserved;
  return text.str();
}

// Ids of agents and tasks that the library has generated.
std::string without_random_ids(const std::string& text) {
  static const std::regex generated("@[0-9]+[.][0-9]+|task_[0-9a-f]+");
  return std::regex_replace(text, generated, "@");
}

template <typename T>
std::string reason_of(const Result<T>& result) {
  return result ? "" : std::string(to_string(result.error().code));
}

}  // namespace

AgentSpec spec_of(int kind) {
  AgentSpec spec;
  spec.code.tools = "tools";
  spec.model.prices = {.prompt = 2, .completion = 8};
  spec.model.max_tokens = 50;
  switch (kind) {
    case 1:
      spec.limits.budget = {.turns = 3, .tokens = 2'000};
      break;
    case 2:
      spec.limits.subtree_budget = {.turns = 6, .tokens = 3'000, .cost = 0.5};
      break;
    case 3:
      spec.auto_resume = true;
      spec.system_prompt = "You resume.";
      break;
    case 4:
      spec.code.handler = "handler";
      break;
    case 5:
      spec.role = AgentRole::user;
      break;
    case 6:
      spec.role = AgentRole::system;
      spec.history = {ChatMessage::user("an old question"), ChatMessage::assistant("an old answer")};
      spec.history[0].pinned = true;
      spec.context = {.max_tokens = 1'500, .target_tokens = 300, .min_conversation_tokens = 1};
      spec.context.archive_bytes = 1'000;
      break;
    case 7:
      spec.limits.parallel_tools = 3;
      spec.limits.background_tasks = 2;
      spec.partial_answers = PartialAnswers::keep;
      break;
    case 8:
      spec.context = {.max_tokens = 1'500, .target_tokens = 300, .min_conversation_tokens = 1};
      spec.context.compact = Compaction{.prompt = "summary 0", .max_tokens = 500};
      break;
    case 9:
      spec.model.response_format = {.kind = ResponseFormat::Kind::json_object};
      spec.limits.mailbox = std::uint16_t{3};
      break;
    case 10:
      spec.limits.budget.wall_clock = std::chrono::hours(30);
      spec.limits.turn_timeout = std::chrono::hours(5);
      break;
    case 11:
      spec.tool_protocol = ToolProtocol::text;
      spec.limits.tool_rounds = 2;
      break;
    default:
      break;
  }
  return spec;
}

RestartWorld::Run::Run(RestartWorld& world, RestoreOptions options)
    : runtime({.clock = &world.clock}),
      llm(std::make_unique<testing::ScriptedClient>(runtime,
                                                    [&world](const ChatRequest& request) {
                                                      auto reply = reply_to(request);
                                                      reply.first_delay = world.model_delay;
                                                      return reply;
                                                    })),
      tree(std::make_unique<AgentTree>(runtime, TreeOptions{.llm = llm.get()})) {
  world.watch(*this);
  report = tree->restore(&world.store(), std::move(options)).value();
}

RestartWorld::Run::~Run() {
  subscriptions.clear();
  tree.reset();
  llm.reset();
}

RestartWorld::RestartWorld(bool in_file, ProcessEnd end, RestoreOptions options)
    : end_(end), options_(std::move(options)) {
  if (in_file) file_ = SqliteStore::open(folder_.file()).value();
  add_tools();
  options_.sync = StoreSync::process;
  options_.max_attempts = 1'000'000;
  options_.code.add_tools("tools", tools_);
  options_.code.add_handler("handler", [this](const Agent& agent, const Message& message) {
    log.push_back("handled " + agent.id() + ' ' + message.text);
    if (message.text.starts_with("fail")) throw std::runtime_error("the handler fails");
  });
  run_ = std::make_unique<Run>(*this, options_);
}

void RestartWorld::add_tools() {
  const auto add = [this](ToolSpec spec, ToolResult result) {
    tools_->add({.spec = std::move(spec),
                 .start = [this, result](const nlohmann::json&, const ToolContext& context, ToolDone done) {
                   begun.push_back(context.call_id());
                   log.push_back(
                       without_random_ids("begun " + context.agent().id() + ' ' + context.call_id()));
                   if (tools_hold)
                     held_.push_back(std::move(done));
                   else
                     done(result);
                 }});
  };
  add({.name = "never"}, ToolResult::done("never"));
  add({.name = "safe", .replay = ToolReplay::safe}, ToolResult::done("safe"));
  add({.name = "careful", .needs_approval = true}, ToolResult::failed("careful"));
  add({.name = "task", .mode = ToolMode::async}, ToolResult::done("task"));
  add({.name = "finish"}, {.message = "finish", .end_turn = true});
  tools_->add(make_ask_human_tool());
  AgentToolOptions delegate;
  delegate.tool = {.name = "delegate"};
  delegate.agent.code.tools = "tools";
  tools_->add(make_agent_tool(std::move(delegate)));
}

void RestartWorld::watch(Run& run) {
  const auto name = [](const Agent& agent) {
    const std::string id = agent.id();
    return id.starts_with('@') ? std::string("@") : id;
  };
  run.subscriptions.push_back(run.tree->on<TurnStarted>([this, name](const TurnStarted& event) {
    log.push_back("turn " + name(event.agent) + ' ' + std::to_string(event.turn) + ' ' +
                  number_of(event.message));
  }));
  run.subscriptions.push_back(run.tree->on<ModelCallEnded>([this, name](const ModelCallEnded& event) {
    if (event.cause != ReaskCause::steered) refused_.insert(name(event.agent));
  }));
  run.subscriptions.push_back(run.tree->on<TurnEnded>([this, name](const TurnEnded& event) {
    refused_.erase(name(event.agent));
    const TurnResult& result = *event.result;
    std::string line = "end " + name(event.agent) + ' ' + std::to_string(event.turn) + ' ' +
                       number_of(event.message) + ' ' + std::string(to_string(result.outcome)) + ' ' +
                       std::string(to_string(result.error.code)) + ' ' + result.text.substr(0, 40) + ' ' +
                       std::to_string(result.usage.total_tokens) + (result.usage.complete ? "" : "+") + ' ' +
                       (result.cost ? std::to_string(*result.cost) : "") + ' ' + result.parse_error;
    for (const ToolCallRecord& record : result.calls)
      line += " (" + record.call_id + ',' + record.tool + ',' + std::string(to_string(record.outcome)) + ',' +
              (record.success ? "1" : "0") + ',' + record.message + ',' + record.summary + ',' +
              std::to_string(record.round) + ',' + std::to_string(record.index) + ')';
    log.push_back(without_random_ids(line));
  }));
  run.subscriptions.push_back(run.tree->on<MessageDropped>([this, name](const MessageDropped& event) {
    log.push_back("dropped " + name(event.agent) + ' ' + number_of(event.id) + ' ' +
                  std::string(to_string(event.reason)));
  }));
}

void RestartWorld::end_run() {
  const std::size_t logged = log.size();
  run_.reset();
  held_.clear();
  log.resize(logged);
}

void RestartWorld::restart() {
  if (end_ == ProcessEnd::killed && !file_) {
    const MemoryStore before = memory_;
    end_run();
    memory_ = before;
  } else {
    end_run();
  }
  if (file_) {
    file_.reset();
    file_ = SqliteStore::open(folder_.file()).value();
  }
  ++clock.run;
  run_ = std::make_unique<Run>(*this, options_);
}

void RestartWorld::settle() {
  poll(60);
}

void RestartWorld::settle_slowly() {
  for (int i = 0; i < 200; ++i) {
    poll(20);
    if (run_->llm->open_calls() == 0) return;
    clock.advance(model_delay);
  }
}

void RestartWorld::poll(int times) {
  for (int i = 0; i < times; ++i) run_->runtime.poll();
}

bool RestartWorld::is_at_rest() const {
  const std::vector<OpenQuestion> questions = run_->tree->questions();
  const auto asks = [&](const std::string& id) {
    return std::any_of(questions.begin(), questions.end(),
                       [&](const OpenQuestion& question) { return question.agent_id == id; });
  };
  const auto asked = [&](const std::string& call) {
    return std::any_of(questions.begin(), questions.end(),
                       [&](const OpenQuestion& question) { return question.call_id == call; });
  };
  bool rests = run_->llm->open_calls() == 0 && !is_waiting_by_design();
  run_->tree->walk([&](const Agent& agent) {
    const AgentStatus status = agent.status().value();
    const bool is_quiet = status.state == AgentState::idle || status.state == AgentState::stopped;
    const bool waits = asks(agent.id()) && !agent.id().starts_with('@');
    rests = rests && (is_quiet || waits);
  });
  // Another call of the same answer may be at work.
  for (const RunningTask& task : run_->tree->tasks())
    rests = rests && (task.kind == TaskKind::turn || (task.kind == TaskKind::tool_call && asked(task.id)));
  return rests;
}

bool RestartWorld::is_waiting_by_design() const {
  bool any = !refused_.empty() || std::any_of(messages_.begin(), messages_.end(), [&](MessageId id) {
    const MessageInfo info = run_->tree->message(id);
    if (info.stage != MessageInfo::Stage::queued) return false;
    const auto queued = run_->tree->find(info.agent_id).value().queued().value();
    return std::none_of(queued.begin(), queued.end(),
                        [&](const QueuedMessage& message) { return message.id == id; });
  });
  run_->tree->walk([&](const Agent& agent) { any = any || agent.status().value().stop_pending; });
  return any;
}

bool RestartWorld::is_paused_at_work() const {
  bool any = false;
  run_->tree->walk([&](const Agent& agent) {
    const AgentStatus status = agent.status().value();
    any = any || (status.paused && status.state != AgentState::idle && status.state != AgentState::stopped);
  });
  return any;
}

std::size_t RestartWorld::waiting_in_pause() const {
  std::size_t waiting = 0;
  run_->tree->walk([&](const Agent& agent) {
    if (agent.status().value().paused) waiting += agent.queued().value().size();
  });
  return waiting;
}

std::vector<OpenQuestion> RestartWorld::questions() const {
  std::vector<OpenQuestion> open = run_->tree->questions();
  std::sort(open.begin(), open.end(), [](const OpenQuestion& a, const OpenQuestion& b) {
    return std::tie(a.agent_id, a.call_id) < std::tie(b.agent_id, b.call_id);
  });
  return open;
}

void RestartWorld::unpause() {
  static_cast<void>(tree().unpause_all());
  tree().walk([](const Agent& agent) { static_cast<void>(agent.unpause()); });
}

std::string RestartWorld::note(const SendResult& sent) {
  if (!sent) return std::string(to_string(sent.reason));
  numbers_[sent.id.value] = messages_.size();
  messages_.push_back(sent.id);
  return sent.ended_call ? "sent now" : "sent";
}

std::string RestartWorld::number_of(MessageId id) const {
  const auto found = numbers_.find(id.value);
  return found == numbers_.end() ? "?" : std::to_string(found->second);
}

std::string RestartWorld::all_of(const Agent& agent, bool ids) {
  const AgentStatus status = agent.status().value();
  std::ostringstream text;
  text << "\n"
       << agent.id() << " of " << agent.parent().value_or(Agent()).id() << ' ' << to_string(status.state)
       << (status.paused ? " paused" : "") << (status.queue_held ? " held" : "")
       << (status.stop_pending ? " stop pending" : "") << " children";
  for (const Agent& child : agent.children().value()) text << ' ' << child.id();
  text << "\n  spent " << to_text(agent.spent().value()) << " subtree "
       << to_text(agent.spent(Scope::subtree).value()) << "\n  queued";
  for (const QueuedMessage& queued : agent.queued().value()) {
    text << ' ' << (ids ? to_string(queued.id) : number_of(queued.id)) << ':' << queued.message.text << ','
         << queued.message.sender << ',' << queued.message.kind << ',' << to_string(queued.message.priority)
         << ',' << queued.simulated << ',' << queued.message.parts.size();
    if (queued.deadline) text << " within " << (*queued.deadline - clock.now()).count();
  }
  text << "\n  turns";
  const auto turns = agent.turns();
  for (const ConversationTurn& turn : turns.value())
    text << ' ' << turn.turn << '@' << turn.question << (turn.ended ? "" : "...");
  text << "\n  conversation" << to_text(agent.conversation().value());
  text << "\n  context " << reason_of(agent.context());
  if (const auto context = agent.context()) text << to_text(*context);
  return text.str();
}

std::string RestartWorld::ask_all(bool ids) {
  std::ostringstream text;
  tree().walk([&](const Agent& agent) { text << all_of(agent, ids); });
  for (const Grant& grant : tree().grants())
    text << "\ngrant " << (ids ? std::to_string(grant.id) : "") << ' ' << grant.agent_id << ' '
         << to_string(grant.scope) << ' ' << grant.tool << ' ' << grant.arguments << ' ' << grant.key;
  for (const OpenQuestion& question : ids ? tree().questions() : questions())
    text << "\nquestion " << (ids ? question.id : "") << ' ' << to_string(question.kind) << ' '
         << question.agent_id << ' ' << question.call_id << ' ' << question.tool << ' ' << question.text;
  std::set<std::string> tasks;  // their order is not said
  for (const RunningTask& task : tree().tasks()) {
    std::ostringstream line;
    line << "\ntask " << to_string(task.kind) << ' ' << task.id << ' ' << task.agent_id << ' ' << task.turn
         << ' ' << number_of(task.message) << ' ' << task.tool << ' ' << task.stopping;
    tasks.insert(line.str());
  }
  for (const std::string& line : tasks) text << line;
  for (const MessageId id : messages_) {
    const MessageInfo info = tree().message(id);
    // The results of turns are not kept.
    if (info.stage == MessageInfo::Stage::queued || info.stage == MessageInfo::Stage::running)
      text << "\nmessage " << number_of(id) << ' ' << info.agent_id << ' ' << info.turn << ' '
           << (info.stage == MessageInfo::Stage::queued ? "queued" : "running");
  }
  text << '\n';
  if (ids) return text.str();
  return without_random_ids(text.str());
}

}  // namespace agentcore::test
