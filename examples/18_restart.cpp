// A program with agents in a file: it is killed in the middle of their work, and started again. Each agent
// goes on where it was, and the stopped one is still stopped.
//
//   example_18_restart agents.db   works until you kill it; started again, goes on
//   example_18_restart             does both with a file of its own
#include <agentcore/agentcore.hpp>
#include <agentcore/sqlite_store.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

using agentcore::ToolContext;
using agentcore::ToolDone;
using nlohmann::json;

namespace {

// A model that begins with a tool, and then says what it has read.
agentcore::testing::ScriptedReply model(const agentcore::ChatRequest& request) {
  static const std::map<std::string, agentcore::ToolCall> calls = {
      {"Book a beach.", {.name = "ask_human", .arguments = R"({"question":"Which beach?"})"}},
      {"Bill the trip.", {.name = "send_invoice"}},
      {"What is the weather?", {.name = "fetch"}}};
  agentcore::testing::ScriptedReply reply;
  const agentcore::ChatMessage& last = request.messages.back();
  if (const auto call = calls.find(last.content()); call != calls.end())
    reply.tool_calls = {call->second};
  else if (last.role == agentcore::Role::tool)
    reply.deltas = {"I read \"", last.content(), "\"."};
  else if (last.content() == "Guess a number.")
    reply.silent = true;  // thinks until it is stopped
  else
    reply.deltas = {"You are welcome."};
  return reply;
}

// A server that the tools call. What it has received outlives our program, in a file. It is slow: a request
// gets its answer only when it comes again.
class Server {
 public:
  explicit Server(std::string path) : path_(std::move(path)) {}

  void request(const std::string& what, const std::string& key, ToolDone done) {
    if (has(key)) {
      std::printf("  the server gets a %s with a key that it knows\n", what.c_str());
      return done(agentcore::ToolResult::done("Sunny."));
    }
    std::ofstream(path_, std::ios::app) << key << '\n';
    std::printf("  the server gets a %s with a new key\n", what.c_str());
    open_.push_back(std::move(done));
  }
  std::size_t open() const { return open_.size(); }

 private:
  bool has(const std::string& key) const {
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);)
      if (line == key) return true;
    return false;
  }

  std::string path_;
  std::vector<ToolDone> open_;
};

// [snippet: tools]
std::shared_ptr<agentcore::ToolRegistry> make_tools(Server& server) {
  auto tools = std::make_shared<agentcore::ToolRegistry>();
  tools->add(agentcore::make_ask_human_tool());
  tools->add({.spec = {.name = "fetch", .replay = agentcore::ToolReplay::safe},  // may be made twice
              .start = [&](const json&, const ToolContext& context, ToolDone done) {
                server.request("fetch", context.idempotency_key(), std::move(done));
              }});
  tools->add({.spec = {.name = "send_invoice"},  // ToolReplay::never
              .start = [&](const json&, const ToolContext& context, ToolDone done) {
                server.request("send_invoice", context.idempotency_key(), std::move(done));
              }});
  return tools;
}
// [/snippet]

int failed(const char* what, const agentcore::Error& error) {
  std::fprintf(stderr, "%s: %s (%s)\n", what, error.message.c_str(), to_string(error.code).data());
  return 1;
}

// [snippet: restored]
void print_restored(const agentcore::AgentRestored& restored) {
  std::printf("%s is %s", restored.agent.id().c_str(), to_string(restored.state).data());
  if (restored.turn != 0)
    std::printf(", turn %d %s", static_cast<int>(restored.turn), to_string(restored.fate).data());
  if (restored.messages != 0) std::printf(", messages that wait: %zu", restored.messages);
  if (!restored.unbound.empty()) std::printf(", %s", restored.unbound.c_str());
  std::puts("");
  for (const agentcore::InterruptedCall& call : restored.interrupted_calls)
    std::printf("  %s had begun: %s\n", call.tool.c_str(),
                call.replayed ? "it is made again" : "its effect is unknown");
}
// [/snippet]

// One start of the program.
class Office {
 public:
  explicit Office(const std::string& path) : path_(path), server_(path + ".server") {}

  int run() {
    // [snippet: restore]
    auto store = agentcore::SqliteStore::open(path_);
    if (!store) return failed("the store", store.error());

    agentcore::AgentTree tree{runtime_, {.llm = &llm_}};
    auto found = tree.on<agentcore::AgentRestored>(print_restored);
    auto events = tree.on_event(print_event);

    agentcore::RestoreOptions options{.durability = agentcore::Durability::each_message,
                                      .turns = agentcore::InterruptedTurns::go_on};
    options.code.add_tools("office", make_tools(server_));  // code is found by its name
    options.on_failure = [](const agentcore::Error& error) {
      failed("not stored", error);
      return agentcore::AfterStoreFailure::stop_all;
    };
    auto report = tree.restore(store->get(), std::move(options));
    if (!report) return failed("the agents", report.error());
    return report->agents == 0 ? begin(tree) : go_on(tree);
    // [/snippet]
  }

 private:
  static void print_event(const agentcore::Event& event) {
    if (auto* asked = event.get<agentcore::QuestionAsked>())
      std::printf("  %s asks %s: %s\n", asked->agent.id().c_str(), asked->question.id.c_str(),
                  asked->question.text.c_str());
    if (auto* end = event.get<agentcore::TurnEnded>())
      std::printf("  %s, turn %d %s%s%s\n", end->agent.id().c_str(), static_cast<int>(end->turn),
                  to_string(end->result->outcome).data(), end->result->text.empty() ? "" : ": ",
                  end->result->text.c_str());
  }

  // The first start: there are no agents yet.
  int begin(agentcore::AgentTree& tree) {
    bool is_stored = false;
    auto stops =
        tree.on<agentcore::StopPersisted>([&](const agentcore::StopPersisted&) { is_stored = true; });

    const agentcore::Agent office = tree.create({.id = "office"}).value();
    const auto employ = [&](std::string id, const char* text) {
      agentcore::Agent agent =
          office.create_child({.id = std::move(id), .code = {.tools = "office"}}).value();
      if (const agentcore::SendResult sent = agent.send(text); !sent)
        std::puts(to_string(sent.reason).data());
      return agent;
    };
    employ("travel", "Book a beach.");
    const agentcore::Agent billing = employ("billing", "Bill the trip.");
    employ("weather", "What is the weather?");
    const agentcore::Agent dreamer = employ("dreamer", "Guess a number.");
    if (!billing.send("Thank you.")) return 1;  // waits for the end of the turn before
    while (tree.questions().empty() || server_.open() < 2) runtime_.run_for(std::chrono::milliseconds(1));

    if (!dreamer.stop({.reason = "not now"}).took_effect()) return 1;
    while (!is_stored) runtime_.run_for(std::chrono::milliseconds(1));
    std::puts("dreamer is stopped for good. Kill me.");
    runtime_.run_for(std::chrono::minutes(10));
    return 1;  // it was not killed
  }

  // Each later start.
  int go_on(agentcore::AgentTree& tree) {
    for (const agentcore::OpenQuestion& question : tree.questions()) {
      std::printf("a person answers %s\n", question.id.c_str());
      if (!tree.answer(question.id, "Agios Pavlos")) return 1;
    }
    runtime_.run_until_idle();
    const agentcore::SendResult sent = tree.find("dreamer").value().send("Are you there?");
    std::printf("a message to dreamer is refused: %s\n", to_string(sent.reason).data());
    return sent.reason == agentcore::Errc::agent_stopped && !tree.busy() ? 0 : 1;
  }

  std::string path_;
  Server server_;
  // With this budget what is printed has the same order on each machine, however slow.
  agentcore::Runtime runtime_{{.poll_budget = std::chrono::hours(1), .log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient llm_{runtime_, model};
};

// Starts the program as a process of its own, shows what it prints, and kills it when it says so.
bool run_and_kill(const std::string& path) {
  int pipe[2];
  if (::pipe(pipe) != 0) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    ::close(pipe[0]);
    ::close(pipe[1]);
    std::_Exit(Office(path).run());
  }
  ::close(pipe[1]);
  std::string printed;
  char text[512];
  ssize_t size = 0;
  while (printed.find("Kill me.\n") == std::string::npos && (size = ::read(pipe[0], text, sizeof text)) > 0) {
    printed.append(text, static_cast<std::size_t>(size));
    std::fwrite(text, 1, static_cast<std::size_t>(size), stdout);
  }
  ::close(pipe[0]);
  int status = 0;
  if (child > 0) ::kill(child, SIGKILL);
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFSIGNALED(status) && size > 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc > 1) return Office(argv[1]).run();

  std::string folder = (std::filesystem::temp_directory_path() / "agentcore-restart-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const std::string path = folder + "/agents.db";
  std::puts("--- the first process");
  int result = 1;
  if (run_and_kill(path)) {
    std::puts("--- it was killed; the second process");
    result = Office(path).run();
  }
  std::filesystem::remove_all(folder);
  return result;
}
