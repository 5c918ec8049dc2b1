// Functions of the loop thread do nothing on another thread, in every build.
#include "support/catch.hpp"
#include "support/documented_functions.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/call_slots.hpp>
#include <agentcore/checkpoint.hpp>
#include <agentcore/conversation.hpp>
#include <agentcore/http_llm_client.hpp>
#include <agentcore/llm_router.hpp>
#include <agentcore/loop_attachment.hpp>
#include <agentcore/terminate_scope.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace agentcore;

namespace {

// A tree with one agent, and the functions that the log says were called on a wrong thread.
struct Host {
  static RuntimeOptions logging_to(std::vector<std::string>& functions) {
    RuntimeOptions options;
    // A callback that waits for a thread may take longer than the default: no poll here ends for that reason.
    options.poll_budget = std::chrono::hours(1);
    options.log = [&functions](const LogRecord& record) {
      if (record.message == "a function of the loop thread was called on another thread")
        functions.emplace_back(record.fields[0].value);
    };
    return options;
  }

  std::vector<std::string> logged;
  int called = 0;
  Runtime runtime{logging_to(logged)};
  testing::ScriptedClient llm{runtime};
  CallSlots slots{runtime};
  LlmRouter router{runtime, {.routes = {{.client = &llm}}}};
  HttpLlmClient http{runtime, {.base_url = "http://127.0.0.1:9/v1", .model = "m"}};
  AgentTree tree{runtime, {.llm = &llm}};
  std::shared_ptr<ToolRegistry> tools = std::make_shared<ToolRegistry>();
  Agent agent = tree.create({.id = "a", .tools = tools}).value();
};

// The result of a call on another thread.
template <typename Function>
auto elsewhere(Function&& function) {
  std::optional<decltype(function())> result;
  std::thread([&] { result.emplace(function()); }).join();
  return std::move(*result);
}

// Each function with an error or a reason; what it says.
using Call = std::pair<const char*, std::function<Errc(Host&)>>;

template <typename T>
Errc code(const Result<T>& result) {
  return result ? Errc::none : result.error().code;
}

Errc reason_of_chat(LlmClient& client) {
  Errc reason = Errc::none;
  client.chat({}, {}, ChatSink({}, [&](ChatOutcome outcome) { reason = outcome.error.code; }));
  return reason;
}

const std::vector<Call>& calls_with_a_reason() {
  static const std::vector<Call> calls = {
      {"AgentTree::create", [](Host& h) { return code(h.tree.create({.id = "b"})); }},
      {"AgentTree::create", [](Host& h) { return code(h.tree.create(std::make_shared<AgentSpec>())); }},
      {"AgentTree::restore", [](Host& h) { return code(h.tree.restore(nullptr)); }},
      {"AgentTree::flush", [](Host& h) { return code(h.tree.flush()); }},
      {"AgentTree::answer", [](Host& h) { return h.tree.answer("q_1", "yes").code(); }},
      {"AgentTree::approve", [](Host& h) { return h.tree.approve("q_1").code(); }},
      {"AgentTree::decline", [](Host& h) { return h.tree.decline("q_1").code(); }},
      {"AgentTree::revoke", [](Host& h) { return h.tree.revoke(1).code(); }},
      {"Agent::create_child", [](Host& h) { return code(h.agent.create_child()); }},
      {"Agent::create_child",
       [](Host& h) { return code(h.agent.create_child(std::make_shared<AgentSpec>())); }},
      {"Agent::parent", [](Host& h) { return code(h.agent.parent()); }},
      {"Agent::children", [](Host& h) { return code(h.agent.children()); }},
      {"Agent::drop_queue", [](Host& h) { return code(h.agent.drop_queue()); }},
      {"Agent::queued", [](Host& h) { return code(h.agent.queued()); }},
      {"Agent::edit_queued", [](Host& h) { return h.agent.edit_queued({1}, {.text = "x"}).code(); }},
      {"Agent::remove_queued", [](Host& h) { return h.agent.remove_queued({1}).code(); }},
      {"Agent::conversation", [](Host& h) { return code(h.agent.conversation()); }},
      {"Agent::context", [](Host& h) { return code(h.agent.context()); }},
      {"Agent::spent", [](Host& h) { return code(h.agent.spent()); }},
      {"Agent::spent", [](Host& h) { return code(h.agent.spent(Scope::subtree)); }},
      {"Agent::grant", [](Host& h) { return h.agent.grant({.turns = 1}).code(); }},
      {"Agent::grant", [](Host& h) { return h.agent.grant({.turns = 1}, Scope::subtree).code(); }},
      {"Agent::role", [](Host& h) { return code(h.agent.role()); }},
      {"Agent::model", [](Host& h) { return code(h.agent.model()); }},
      {"Agent::set_model", [](Host& h) { return h.agent.set_model("m").code(); }},
      {"Agent::set_llm", [](Host& h) { return h.agent.set_llm(nullptr).code(); }},
      {"Agent::set_system_prompt", [](Host& h) { return h.agent.set_system_prompt("p").code(); }},
      {"Agent::set_tools", [](Host& h) { return h.agent.set_tools(nullptr).code(); }},
      {"Agent::truncate_answer", [](Host& h) { return h.agent.truncate_answer({1}, 1).code(); }},
      {"Agent::conversation_page", [](Host& h) { return code(h.agent.conversation_page(1)); }},
      {"Agent::turns", [](Host& h) { return code(h.agent.turns()); }},
      {"Agent::rewind", [](Host& h) { return code(h.agent.rewind(1)); }},
      {"Agent::regenerate", [](Host& h) { return h.agent.regenerate().reason; }},
      {"Agent::fork", [](Host& h) { return code(h.agent.fork()); }},
      {"export_agents", [](Host& h) { return code(export_agents(h.agent)); }},
      {"import_agents", [](Host& h) { return code(import_agents(h.tree, "{}")); }},
      {"Agent::create_child", [](Host& h) { return code(TerminateScope(h.agent).create()); }},
      {"ToolRegistry::try_add", [](Host& h) { return code(h.tools->try_add(make_ask_human_tool())); }},
      {"ToolRegistry::try_open", [](Host& h) { return code(h.tools->try_open({.id = "w"})); }},
      {"ToolRegistry::try_set_content", [](Host& h) { return code(h.tools->try_set_content("w", "x")); }},
      {"ScriptedClient::chat", [](Host& h) { return reason_of_chat(h.llm); }},
      {"LlmRouter::chat", [](Host& h) { return reason_of_chat(h.router); }},
      {"HttpLlmClient::chat", [](Host& h) { return reason_of_chat(h.http); }},
  };
  return calls;
}

}  // namespace

TEST_CASE("a function of the loop thread with a reason refuses another thread and changes nothing",
          "[tree][loop][threads][wrong_thread]") {
  for (const auto& [name, call] : calls_with_a_reason()) {
    CAPTURE(name);
    Host host;
    CHECK(elsewhere([&, &call = call] { return call(host); }) == Errc::wrong_thread);
    CHECK(host.tree.size() == 1);
    CHECK(host.llm.open_calls() == 0);
    CHECK(host.agent.model().value().empty());
    CHECK(host.tools->names().empty());
    CHECK(host.tools->windows().empty());
    host.runtime.poll();
    CHECK(host.logged == std::vector<std::string>{name});
  }
}

namespace {

// Each other function; true if it returned nothing.
using QuietCall = std::pair<const char*, std::function<bool(Host&)>>;

const std::vector<QuietCall>& calls_without_a_reason() {
  static const std::vector<QuietCall> calls = {
      {"AgentTree::questions", [](Host& h) { return h.tree.questions().empty(); }},
      {"AgentTree::grants", [](Host& h) { return h.tree.grants().empty(); }},
      {"AgentTree::tasks", [](Host& h) { return h.tree.tasks().empty(); }},
      {"AgentTree::message", [](Host& h) { return h.tree.message({1}).agent_id.empty(); }},
      {"AgentTree::roots", [](Host& h) { return h.tree.roots().empty(); }},
      {"AgentTree::busy", [](Host& h) { return !h.tree.busy(); }},
      {"AgentTree::walk",
       [](Host& h) {
         h.tree.walk([&](const Agent&) { ++h.called; });
         return h.called == 0;
       }},
      {"AgentTree::on", [](Host& h) { return !h.tree.on<AgentCreated>([](const AgentCreated&) {}); }},
      {"Agent::on", [](Host& h) { return !h.agent.on<TurnEnded>([](const TurnEnded&) {}); }},
      {"Runtime::poll_descriptor", [](Host& h) { return h.runtime.poll_descriptor() == -1; }},
      {"Runtime::next_deadline", [](Host& h) { return !h.runtime.next_deadline(); }},
      {"Runtime::on_wake", [](Host& h) { return !h.runtime.on_wake([] {}); }},
      {"Runtime::random", [](Host& h) { return h.runtime.random() == 0; }},
      {"Runtime::call_after",
       [](Host& h) {
         Timer timer = h.runtime.call_after({}, [&] { ++h.called; });
         return !timer.cancel();
       }},
      {"LoopAttachment::open_descriptor",
       [](Host& h) {
         return LoopAttachment(h.runtime).try_open_descriptor().error().code == Errc::wrong_thread;
       }},
      {"TerminateScope::attach", [](Host& h) { return !TerminateScope(h.agent).attach(h.agent); }},
      {"ScriptedClient::open_calls", [](Host& h) { return h.llm.open_calls() == 0; }},
      {"ToolRegistry::names", [](Host& h) { return h.tools->names().empty(); }},
      {"ToolRegistry::windows", [](Host& h) { return h.tools->windows().empty(); }},
      {"ToolRegistry::remove", [](Host& h) { return !h.tools->remove("ask_human"); }},
      {"ToolRegistry::close", [](Host& h) { return !h.tools->close("w"); }},
      {"ToolRegistry::set_content", [](Host& h) { return !h.tools->set_content("w", "x"); }},
      {"ToolRegistry::add", [](Host& h) { return h.tools->add(Tool{}), true; }},
      {"ToolRegistry::open", [](Host& h) { return h.tools->open({.id = "v"}), true; }},
      {"CallSlots::running", [](Host& h) { return h.slots.running() == 0; }},
      {"CallSlots::waiting", [](Host& h) { return h.slots.waiting() == 0; }},
      {"CallSlots::set_endpoint", [](Host& h) { return h.slots.set_endpoint("e", {}), true; }},
      {"LlmRouter::open_calls", [](Host& h) { return h.router.open_calls() == 0; }},
      {"LlmRouter::is_circuit_open", [](Host& h) { return !h.router.is_circuit_open(0); }},
      {"HttpLlmClient::open_calls", [](Host& h) { return h.http.open_calls() == 0; }},
      {"ScriptedClient::calls", [](Host& h) { return h.llm.calls() == 0; }},
      {"ScriptedClient::enqueue", [](Host& h) { return h.llm.enqueue({}), true; }},
  };
  return calls;
}

}  // namespace

TEST_CASE("a function of the loop thread without a reason returns nothing on another thread",
          "[tree][loop][threads][wrong_thread]") {
  Host host;
  host.tools->add(make_ask_human_tool());
  host.tools->open({.id = "w"});
  REQUIRE(host.agent.send("hello").accepted());
  for (const auto& [name, call] : calls_without_a_reason()) {
    CAPTURE(name);
    host.logged.clear();
    CHECK(elsewhere([&, &call = call] { return call(host); }));
    host.runtime.poll();
    CHECK(host.logged == std::vector<std::string>{name});
  }
  CHECK(host.tools->names().size() == 1);
  CHECK(host.tools->windows().size() == 2);
  host.runtime.run_until_idle();
  CHECK(host.called == 0);
}

TEST_CASE("the tests of wrong threads know each function of the loop thread", "[threads][wrong_thread]") {
  // poll() and its like take over the thread; on_event() is on() of all kinds; cancel() has a case of its
  // own. make() has no loop yet, and what is left refers to parts of its object.
  std::set<std::string> known{"poll",   "run_for", "run_until_idle", "on_event",
                              "cancel", "make",    "call_slots",     "impl"};
  const auto add = [&](const std::string& name) { known.insert(name.substr(name.rfind(':') + 1)); };
  for (const auto& [name, call] : calls_with_a_reason()) add(name);
  for (const auto& [name, call] : calls_without_a_reason()) add(name);
  for (const char* header : {"agent_tree.hpp", "agent.hpp", "conversation.hpp", "checkpoint.hpp",
                             "terminate_scope.hpp", "runtime.hpp", "tool.hpp", "tool_registry.hpp",
                             "call_slots.hpp", "llm_router.hpp", "http_llm_client.hpp"}) {
    CAPTURE(header);
    for (const std::string& function : test::loop_thread_functions_in(header)) {
      CAPTURE(function);
      CHECK(known.count(function) == 1);
    }
  }
}

TEST_CASE("a timer is cancelled by the loop thread alone", "[loop][threads][wrong_thread]") {
  Host host;
  int called = 0;
  Timer timer = host.runtime.call_after({}, [&] { ++called; });
  CHECK_FALSE(elsewhere([&] { return timer.cancel(); }));
  SECTION("which may still cancel it") {
    CHECK(timer.cancel());
    host.runtime.poll();
    CHECK(called == 0);
  }
  SECTION("or let it run") {
    host.runtime.poll();
    CHECK(called == 1);
  }
  CHECK(host.logged == std::vector<std::string>{"Timer::cancel"});
}

TEST_CASE("a subscription is reset by the loop thread alone", "[loop][threads][wrong_thread]") {
  Host host;
  int called = 0;
  std::vector<Subscription> all;
  all.push_back(host.tree.on<AgentCreated>([&](const AgentCreated&) { ++called; }));
  all.push_back(host.tree.on_event([&](const Event&) { ++called; }));
  all.push_back(host.agent.on<StateChanged>([&](const StateChanged&) { ++called; }));
  all.push_back(host.runtime.on_wake([&] { ++called; }));
  for (Subscription& each : all) {
    CHECK_FALSE(elsewhere([&] { return each.reset(), !each; }));
  }
  host.runtime.poll();
  called = 0;
  REQUIRE(host.tree.create({.id = "b"}));
  CHECK(called > 0);
  for (Subscription& each : all) each.reset();
  host.runtime.poll();
  called = 0;
  REQUIRE(host.tree.create({.id = "c"}));
  host.runtime.poll();
  CHECK(called == 0);
  CHECK(host.logged == std::vector<std::string>{"Subscription::reset"});
}

TEST_CASE("a subscription that another thread destroys is ended, and the log says so",
          "[loop][threads][wrong_thread]") {
  Host host;
  int called = 0;
  std::optional<Subscription> created(host.tree.on<AgentCreated>([&](const AgentCreated&) { ++called; }));
  elsewhere([&] { return created.reset(), true; });
  REQUIRE(host.tree.create({.id = "b"}));
  host.runtime.poll();
  CHECK(called == 0);
  CHECK(host.logged == std::vector<std::string>{"Subscription::~Subscription"});
}

TEST_CASE("the log names a function that is called on a wrong thread once", "[loop][threads][wrong_thread]") {
  Host host;
  for (int i = 0; i < 3; ++i) {
    CHECK(elsewhere([&] { return host.tree.roots().empty(); }));
    host.runtime.poll();
  }
  CHECK(host.logged == std::vector<std::string>{"AgentTree::roots"});
}

TEST_CASE("a poll during a poll on another thread does nothing", "[loop][threads][wrong_thread]") {
  Host host;
  bool polled_elsewhere = true, idle = true;
  host.runtime.post([&] {
    polled_elsewhere = elsewhere([&] { return host.runtime.poll(); });
    idle = elsewhere([&] { return host.runtime.run_until_idle().is_idle(); });
  });
  int later = 0;
  host.runtime.post([&] { ++later; });
  host.runtime.poll();
  CHECK_FALSE(polled_elsewhere);
  CHECK_FALSE(idle);
  CHECK(host.runtime.on_loop_thread());
  CHECK(later == 1);
  host.runtime.poll();
  CHECK(host.logged == std::vector<std::string>{"Runtime::poll"});
}

TEST_CASE("a poll outside of a poll makes its thread the loop thread", "[loop][threads][wrong_thread]") {
  Host host;
  std::thread([&] {
    host.runtime.poll();
    CHECK(host.tree.create({.id = "b"}));
  }).join();
  CHECK(code(host.tree.create({.id = "c"})) == Errc::wrong_thread);
  host.runtime.poll();  // this thread again
  CHECK(host.tree.create({.id = "c"}));
  CHECK(host.logged == std::vector<std::string>{"AgentTree::create"});
}

namespace {

// A client with a thread that does not post: it uses its sink on that thread.
class CarelessClient final : public LlmClient {
 public:
  void chat(ChatRequest, StopToken, ChatSink sink) override {
    std::thread([to = std::move(sink)]() mutable {
      to.delta("lost");
      to.finish(ChatOutcome::completed(FinishReason::complete));
    }).join();
  }
  bool abort(std::string_view) override { return false; }
  bool has_active_request(std::string_view) const override { return false; }
};

}  // namespace

TEST_CASE("a client that delivers on its own thread fails the call, and says why",
          "[tree][router][threads][wrong_thread]") {
  std::vector<std::string> logged;
  Runtime runtime(Host::logging_to(logged));
  CarelessClient careless;
  const bool routed = GENERATE(false, true);
  LlmRouter router{runtime, {.routes = {{.client = &careless}}, .retry = {.max_attempts = 1}}};
  AgentTree tree{
      runtime,
      {.llm = routed ? SharedOrBorrowed<LlmClient>(&router) : SharedOrBorrowed<LlmClient>(&careless)}};
  std::vector<std::string> deltas, errors;
  std::vector<Errc> codes;
  const auto seen =
      tree.on<DeltaReceived>([&](const DeltaReceived& delta) { deltas.emplace_back(delta.text); });
  const auto ends = tree.on<TurnEnded>([&](const TurnEnded& end) {
    codes.push_back(end.result->error.code);
    errors.push_back(end.result->error.message);
  });
  REQUIRE(tree.create({.id = "a"}).value().send("hello").accepted());
  runtime.run_until_idle();
  CHECK(deltas.empty());
  REQUIRE(codes == std::vector{Errc::wrong_thread});
  CHECK(
      errors[0].starts_with("ChatSink::finish() was called on another thread than that of the loop; call it "
                            "in a function that you pass "
                            "to Runtime::post()"));
  CHECK(std::count(logged.begin(), logged.end(), "ChatSink::delta") == 1);
}

TEST_CASE("an observer of an agent that is gone is not added, which is logged", "[tree][events]") {
  std::vector<std::string> logged;
  RuntimeOptions options;
  options.log = [&](const LogRecord& record) { logged.emplace_back(record.message); };
  Runtime runtime(std::move(options));
  testing::ScriptedClient llm{runtime};
  std::optional<AgentTree> tree(std::in_place, runtime, TreeOptions{.llm = &llm});
  const Agent agent = tree->create({.id = "a"}).value();
  SECTION("deleted") {
    REQUIRE(agent.terminate().took_effect());
    runtime.run_until_idle();
  }
  SECTION("with its tree") {
    tree.reset();
  }
  logged.clear();
  CHECK_FALSE(agent.on<TurnEnded>([](const TurnEnded&) {}));
  CHECK_FALSE(agent.on_event([](const Event&) {}));
  CHECK(logged == std::vector<std::string>(2, "an observer was not added: its agent does not exist"));
}
