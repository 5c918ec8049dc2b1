// A host forks, and its child destroys what it has copies of: the parent must not notice.
#include "support/catch.hpp"
#include "support/console/console_life.hpp"
#include "support/store/guarded_store.hpp"
#include "support/store/store_folder.hpp"
#include "support/wire/socket_server.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/console.hpp>
#include <agentcore/executor.hpp>
#include <agentcore/http_llm_client.hpp>
#include <agentcore/llm_router.hpp>
#include <agentcore/receipt_file.hpp>
#include <agentcore/sqlite_store.hpp>
#include <agentcore/subprocess.hpp>
#include <agentcore/terminate_scope.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace agentcore;
using agentcore::test::StoreFolder;

namespace {

// All that a host may have, with a program that waits for a line in a FIFO.
struct Host {
  explicit Host(const StoreFolder& folder) : fifo(folder.file("fifo")) {
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    store = SqliteStore::open(folder.file()).value();
    receipts = ReceiptFile::open(folder.file("receipts"), {.key = std::string(32, 'k')}).value();
    tools->add(make_subprocess_tool(
        {.name = "wait", .description = "waits for a line"}, {.command = [this](const nlohmann::json&) {
          return SubprocessCommand{
              .arguments = {"/bin/sh", "-c", "read line < \"$0\"; echo got $line", fifo}};
        }}));
    runtime.emplace();
    pool.emplace(2);
    llm.emplace(*runtime);
    router.emplace(*runtime, RouterOptions{.routes = {{.client = &*llm}}});
    http.emplace(*runtime, HttpLlmOptions{.base_url = "http://127.0.0.1:9/v1", .model = "m"});
    tree.emplace(*runtime, TreeOptions{.llm = &*router, .audit = receipts});
    REQUIRE(tree->restore(&*store));
    agent = tree->create({.id = "a", .tools = tools}).value();
    scope.emplace(agent);
    scoped = scope->create({.id = "scoped"}).value();
    ended = tree->on<ToolEnded>([this](const ToolEnded& end) { result = end.result.message; });
    wake = runtime->on_wake([this] { ++wakes; });
  }

  // As at the end of a program, in the order of the members.
  void destroy() {
    scope.reset();
    ended.reset();
    wake.reset();
    tree.reset();
    http.reset();
    router.reset();
    llm.reset();
    pool.reset();
    runtime.reset();
    store.reset();
    receipts.reset();
  }

  std::string fifo;
  std::string result;
  int wakes = 0;
  std::unique_ptr<SqliteStore> store;
  std::shared_ptr<ReceiptFile> receipts;
  std::shared_ptr<ToolRegistry> tools = std::make_shared<ToolRegistry>();
  std::optional<Runtime> runtime;
  std::optional<ThreadPool> pool;
  std::optional<testing::ScriptedClient> llm;
  std::optional<LlmRouter> router;
  std::optional<HttpLlmClient> http;
  std::optional<AgentTree> tree;
  std::optional<TerminateScope> scope;
  Subscription ended, wake;
  Agent agent, scoped;
};

// The exit status of a child that calls `function`; a child that hangs is ended by a signal.
template <typename Function>
int status_of_child(Function&& function) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    function();
    ::_exit(0);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("a forked child destroys its copies, and the parent goes on", "[fork][G5][G13]") {
  const StoreFolder folder;
  Host host(folder);
  host.llm->enqueue({.tool_calls = {{.id = "c1", .name = "wait", .arguments = "{}"}}});
  host.llm->enqueue({.deltas = {"done"}});
  std::string stopped;
  REQUIRE(host.agent.send("go").accepted());
  bool started = false;
  const auto starts = host.tree->on<ToolStarted>([&](const ToolStarted&) { started = true; });
  while (!started) host.runtime->poll();
  const auto size_before = std::filesystem::file_size(folder.file() + "-wal");

  const bool by_mistake = GENERATE(false, true);
  const int status = status_of_child([&] {
    // A verb that the child calls by mistake cuts nothing of the parent either.
    if (by_mistake) static_cast<void>(host.agent.stop());
    host.destroy();
  });
  CHECK(status == 0);
  CHECK(std::filesystem::file_size(folder.file() + "-wal") == size_before);
  CHECK(host.scoped.state().value() == AgentState::idle);

  std::ofstream(host.fifo) << "this" << std::endl;  // the program lives
  REQUIRE(host.runtime->run_until_idle().is_idle());
  CHECK(host.result.find("got this") != std::string::npos);
  CHECK(host.agent.stop().took_effect());
  REQUIRE(host.runtime->run_until_idle().is_idle());
  CHECK(host.tree->flush());
  host.destroy();

  const auto store = SqliteStore::open(folder.file()).value();  // its lock was released by the parent alone
  Runtime runtime;
  testing::ScriptedClient llm{runtime};
  AgentTree tree{runtime, {.llm = &llm}};
  REQUIRE(tree.restore(store.get()));
  CHECK(tree.find("a").value().state().value() == AgentState::stopped);
  CHECK(tree.find("scoped").has_value() == false);
}

// The tool and the store of a host do not know of the child: what they do there, they do to the parent.
TEST_CASE("a forked child that destroys its copy of a tree calls no tool and no store of the host",
          "[fork][G5][G13]") {
  int cuts = 0;
  test::GuardedStore store;
  Runtime runtime;
  testing::ScriptedClient llm{runtime};
  std::optional<AgentTree> tree(std::in_place, runtime, TreeOptions{.llm = &llm});
  REQUIRE(tree->restore(&store));
  std::optional<ToolDone> done;
  std::optional<std::stop_callback<std::function<void()>>> on_cut;
  const auto tools = std::make_shared<ToolRegistry>();
  tools->add({.spec = {.name = "held"},
              .start = [&](const nlohmann::json&, const ToolContext& context, ToolDone given) {
                done.emplace(std::move(given));
                on_cut.emplace(context.stop(), [&cuts] { ++cuts; });
              }});
  llm.enqueue({.tool_calls = {{.id = "c1", .name = "held", .arguments = "{}"}}});
  llm.enqueue({.deltas = {"done"}});
  const Agent agent = tree->create({.id = "a", .tools = tools}).value();
  REQUIRE(agent.send("go").accepted());
  while (!done) runtime.poll();
  REQUIRE(tree->flush());
  REQUIRE(tree->create({.id = "not stored yet"}));

  const int status = status_of_child([&] {
    const std::size_t commits = store.commits;
    tree.reset();
    ::_exit((cuts == 0 ? 0 : 1) + (store.commits == commits ? 0 : 2));
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);

  (*done)(ToolResult::done("found"));
  REQUIRE(runtime.run_until_idle().is_idle());
  CHECK(cuts == 0);
  CHECK(agent.state().value() == AgentState::idle);
  CHECK(agent.conversation().value().back().content() == "done");
}

// A socket is shared with the child: a shutdown there would end the parent's stream, or close its viewer.
TEST_CASE("a forked child ends no stream and no viewer of its parent", "[fork][console][G5]") {
  const auto chunk = [](std::string_view text) {
    return R"(data: {"choices":[{"index":0,"delta":{"content":")" + std::string(text) + "\"}}]}\n\n";
  };
  test::SocketServer server([&](test::Peer& peer) {
    peer.read_request();
    peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + chunk("one "));
    if (!peer.wait_step()) return;
    peer.write(chunk("two") + R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})" +
               "\n\ndata: [DONE]\n\n");
  });
  std::optional<Runtime> runtime(std::in_place);
  std::optional<HttpLlmClient> http(std::in_place, *runtime,
                                    HttpLlmOptions{.base_url = server.url() + "/v1", .model = "m"});
  std::optional<AgentTree> tree(std::in_place, *runtime, TreeOptions{.llm = &*http});
  std::unique_ptr<Console> console = Console::open(*runtime, {.port = 0}).value();
  Subscription shown = console->show(*tree);
  std::string text;
  Subscription deltas = tree->on<DeltaReceived>([&](const DeltaReceived& delta) { text += delta.text; });
  const auto drive = [&](const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!done() && std::chrono::steady_clock::now() < end) runtime->run_for(std::chrono::milliseconds(1));
    return done();
  };
  test::ConsoleClient viewer(console->port());
  viewer.send("GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(console->port()) + "\r\n\r\n");
  const auto sees = [&](std::string_view what) {
    viewer.receive();
    return viewer.received().find(what) != std::string::npos;
  };
  REQUIRE(drive([&] { return sees("text/event-stream"); }));
  const Agent agent = tree->create({.id = "a"}).value();
  REQUIRE(agent.send("go").accepted());
  REQUIRE(drive([&] { return text == "one "; }));

  const bool by_mistake = GENERATE(false, true);
  CHECK(status_of_child([&] {
          if (by_mistake) static_cast<void>(agent.stop());
          shown.reset();
          console.reset();
          deltas.reset();
          tree.reset();
          http.reset();
          runtime.reset();
        }) == 0);

  CHECK(server.closed() == 0);
  server.step();
  CHECK(drive([&] { return text == "one two" && !agent.busy(); }));
  CHECK(agent.conversation().value().back().content() == "one two");
  REQUIRE(tree->create({.id = "after the fork"}));
  CHECK(drive([&] { return sees("after the fork"); }));
  CHECK_FALSE(viewer.ended());
}

TEST_CASE("the lock of a store stays with the parent of a forked child", "[fork][store]") {
  const StoreFolder folder;
  auto store = SqliteStore::open(folder.file()).value();
  CHECK(status_of_child([&] { store.reset(); }) == 0);
  CHECK(SqliteStore::open(folder.file()).error().code == Errc::store_in_use);
}
