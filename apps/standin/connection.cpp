#include "connection.hpp"

#include "routes.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace standin {
namespace {

constexpr std::size_t max_waiting_input = std::size_t{64}
                                          << 10;  // read ahead while an answer is being written
constexpr int max_reads = 16;                     // in a row, so that no client keeps the loop
constexpr std::int64_t drain_ns = 2'000'000'000;

}  // namespace

Connection::Connection(Shared& shared, int socket)
    : shared_(shared),
      socket_(socket),
      parser_(shared.options.max_header_bytes, shared.options.max_body_bytes) {
  timer_.owner = this;
  epoll_event event{};
  event.events = watched_ = EPOLLIN | EPOLLRDHUP;
  event.data.ptr = this;
  epoll_ctl(shared_.epoll, EPOLL_CTL_ADD, socket_, &event);
}

Connection::~Connection() {
  end_exchange(Ending::server_closed, now_ns());
  ::close(socket_);
}

void Connection::forget() {
  end_exchange(Ending::server_closed, now_ns());
  timer_.unlink();
  epoll_ctl(shared_.epoll, EPOLL_CTL_DEL, socket_, nullptr);
}

bool Connection::on_events(std::uint32_t events, std::int64_t now) {
  if ((events & EPOLLERR) != 0) return client_gone(Ending::client_reset, now);
  if (exchange_ && (events & (EPOLLRDHUP | EPOLLHUP)) != 0) return client_gone(Ending::client_closed, now);
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0 && !read_all()) return false;
  if ((events & EPOLLOUT) != 0 && !(flush() && follow() && serve_input())) return false;
  watch();
  return true;
}

bool Connection::on_timer(std::int64_t now) {
  if (draining_) return false;
  if (exchange_ && !(produce(now) && serve_input())) return false;
  watch();
  return true;
}

// Reads until the kernel has no more, so that the end of the client's side is detected in the same round.
bool Connection::read_all() {
  for (int reads = 0; reads < max_reads && wants_input(); ++reads) {
    const ssize_t got = recv(socket_, shared_.input.data(), shared_.input.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got < 0) return client_gone(Ending::client_reset, now_ns());
    client_ended_ = got == 0;
    if (draining_ || deaf_) continue;
    in_.append(shared_.input, 0, static_cast<std::size_t>(got));
    if (!serve_input()) return false;
    if (exchange_ && in_.size() > max_waiting_input) stop_listening();
  }
  if (!client_ended_) return true;
  if (exchange_ || draining_ || out_.empty()) return client_gone(Ending::client_closed, now_ns());
  keep_alive_ = false;  // it sent a request, closed its side and still reads: it gets the answer
  return true;
}

// Serves what has been read; a request that comes while another is being answered waits.
bool Connection::serve_input() {
  while (!exchange_ && !draining_ && out_.empty()) {
    const ParseState state = parser_.parse(in_);
    if (state == ParseState::need_more) break;
    if (state == ParseState::expect_continue) {
      if (!write("HTTP/1.1 100 Continue\r\n\r\n", {})) return false;
    } else if (state == ParseState::failed) {
      keep_alive_ = false;
      if (!write(answer_error(parser_.error()), {}) || !follow()) return false;
    } else if (!serve(parser_.take())) {
      return false;
    }
  }
  if (in_.empty()) std::string().swap(in_);  // 10,000 streams need no input buffers
  return true;
}

bool Connection::serve(const HttpRequest& request) {
  keep_alive_ = request.keep_alive;
  if (const auto api = api_of(request)) return begin_chat(request, *api);
  if (request.method == "HEAD") keep_alive_ = false;
  return write(answer_plain(request, shared_.options, shared_.log), {}) && follow();
}

// The answer begins with the timer, after the events of this round: a client that has already closed the
// connection gets none.
bool Connection::begin_chat(const HttpRequest& request, Api api) {
  const std::int64_t now = now_ns();
  ChatCall call;
  call.api = api;
  const auto error = read_chat_call(request, shared_.options, call);
  Record record;
  record.agent = call.agent;
  record.stream = call.stream;
  record.start_ns = now;
  if (shared_.options.keep_requests) record.request = request.body;
  if (error) return refuse_chat(to_json(*error, api), error->status, std::move(record));
  if (shared_.options.prompt_cache) call.cache = shared_.cache.use(std::exchange(call.parts, {}));
  const std::uint64_t number = shared_.log.begin(std::move(record));
  keep_alive_ = keep_alive_ && !request.http_1_0;
  exchange_.emplace(std::move(call), number, now, keep_alive_, !request.http_1_0);
  shared_.wheel.set(timer_, now - TimerWheel::tick_ns);
  return true;
}

bool Connection::refuse_chat(std::string_view error, int status, Record record) {
  const std::uint64_t number = shared_.log.begin(std::move(record));
  shared_.log.wrote(number, status, now_ns(), 0);
  const Record ended = shared_.log.end(number, Ending::completed, now_ns());
  if (shared_.options.on_request_end) shared_.options.on_request_end(ended);
  return write(http_answer(status, "application/json", error, keep_alive_), {}) && follow();
}

bool Connection::produce(std::int64_t now) {
  shared_.output.clear();
  shared_.marks.clear();
  next_ = exchange_->produce(now, shared_.output, shared_.marks);
  return write(shared_.output, shared_.marks) && follow();
}

// Starts the next phase once everything has been written.
bool Connection::follow() {
  if (!out_.empty()) return true;
  if (exchange_ && next_.what == Next::never) return true;
  if (exchange_ && next_.what == Next::at_time) {
    shared_.wheel.set(timer_, next_.due_ns);
    return true;
  }
  if (exchange_ && next_.what == Next::close) return false;
  end_exchange(Ending::completed, now_ns());
  return keep_alive_ || close_gently();
}

// Passes the bytes to the kernel, and keeps the rest. False when the client has closed the connection.
bool Connection::write(std::string_view bytes, const std::vector<TokenMark>& marks) {
  const std::int64_t at_ns = now_ns();
  const std::size_t sent = send_some(bytes);
  count(at_ns, sent, marks);
  if (broken_) return client_gone(Ending::client_reset, now_ns());
  if (sent == bytes.size()) return true;
  out_ = bytes.substr(sent);
  for (const TokenMark& mark : marks) {
    if (mark.end > sent) marks_.push_back({mark.end - sent, mark.tokens});
  }
  return true;
}

bool Connection::flush() {
  const std::string bytes = std::exchange(out_, {});
  const std::vector<TokenMark> marks = std::exchange(marks_, {});
  return write(bytes, marks);
}

std::size_t Connection::send_some(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EINTR) continue;
    broken_ = errno != EAGAIN;
    break;
  }
  return 0;
}

// Records what the first `bytes` bytes carried.
void Connection::count(std::int64_t at_ns, std::size_t bytes, const std::vector<TokenMark>& marks) {
  if (!exchange_ || bytes == 0) return;
  std::uint64_t tokens = 0;
  for (const TokenMark& mark : marks) tokens += mark.end <= bytes ? mark.tokens : 0;
  shared_.log.wrote(exchange_->number(), exchange_->status(), at_ns, tokens);
}

// Always false: the connection cannot be used any more.
bool Connection::client_gone(Ending how, std::int64_t at_ns) {
  end_exchange(how, at_ns);
  return false;
}

// Closes our side and waits for the client's: a close() with unread bytes would reset what it has not read
// yet.
bool Connection::close_gently() {
  if (client_ended_) return false;
  draining_ = true;
  in_.clear();
  shutdown(socket_, SHUT_WR);
  shared_.wheel.set(timer_, now_ns() + drain_ns);
  return true;
}

void Connection::end_exchange(Ending how, std::int64_t at_ns) {
  if (!exchange_) return;
  timer_.unlink();
  const Record ended = shared_.log.end(exchange_->number(), how, at_ns);
  exchange_.reset();
  if (shared_.options.on_request_end) shared_.options.on_request_end(ended);
}

// Bytes left in the kernel would close the window, and the end of the client would be stuck behind it.
void Connection::stop_listening() {
  deaf_ = true;
  keep_alive_ = false;
  std::string().swap(in_);
}

bool Connection::wants_input() const noexcept {
  const bool may_wait = !exchange_ && !out_.empty() && in_.size() > max_waiting_input;
  return !client_ended_ && !may_wait;
}

void Connection::watch() {
  std::uint32_t wanted = client_ended_ ? 0U : std::uint32_t{EPOLLRDHUP};
  if (wants_input()) wanted |= EPOLLIN;
  if (!out_.empty()) wanted |= EPOLLOUT;
  if (wanted == watched_) return;
  epoll_event event{};
  event.events = watched_ = wanted;
  event.data.ptr = this;
  epoll_ctl(shared_.epoll, EPOLL_CTL_MOD, socket_, &event);
}

}  // namespace standin
