// World::Run: what of a World ends with its process.
#pragma once

#include "sim/world.hpp"
#include "support/observe/event_audit.hpp"

#include <agentcore/console.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace agentcore::sim {

struct World::Run {
  explicit Run(World& world)
      : runtime(runtime_options(world)),
        llm((world.install(runtime), runtime)),
        http(world.setup_[Knob::models] == 0
                 ? nullptr
                 : std::make_unique<HttpModels>(runtime, world.clock_, world.setup_, world.http_host())),
        console(open_console(world)),
        tree(std::make_unique<AgentTree>(runtime, options(world, client()))),
        audit(*tree, world.setup_[Knob::store] != 0) {
    wake = runtime.on_wake([&world] { world.woken_ = true; });
    llm.on_chat = [&world](test::FakeClient&, test::FakeClient::Call& call) { world.begin_model_call(call); };
    events = tree->on_event([&world](const Event& event) { world.on_event(event); });
    if (console) shown = console->show(*tree);
  }
  ~Run() {
    events.reset();
    shown.reset();  // as a host does that ends its tree
    tree.reset();
  }
  // What agents call.
  LlmClient& client(std::uint32_t n = 0) noexcept {
    return http ? http->client(n) : static_cast<LlmClient&>(llm);
  }

  // An event that cannot be made for want of memory is lost, and the log says so.
  static LogSink log_of(World& world) {
    return [&world](const LogRecord& record) {
      const test::HostCode host;
      if (record.level == LogLevel::error &&
          std::ranges::any_of(record.fields, [](const LogField& field) { return field.value == "observer"; }))
        world.event_was_lost();
    };
  }
  static RuntimeOptions runtime_options(World& world) {
    RuntimeOptions options{.clock = &world.clock_, .seed = 1 + world.steps_, .log = log_of(world)};
    if (world.setup_[Knob::small_batches] != 0) options.poll_budget = Duration(0);
    if (world.setup_[Knob::small_bytes] != 0) options.max_idle_connections = 1;
    return options;
  }
  std::unique_ptr<Console> open_console(World& world) {
    if (world.setup_[Knob::console] == 0) return nullptr;
    auto opened = Console::open(runtime, world.console_options());
    for (int again = 0; !opened && again < 100;
         ++again) {  // as a host does whose port is in use for a moment
      world.verdict_.require(opened.error().code == Errc::network_error && world.network_->open() == 0,
                             "console", "a console that was not opened: " + opened.error().message);
      opened = Console::open(runtime, world.console_options());
    }
    return std::move(opened).value();
  }
  TreeOptions options(World& world, LlmClient& client) const {
    TreeOptions options = options_of(world, client);
    if (console) options.audit = console->receipts();
    world.turn_rules_.tree_has(options);
    return options;
  }
  static TreeOptions options_of(World& world, LlmClient& llm) {
    TreeOptions options{.llm = &llm, .audit = &world.reports_};
    world.reports_.grace(options.stop_grace);
    if (world.setup_[Knob::mailbox_limit] != 0)
      options.mailbox_limit = static_cast<std::uint16_t>(world.setup_[Knob::mailbox_limit]);
    if (world.setup_[Knob::no_grace] != 0) options.stop_grace = Duration(0);
    if (world.setup_[Knob::small_limits] != 0) {
      options.max_depth = 3;
      options.max_agents = 8;
      options.kept_results = 1;
      options.max_reasks = 1;
      options.max_lingering_calls = 1;
    }
    if (world.setup_[Knob::small_bytes] != 0) {
      options.max_message_bytes = 1'000;
      options.max_answer_bytes = 20;
      options.max_tool_result_bytes = 16;
    }
    if (world.setup_[Knob::short_times] == 1) {
      options.tool_timeout = options.question_timeout = std::chrono::seconds(1);
      if (world.setup_[Knob::no_grace] == 0) options.stop_grace = std::chrono::milliseconds(1);
    }
    return options;
  }

  Runtime runtime;
  test::FakeClient llm;
  std::unique_ptr<HttpModels> http;  // null: agents call `llm`
  std::unique_ptr<Console> console;  // null: none
  std::unique_ptr<AgentTree> tree;
  test::Audit audit;
  Subscription wake, events, shown;
  std::optional<TimePoint> asked;  // the last answer of next_deadline() that was in the future
  bool more = true;                // the last poll said that work is left
};

}  // namespace agentcore::sim
