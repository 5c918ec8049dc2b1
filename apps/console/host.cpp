#include "console/host.hpp"

#include "console/token_file.hpp"

#include <agentcore/http.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include <poll.h>

namespace console_app {
namespace {

using namespace agentcore;

constexpr auto shutdown_takes = std::chrono::seconds(10);

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what);
}

template <typename T>
T value_of(Result<T> result, const std::string& what) {
  if (!result) fail(what + ": " + result.error().message);
  return *std::move(result);
}

ToolPolicy policy_of(const Settings& settings) {
  std::vector<ToolRule> rules;
  for (const std::string& tool : settings.approve)
    rules.push_back({.tool = tool, .permission = Permission::ask, .agent = "*", .reason = {}});
  return make_tool_policy(std::move(rules), Permission::allow);
}

LogSink log_of(const Settings& settings) {
  LogSink all = log_to_stderr();
  if (settings.verbose) return all;
  return [all](const LogRecord& record) {
    if (record.level >= LogLevel::warning || record.message.starts_with("console:")) all(record);
  };
}

PartialAnswers partial_answers_of(const Settings& settings) {
  return settings.keep_partial_answers ? PartialAnswers::keep : PartialAnswers::drop;
}

// True while a turn, a model call or a tool call is in progress. A background task belongs to its agent: it
// ends with the process.
bool is_busy(const AgentTree& tree) {
  const std::vector<RunningTask> tasks = tree.tasks();
  return std::any_of(tasks.begin(), tasks.end(),
                     [](const RunningTask& task) { return task.kind != TaskKind::background; });
}

// How long poll(2) may wait, in milliseconds; -1: until the descriptor is readable.
int wait_of(const Runtime& runtime) {
  const auto next = runtime.next_deadline();
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - runtime.now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

}  // namespace

Host::Host(const Settings& settings)
    : runtime_({.log = log_of(settings)}), tools_(std::make_shared<ToolRegistry>()) {
  tools_->add(make_ask_human_tool());
  if (!settings.receipts.empty()) open_receipts(settings.receipts);
  open_client(settings);
  open_console(settings);
  tree_ = std::make_unique<AgentTree>(
      runtime_,
      TreeOptions{.llm = client_, .tool_policy = policy_of(settings), .audit = console_->receipts()});
  shown_ = console_->show(*tree_);
  if (!settings.store.empty()) restore(settings.store, settings.secure_delete);
  create_agents(settings);
}

Host::~Host() {
  shown_.reset();
}

void Host::open_client(const Settings& settings) {
  HttpLlmOptions options;
  if (!settings.provider.empty())
    options = value_of(provider_options(settings.provider, {.name = "agentcore-console"}), "--provider");
  if (!settings.base_url.empty()) options.base_url = settings.base_url;
  if (options.base_url.empty()) fail("no model server: set --base-url or --provider");
  if (!settings.model.empty()) options.model = settings.model;
  if (!settings.api_key_env.empty()) options.api_key_env = settings.api_key_env;
  client_ = std::make_shared<HttpLlmClient>(runtime_, std::move(options));
  code_.add_llm("main", client_);
  code_.add_tools("main", tools_);
}

void Host::open_console(const Settings& settings) {
  ConsoleOptions options;
  options.address = settings.address;
  options.port = settings.port;
  options.host_names = settings.host_names;
  if (!settings.token_file.empty()) options.token = read_token(settings.token_file);
  options.agent.tools = tools_;
  options.agent.system_prompt = settings.system_prompt;
  options.agent.code = {.llm = "main", .tools = "main"};
  options.agent.partial_answers = partial_answers_of(settings);
  options.receipts_to = receipts_;
  console_ = value_of(Console::open(runtime_, std::move(options)), "the console");
}

void Host::create_agents(const Settings& settings) {
  for (const std::string& agent : settings.agents) create_agent(agent, settings);
}

// "planner/scout": an agent "scout" below "planner". One that a store has brought back is left as it is.
void Host::create_agent(std::string_view path, const Settings& settings) {
  const std::size_t slash = path.rfind('/');
  const std::string name(path.substr(slash == std::string_view::npos ? 0 : slash + 1));
  if (tree_->find(name)) return;
  AgentSpec spec;
  spec.id = name;
  spec.system_prompt = settings.system_prompt;
  spec.tools = tools_;
  spec.code = {.llm = "main", .tools = "main"};
  spec.partial_answers = partial_answers_of(settings);
  if (slash == std::string_view::npos) {
    value_of(tree_->create(std::move(spec)), "--agent " + std::string(path));
    return;
  }
  const std::string_view above = path.substr(0, slash);
  const std::string parent(above.substr(above.rfind('/') + 1));  // npos + 1 is 0
  value_of(value_of(tree_->find(parent), "--agent " + std::string(path)).create_child(std::move(spec)),
           "--agent " + std::string(path));
}

void Host::run(int quit) {
  bool has_more = false;
  while (true) {
    pollfd watched[] = {{.fd = runtime_.poll_descriptor(), .events = POLLIN, .revents = 0},
                        {.fd = quit, .events = POLLIN, .revents = 0}};
    if (::poll(watched, 2, has_more ? 0 : wait_of(runtime_)) < 0 && errno != EINTR) fail("poll(2) failed");
    if (watched[1].revents != 0) break;
    has_more = runtime_.poll();
  }
  end_turns();
}

// No stop: a stop would be in the store, and the next start would find all agents stopped.
void Host::end_turns() {
  for (const Agent& root : tree_->roots())
    static_cast<void>(
        root.interrupt({.scope = Scope::subtree, .queue = QueueAction::hold, .reason = "the console ends"}));
  const TimePoint until = runtime_.now() + shutdown_takes;
  while (is_busy(*tree_) && runtime_.now() < until) runtime_.run_for(std::chrono::milliseconds(10));
}

}  // namespace console_app
