// Console: an HTTP API and a web page that show the agents of a tree, and stop any of them. It is a library
// of its own: link agentcore::console. <agentcore/agentcore.hpp> does not include it.
#pragma once

#include <agentcore/agent_spec.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/shared_or_borrowed.hpp>
#include <agentcore/stop_audit.hpp>
#include <agentcore/subscription.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace agentcore {

/// Options of a Console.
struct ConsoleOptions {
  /// Where to listen: an address of IPv4 or IPv6 as a number. The default is reachable from this machine
  /// alone. For any other address a `token` is required, and TLS is recommended: the console has none, so put
  /// a reverse proxy with TLS before it.
  std::string address = "127.0.0.1";
  /// The TCP port. 0: any that is free; see Console::port().
  std::uint16_t port = 0;
  /// The text that gives access to the console: a client sends it in the header `Authorization: Bearer`, or
  /// logs in with it on the page, which sets a cookie. It is never part of a URL, and in no log. Empty: every
  /// client has access.
  std::string token = {};
  /// Further names, without a port, that the header Host may have, for example that of a reverse proxy:
  /// "agents.example.org". By default "localhost", 127.0.0.1 and [::1] with the port of the console. A
  /// request with any other name is refused: it may come from a page of another site (DNS rebinding).
  std::vector<std::string> host_names = {};
  /// The spec of agents that are created over HTTP. A request can set `id`, `model` and `system_prompt`.
  AgentSpec agent = {};
  /// Gets each record of Console::receipts(), for example a ReceiptFile. Null: none.
  SharedOrBorrowed<StopAudit> receipts_to = {};
  /// The maximum number of open connections; 1 to 100,000. If there are more, the oldest without a request is
  /// closed; if there is none, the one that has waited longest for its client, such as for the rest of a
  /// request; and if there is none either, the new one is refused with 503. The same is done where the
  /// process has few descriptors left: the console leaves an eighth of RLIMIT_NOFILE to the host, so that
  /// should be at least 8/7 of this and of what the host opens itself.
  std::size_t max_connections = 2048;
  /// The maximum number of streams of events; 1 to 100,000.
  std::size_t max_viewers = 1500;
  /// The maximum size of a request's body in bytes; 1 KiB to 64 MiB.
  std::size_t max_body_bytes = std::size_t{1} << 20;
  /// How many requests in a second may change something, on average; 1 to 1,000,000. Further ones are refused
  /// with 429. Requests that end something (abort, interrupt, stop, delete, pause) are never refused for
  /// that.
  std::uint32_t max_writes_per_second = 200;
  /// How many tasks that have ended are kept, for `GET /tasks/{id}`; 1 to 100,000. Fewer are, if their events
  /// take more than 100 MiB. An agent that was made for a task is deleted when more tasks of such agents have
  /// ended after its own.
  std::size_t kept_tasks = 1000;
  /// How long an agent that `POST /tasks` has made for a task exists after the task has ended; >= 0. Then it
  /// is deleted, unless it got another message, a child or a background task. In a tree with a store that
  /// holds after a restart, too; the time then begins again. no_limit: it stays until `kept_tasks` is
  /// exceeded.
  Duration task_retention = std::chrono::minutes(10);
  /// True: in a tree with a store (AgentTree::restore()), a request that changes what the store keeps takes
  /// effect at once and is answered when the change is in the store, so that no crash undoes what was
  /// answered; the loop never waits for that. The answer has `persisted`: true, or false with `persistError`
  /// if the store fails, or takes more than a second; the change is in force in both cases. Requests with
  /// `?wait=gate`, aborts and cancels are answered at once. False: all are.
  bool durable_answers = true;
  /// How many bytes of events are kept for viewers that connect again; 64 KiB to 1 GiB. A viewer that is
  /// further behind loads everything again.
  std::size_t max_event_bytes = std::size_t{16} << 20;
};

/// Serves the HTTP API and the web page on the loop of a Runtime, without a thread of its own: the Runtime
/// must be driven. See docs/console.md for the API, which `GET /openapi.json` describes.
///
///     agentcore::Runtime runtime;
///     auto console = agentcore::Console::open(runtime, {.port = 8700}).value();
///     agentcore::AgentTree tree{runtime, {.llm = &llm, .audit = console->receipts()}};
///     agentcore::Subscription shown = console->show(tree);
///     std::printf("open %s\n", console->url().c_str());
///     while (running) runtime.run_for(std::chrono::seconds(1));
///
/// A viewer never delays the loop: each poll sends what its budget allows, and a viewer that does not read is
/// closed. If a viewer closes its connection, no agent is stopped.
///
/// Each stop and delete over HTTP is one record in the log of the Runtime, with the address of the client and
/// the reason.
///
/// All functions: @loop_thread
class AGENTCORE_API Console {
 public:
  /// Listens from now on. Until show() is called, the API answers 500 with `society_not_initialized`.
  ///
  /// Errors: `invalid_config` (an option is out of range, or the address is not loopback and there is no
  /// token), `network_error` (the port is in use, or the system refuses the address), `runtime_gone`.
  static Result<std::unique_ptr<Console>> open(Runtime& runtime, ConsoleOptions options = {});
  /// Closes all connections. The agents go on. May be called in a callback.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// Shows the agents of `tree`, which is a tree of the same Runtime, until the Subscription is reset, or
  /// another tree is shown. The tree must exist as long: reset the Subscription before you destroy the tree.
  Subscription show(AgentTree& tree);

  /// Keeps the receipts of the last 1,000 stops and deletes for viewers: for TreeOptions::audit. It must
  /// exist as long as the tree; the pointer shares its ownership.
  std::shared_ptr<StopAudit> receipts() const;

  /// The port of the console.
  std::uint16_t port() const noexcept;
  /// Where to open the page, for example "http://127.0.0.1:8700/".
  std::string url() const;

 private:
  struct Parts;
  explicit Console(std::shared_ptr<Parts> parts);

  std::shared_ptr<Parts> parts_;
};

}  // namespace agentcore
