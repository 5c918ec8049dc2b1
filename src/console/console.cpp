#include "console/events/event_feed.hpp"
#include "console/http/server.hpp"
#include "console/routes/console_core.hpp"
#include "console/routes/router.hpp"
#include "core/home_process.hpp"
#include "loop/engine.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/console.hpp>

#include <utility>

namespace agentcore {
namespace {

using namespace detail::console;

// The name of an option that is out of range, its value and its range. Empty: all are in range.
std::string option_problem(const ConsoleOptions& options) {
  const auto outside = [](std::string_view name, std::size_t value, std::size_t smallest,
                          std::size_t largest) {
    return value >= smallest && value <= largest
               ? std::string()
               : "ConsoleOptions::" + std::string(name) + " is " + std::to_string(value) +
                     ": it must be from " + std::to_string(smallest) + " to " + std::to_string(largest);
  };
  for (const std::string& problem :
       {outside("max_connections", options.max_connections, 1, 100'000),
        outside("max_viewers", options.max_viewers, 1, 100'000),
        outside("max_body_bytes", options.max_body_bytes, 1 << 10, 64 << 20),
        outside("max_writes_per_second", options.max_writes_per_second, 1, 1'000'000),
        outside("max_event_bytes", options.max_event_bytes, 64 << 10, 1 << 30),
        outside("kept_tasks", options.kept_tasks, 1, 100'000)})
    if (!problem.empty()) return problem;
  if (options.task_retention < Duration(0))
    return "ConsoleOptions::task_retention is negative: it must be at least 0";
  if (!is_loopback(options.address) && options.token.empty())
    return "ConsoleOptions::address is " + options.address +
           ", which other machines reach: set ConsoleOptions::token, and use a reverse proxy with TLS";
  return {};
}

ServerOptions server_options(const ConsoleOptions& options) {
  ServerOptions server;
  server.address = options.address;
  server.port = options.port;
  server.request.max_body_bytes = options.max_body_bytes;
  server.max_connections = options.max_connections;
  server.max_streams = options.max_viewers;
  return server;
}

// Distinguishes the events of this console from those of an earlier one.
std::string new_epoch(detail::loop::Engine& engine) {
  return std::to_string(to_milliseconds(engine.clock().wall_time())) + "." +
         std::to_string(engine.random() % 1'000'000);
}

}  // namespace

// A request keeps it alive: the host may destroy the Console in a callback of a verb that the request has
// called.
struct Console::Parts : std::enable_shared_from_this<Console::Parts> {
  Parts(std::shared_ptr<detail::loop::Engine> engine, ConsoleOptions the_options)
      : options(std::move(the_options)),
        receipts(std::make_shared<ReceiptList>(options.receipts_to)),
        log(std::make_shared<EventLog>(new_epoch(*engine), options.max_event_bytes)),
        core{engine,
             options,
             nullptr,
             log,
             EventFeed(engine, log, [this] { wake(); }),
             std::make_shared<TaskTable>([engine] { return engine->clock().wall_time(); }, [this] { wake(); },
                                         options.kept_tasks),
             std::make_unique<TaskAgents>(engine, options.task_retention, options.kept_tasks),
             *receipts,
             Access(options.token, options.host_names)},
        router(core) {
    receipts->on_record = [this](const std::string& receipt) {
      core.feed.publish(nullptr, {{"type", "receipt"}, {"receipt", Json::of_text(receipt)}});
    };
  }
  ~Parts() { close(); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  void close() {
    receipts->on_record = {};
    if (core.server) core.server->close();
    core.tree = nullptr;
    core.feed.leave();
    core.task_agents->leave();
    core.tasks->clear();
  }
  void wake() {
    if (core.server) core.server->wake_streams();
  }
  void leave() {
    if (core.tree == nullptr) return;
    core.tree = nullptr;
    core.feed.leave();
    core.task_agents->leave();
    core.tasks->clear();
    core.feed.publish(nullptr, {{"type", "reset"}});
  }

  const ConsoleOptions options;
  const std::shared_ptr<ReceiptList> receipts;
  const std::shared_ptr<EventLog> log;
  ConsoleCore core;
  Router router;
  std::shared_ptr<std::uint64_t> shown =
      std::make_shared<std::uint64_t>(0);  // the number of the show() in force
};

Console::Console(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {
}

Console::~Console() {
  if (parts_->core.engine->in_forked_child()) {
    detail::core::keep_for_ever(std::move(parts_));
    return;
  }
  parts_->close();
}

Result<std::unique_ptr<Console>> Console::open(Runtime& runtime, ConsoleOptions options) {
  const auto engine = detail::loop::engine_of(runtime);
  if (engine->closed()) return Error{Errc::runtime_gone, "the Runtime was destroyed"};
  if (engine->refuses_thread("Console::open")) return detail::loop::wrong_thread("Console::open");
  if (std::string problem = option_problem(options); !problem.empty())
    return Error{Errc::invalid_config, std::move(problem)};
  auto parts = std::make_shared<Parts>(engine, std::move(options));
  parts->core.owner = parts;
  auto server = Server::open(engine, server_options(parts->options), parts->router);
  if (!server) return server.error();
  parts->core.server = *server;
  parts->core.access.set_address(parts->options.address, (*server)->port());
  return std::unique_ptr<Console>(new Console(std::move(parts)));
}

Subscription Console::show(AgentTree& tree) {
  Parts& parts = *parts_;
  if (parts.core.engine->refuses_thread("Console::show")) return {};
  parts.leave();
  parts.core.feed.follow(tree);
  parts.core.task_agents->follow(tree);
  parts.core.tree = &tree;
  parts.core.feed.publish(nullptr, {{"type", "reset"}});
  const std::uint64_t number = ++*parts.shown;
  return Subscription([weak = std::weak_ptr(parts.shown), &parts, number] {
           const auto shown = weak.lock();
           if (shown && *shown == number) parts.leave();
         })
      .of_loop(parts.core.engine);
}

std::shared_ptr<StopAudit> Console::receipts() const {
  return parts_->receipts;
}

std::uint16_t Console::port() const noexcept {
  return parts_->core.server->port();
}

std::string Console::url() const {
  const std::string& address = parts_->options.address;
  const bool is_ipv6 = address.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? "[" + address + "]" : address;
  return "http://" + host + ":" + std::to_string(port()) + "/";
}

}  // namespace agentcore
