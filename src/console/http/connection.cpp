#include "console/http/connection.hpp"

#include "console/http/reply.hpp"
#include "console/http/server.hpp"

#include <cerrno>
#include <exception>
#include <new>
#include <utility>

namespace agentcore::detail::console {
namespace {

constexpr std::size_t bytes_per_read = 64 << 10;
constexpr std::size_t bytes_per_pump = 64 << 10;
constexpr Duration drain_timeout = std::chrono::seconds(2);

bool would_block(int error) noexcept {
  return error == EAGAIN || error == EWOULDBLOCK;
}

// The call that a signal interrupts is made again: a loop that is late may have no other poll in which to
// make it.
template <typename Call>
ssize_t uninterrupted(Call&& call) {
  ssize_t count = 0;
  do {
    count = call();
  } while (count < 0 && errno == EINTR);
  return count;
}

}  // namespace

Connection::Connection(Server& server, int socket)
    : server_(&server),
      sockets_(server.sockets()),
      socket_(socket),
      reader_(server.options().request),
      since_(server.engine().now()),
      moved_(since_) {
}

Connection::~Connection() {
  if (phase_ != Phase::closed) sockets_->close(socket_);
}

bool Connection::start() {
  watched_ = loop::IoEvents::readable;
  return !server_->engine().watch(socket_, watched_, *this);
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();
  if (is_streaming()) server_->pump().remove(*this);
  phase_ = Phase::closed;
  server_->engine().unwatch(socket_);
  sockets_->close(socket_);
  server_->forget(*this);
  stream_.reset();
}

// Without memory, bytes that were received may be lost: the connection is of no further use.
void Connection::on_io(int /*descriptor*/, loop::IoEvents events) {
  const auto self = shared_from_this();
  try {
    if (loop::has(events, loop::IoEvents::writable) && has_output()) write_some();
    if (phase_ == Phase::closed) return;
    if (loop::has(events, loop::IoEvents::readable))
      read_some();
    else if (loop::has(events, loop::IoEvents::error))
      return close();
    watch();
  } catch (const std::bad_alloc&) {
    close();
  }
}

void Connection::read_some() {
  char bytes[bytes_per_read];
  const ssize_t count = uninterrupted([&] { return sockets_->recv(socket_, bytes, sizeof bytes); });
  if (count < 0 && would_block(errno)) return;
  if (count < 0) return close();
  if (count == 0) return end_of_input();
  if (is_streaming() || phase_ == Phase::draining) return;  // nothing is expected: dropped
  if (is_idle()) since_ = server_->engine().now();
  in_.append(bytes, static_cast<std::size_t>(count));
  if (phase_ == Phase::reading) read_requests();
}

// A client may close its side after the request, and still wait for the answer. A viewer that does so is
// gone.
void Connection::end_of_input() {
  input_ended_ = true;
  if (phase_ == Phase::answering) since_ = server_->engine().now();
  if (phase_ == Phase::reading) return read_requests();  // what it has sent before
  if (phase_ == Phase::draining || is_streaming()) close();
}

void Connection::read_requests() {
  switch (reader_.read(in_)) {
    case RequestReader::State::need_more:
      if (input_ended_) close();
      return;
    case RequestReader::State::head_complete:
      if (auto refused = server_->refuse(reader_.head()))
        return refuse(*refused, reader_.head().method == "HEAD");
      return read_requests();
    case RequestReader::State::send_continue:
      out_ += "HTTP/1.1 100 Continue\r\n\r\n";
      write_some();
      if (phase_ == Phase::reading) read_requests();
      return;
    case RequestReader::State::complete:
      return hand_over();
    case RequestReader::State::failed:
      return refuse(server_->in_form(reader_.head(),
                                     Response::error(reader_.status(), reader_.error(), reader_.problem())));
  }
}

void Connection::hand_over() {
  Request request = reader_.take();
  request.client = sockets_->peer_of(socket_);
  keep_alive_ = request.keep_alive && !(input_ended_ && in_.empty());
  head_only_ = request.method == "HEAD";
  phase_ = Phase::answering;
  const auto server = server_->shared_from_this();  // a handler may close it
  try {
    server->handle(request, Reply(weak_from_this()));
  } catch (const std::exception& failure) {
    server->engine().log(LogLevel::error, "a request to the console failed", {{"error", failure.what()}});
  }
}

// What follows on the connection is not read.
void Connection::refuse(const Response& response, bool head_only) {
  phase_ = Phase::answering;
  keep_alive_ = false;
  head_only_ = head_only;
  try {
    answer(response);
  } catch (const std::exception&) {  // no memory
    close();
  }
}

void Connection::refuse_for_load() {
  const std::string bytes = to_bytes(
      Response::error(503, "too_many_connections", "the console has as many connections as it may have"),
      false, false);
  static_cast<void>(sockets_->send(socket_, bytes.data(), bytes.size()));
  // The request is here already, as a rule: see drain().
  char request[bytes_per_read];
  static_cast<void>(sockets_->recv(socket_, request, sizeof request));
  close();
}

void Connection::answer(const Response& response) {
  if (phase_ != Phase::answering) return;
  out_ += to_bytes(response, keep_alive_, head_only_);
  send_answer();
}

void Connection::send_answer() {
  const auto self = shared_from_this();
  phase_ = Phase::writing;
  since_ = moved_ = server_->engine().now();
  write_some();
  if (phase_ != Phase::closed) watch();
}

void Connection::answer(const Response& response, std::unique_ptr<Stream> stream) {
  if (phase_ != Phase::answering) return;
  const bool has_viewer = !head_only_ && !input_ended_;
  keep_alive_ = keep_alive_ && head_only_;  // the body of any other answer ends with the connection
  const std::string head = response_head(response, -1, keep_alive_);
  out_.reserve(out_.size() + head.size());
  if (has_viewer) server_->pump().add(*this);
  out_ += head;  // from here on no memory is needed
  if (!has_viewer) return send_answer();
  stream_ = std::move(stream);
  phase_ = Phase::streaming;
  moved_ = server_->engine().now();
  watch();
}

void Connection::write_some() {
  while (has_output()) {
    const ssize_t count =
        uninterrupted([this] { return sockets_->send(socket_, out_.data() + sent_, out_.size() - sent_); });
    if (count < 0 && would_block(errno)) return;
    if (count < 0) return close();
    sent_ += static_cast<std::size_t>(count);
    moved_ = server_->engine().now();
  }
  out_.clear();
  sent_ = 0;
  after_write();
}

// All output was taken by the system.
void Connection::after_write() {
  if (is_streaming() && !stream_ended_) return server_->pump().serve(*this);
  if (phase_ != Phase::writing && !is_streaming()) return;
  if (!keep_alive_ || (input_ended_ && in_.empty())) return drain();
  phase_ = Phase::reading;
  since_ = server_->engine().now();
  // A client that sends its next requests early must not keep the loop: one request for each call.
  if (!in_.empty()) read_later();
}

// Without memory the connection is closed: nothing else would read what its client has sent.
void Connection::read_later() {
  try {
    server_->engine().post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self || self->phase_ != Phase::reading) return;
      try {
        self->read_requests();
        if (self->phase_ != Phase::closed) self->watch();
      } catch (const std::bad_alloc&) {
        self->close();
      }
    });
  } catch (const std::bad_alloc&) {
    close();
  }
}

// Ends our side. The rest of what the client sends is dropped: a socket that is closed with input unread
// resets the connection, and the client may lose the answer.
void Connection::drain() {
  if (input_ended_) return close();
  if (is_streaming()) server_->pump().remove(*this);
  phase_ = Phase::draining;
  stream_.reset();
  since_ = server_->engine().now();
  sockets_->shutdown(socket_);
}

Stream::Next Connection::pump() {
  const Stream::Next next = stream_->fill(out_, bytes_per_pump);
  if (std::exchange(needs_heartbeat_, false) && !has_output()) out_ += stream_->heartbeat();
  if (next == Stream::Next::end) {
    stream_ended_ = true;
    if (!has_output()) {
      drain();
      if (phase_ != Phase::closed) watch();
      return next;
    }
  }
  if (has_output()) write_some();
  if (phase_ != Phase::closed) watch();
  return next;
}

void Connection::check_time(TimePoint now) {
  const ServerOptions& options = server_->options();
  // A loop that comes late has perhaps not read what arrived in time, or not sent what its client can take.
  const Duration limit = reader_.is_in_request() ? options.request_timeout : options.idle_timeout;
  if (phase_ == Phase::reading && now - since_ > limit) on_io(socket_, loop::IoEvents::readable);
  if (has_output() && now - moved_ > options.stuck_timeout) on_io(socket_, loop::IoEvents::writable);
  if (phase_ == Phase::closed) return;
  if (phase_ == Phase::reading && reader_.is_in_request() && now - since_ > options.request_timeout) {
    return refuse(server_->in_form(
        reader_.head(), Response::error(408, "request_timeout", "the request was not complete in time")));
  }
  if (is_idle() && now - since_ > options.idle_timeout) return close();
  // Its client may still wait for the answer, or is gone: that looks the same.
  if (phase_ == Phase::answering && input_ended_ && now - since_ > options.request_timeout) return close();
  if (phase_ == Phase::draining && now - since_ > drain_timeout) return close();
  if (has_output() && now - moved_ > options.stuck_timeout) return close();
  if (is_streaming() && !has_output() && now - moved_ > options.heartbeat) {
    needs_heartbeat_ = true;
    server_->pump().serve(*this);
  }
}

void Connection::watch() {
  using loop::IoEvents;
  if (phase_ == Phase::closed) return;
  const bool reads =
      !input_ended_ && (phase_ == Phase::reading || is_streaming() || phase_ == Phase::draining ||
                        in_.size() < server_->options().request.max_header_bytes);
  const IoEvents wanted =
      (reads ? IoEvents::readable : IoEvents::none) | (has_output() ? IoEvents::writable : IoEvents::none);
  if (wanted == watched_) return;
  watched_ = wanted;
  if (server_->engine().rewatch(socket_, wanted)) close();
}

Reply::~Reply() {
  const auto connection = connection_.lock();
  if (!connection) return;
  try {
    connection->answer(Response::error(500, "internal_error",
                                       "the request could not be answered; it may have taken effect"));
  } catch (const std::exception&) {  // no memory
    connection->close();
  }
}

// One failed allocation loses no answer: what the first attempt has taken is free again.
void Reply::send(Response response) {
  if (const auto connection = connection_.lock()) try {
      connection->answer(response);
    } catch (const std::bad_alloc&) {
      connection->answer(response);
    }
  connection_.reset();
}

void Reply::send(Response response, std::unique_ptr<Stream> stream) {
  if (const auto connection = connection_.lock()) connection->answer(response, std::move(stream));
  connection_.reset();
}

}  // namespace agentcore::detail::console
