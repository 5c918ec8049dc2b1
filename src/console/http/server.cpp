#include "console/http/server.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <utility>

namespace agentcore::detail::console {
namespace {

constexpr int accepts_per_poll = 64;
constexpr Duration check_interval = std::chrono::seconds(1);
// One eighth of the descriptors is left to the rest of the process: to calls of models, programs, files. If
// the rest has taken more, the console may still have an eighth.
constexpr std::size_t host_share = 8;

bool is_lack(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

}  // namespace

Server::Server(const std::shared_ptr<loop::Engine>& engine, ServerOptions options, RequestHandler& handler)
    : engine_(engine),
      options_(std::move(options)),
      handler_(&handler),
      sockets_(Sockets::of(*engine)),
      pump_(std::make_shared<StreamPump>(*engine, options_.stream_interval)) {
}

Server::~Server() {
  close();
}

Result<std::shared_ptr<Server>> Server::open(const std::shared_ptr<loop::Engine>& engine,
                                             ServerOptions options, RequestHandler& handler) {
  auto server = std::make_shared<Server>(engine, std::move(options), handler);
  if (Result<void> listening = server->listen(); !listening) return listening.error();
  engine->add_source(server->pump_);
  return server;
}

Result<void> Server::listen() {
  const Result<int> listener = sockets_->listen(options_.address, options_.port);
  if (!listener) return listener.error();
  listener_ = *listener;
  port_ = sockets_->port_of(listener_);
  if (const auto failed = engine_->watch(listener_, loop::IoEvents::readable, *this))
    return Error{Errc::network_error, "the console cannot watch its socket at " + options_.address +
                                          ", port " + std::to_string(options_.port) + ": " +
                                          failed.message()};
  accepting_ = true;
  return {};
}

void Server::close() {
  if (handler_ == nullptr) return;
  handler_ = nullptr;
  if (accepting_) engine_->unwatch(listener_);
  if (listener_ >= 0) sockets_->close(listener_);
  listener_ = -1;
  accepting_ = false;
  if (check_timer_ != 0) engine_->cancel_timer(check_timer_);
  while (!connections_.empty()) connections_.front()->close();
  pump_->close();
  engine_->remove_source(pump_.get());
}

void Server::on_io(int /*descriptor*/, loop::IoEvents /*events*/) {
  const auto self = shared_from_this();
  for (int i = 0; i < accepts_per_poll && listener_ >= 0; ++i) {
    const int socket = sockets_->accept(listener_);
    if (socket >= 0) {
      if (!accept_one(socket)) return;
    } else if (is_lack(errno)) {
      if (!make_room()) return stop_accepting();
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

// Returns false if the console was full: the next connection then waits for the next poll, so that the search
// for one to close does not delay the loop.
bool Server::accept_one(int socket) {
  const bool had_room = has_room(socket);
  const bool has_place = had_room || make_room();
  // With the smallest descriptor that is free. Without that, one that was given back would let the next
  // connection look as if it had room.
  const int place = had_room ? socket : sockets_->moved_down(socket);
  std::shared_ptr<Connection> connection;
  try {
    connection = std::make_shared<Connection>(*this, place);
    connections_.push_back(connection);
  } catch (const std::bad_alloc&) {
    if (!connection) sockets_->close(place);
    return false;
  }
  connection->place_ = std::prev(connections_.end());
  if (!has_place)
    connection->refuse_for_load();
  else if (!connection->start())
    connection->close();
  else
    start_check();
  return had_room;
}

// `newest`: the descriptor of a new connection. The system gives the smallest that is free.
bool Server::has_room(int newest) const noexcept {
  if (connections_.size() >= options_.max_connections) return false;
  const std::size_t limit = sockets_->descriptor_limit();
  if (limit == 0) return true;
  const std::size_t share = limit / host_share;
  return static_cast<std::size_t>(newest) < limit - share || connections_.size() < share;
}

// Closes a connection for a new one. Returns false if there is none that may be closed.
bool Server::make_room() {
  const std::shared_ptr<Connection> closed = least_needed();
  if (closed) closed->close();
  return closed != nullptr;
}

// The oldest connection that has sent nothing of a request, or whose client is gone; if there is none, the
// one that has waited longest for its client. Null: all have a request, or are streams. What the newest
// connections have sent may not be read yet, so these do not count as idle.
std::shared_ptr<Connection> Server::least_needed() const {
  const std::size_t newest = connections_.size() / 4;
  std::size_t newer = connections_.size();
  std::shared_ptr<Connection> waiting;
  for (const auto& connection : connections_) {
    --newer;
    if (connection->is_deserted() || (connection->is_idle() && newer >= newest)) return connection;
    const std::optional<TimePoint> since = connection->waits_since();
    if (since && (!waiting || *since < *waiting->waits_since())) waiting = connection;
  }
  return waiting;
}

// The process has no descriptor left: the listener would be reported at once again.
void Server::stop_accepting() {
  engine_->log(LogLevel::warning, "the console accepts no connection: no descriptor is left");
  engine_->unwatch(listener_);
  accepting_ = false;
  start_check();
}

void Server::start_check() {
  if (check_timer_ != 0 || handler_ == nullptr) return;
  check_timer_ = engine_->start_timer(
      engine_->now() + check_interval, [this] { check_times(); }, loop::TimerUse::watch);
}

void Server::check_times() {
  const auto self = shared_from_this();
  check_timer_ = 0;
  start_check();  // before all that needs memory: it takes the place of the timer that has just ended
  if (!accepting_ && listener_ >= 0) accepting_ = !engine_->watch(listener_, loop::IoEvents::readable, *this);
  const TimePoint now = engine_->now();
  for (auto next = connections_.begin(); next != connections_.end();) {
    const auto connection = *next++;
    connection->check_time(now);
  }
  if (connections_.empty() && accepting_) engine_->cancel_timer(std::exchange(check_timer_, 0));
}

void Server::handle(const Request& request, Reply reply) {
  if (handler_ == nullptr) return;
  const auto self = shared_from_this();
  handler_->handle(request, std::move(reply));
}

void Server::forget(Connection& connection) {
  connections_.erase(connection.place_);
}

}  // namespace agentcore::detail::console
