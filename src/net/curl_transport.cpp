#include "net/curl_transport.hpp"

#include "net/http2.hpp"
#include "net/transfer_callbacks.hpp"

#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

namespace agentcore::detail::net {

namespace {

// Of at least 16 KiB each, if the socket holds so much.
constexpr int reads_before_timeout = 256;

// The work of one round: enough to be quick, little enough that stops and other sources are not delayed.
constexpr int starts_per_round = 8;
constexpr int releases_per_round = 16;

// Owned by the engine. Its destructor closes the transport, even if others still hold the transport.
struct Service {
  std::shared_ptr<CurlTransport> transport;

  explicit Service(std::shared_ptr<CurlTransport> made) noexcept : transport(std::move(made)) {}
  ~Service() { transport->close(); }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
};

// What the clients of an engine use.
struct Chosen {
  const std::shared_ptr<Transport> transport;

  explicit Chosen(std::shared_ptr<Transport> made) noexcept : transport(std::move(made)) {}
};

bool has_http2() noexcept {
  const curl_version_info_data* const built = curl_version_info(CURLVERSION_NOW);
  return speaks_http2(built->version_num, built->features);
}

}  // namespace

std::shared_ptr<const void> Transport::library() {
  return std::make_shared<CurlLibrary>();
}

std::shared_ptr<Transport> Transport::of(loop::Engine& engine) {
  return engine.service<Chosen>([&engine] { return std::make_shared<Chosen>(CurlTransport::of(engine)); })
      ->transport;
}

void Transport::install(loop::Engine& engine, std::shared_ptr<Transport> transport) {
  engine.service<Chosen>([&] { return std::make_shared<Chosen>(std::move(transport)); });
}

std::shared_ptr<CurlTransport> CurlTransport::of(loop::Engine& engine, std::size_t pool_size) {
  const auto make = [&engine, pool_size] {
    auto transport = std::make_shared<CurlTransport>(engine, pool_size);
    engine.add_source(transport);
    return std::make_shared<Service>(std::move(transport));
  };
  return engine.service<Service>(make)->transport;
}

CurlTransport::CurlTransport(loop::Engine& engine, std::size_t pool_size)
    : engine_(engine),
      sockets_(engine, *this),
      pools_(engine, sockets_, engine.max_idle_connections(), pool_size),
      context_{engine, sockets_, has_http2(), [this](std::uint64_t id) { on_timer(id); }},
      stops_(std::make_shared<StopQueue>(engine.waker())) {
  pools_.choose().multi().open();
}

CurlTransport::~CurlTransport() {
  close();
}

void CurlTransport::start(HttpRequest request, std::shared_ptr<CallHandle> handle,
                          std::unique_ptr<HttpHandler> handler) {
  if (is_closed()) return;  // the handler is destroyed without a call, as all are then
  auto transfer = std::make_unique<Transfer>(context_, ++last_id_, std::move(request), std::move(handle),
                                             std::move(handler));
  starting_.push_back(last_id_);
  open_.emplace_hint(open_.end(), last_id_, std::move(transfer));
  engine_.add_pending(1);
  engine_.waker()->notify();
}

// The last hold may be released while easy handles are still being removed, or from inside a handler's call:
// then run_round() closes the connections, once no transfer is left.
std::shared_ptr<const void> CurlTransport::hold() {
  if (auto held = held_.lock()) return held;
  unused_ = false;
  std::shared_ptr<const void> held(this, [weak = weak_from_this()](const CurlTransport*) {
    const auto self = weak.lock();
    if (self == nullptr || self->is_closed()) return;
    self->unused_ = true;
    self->drop_if_unused();
  });
  held_ = held;
  return held;
}

void CurlTransport::drop_if_unused() {
  if (unused_ && open_.empty() && ended_.empty()) pools_.drop();
}

bool CurlTransport::has_work() const noexcept {
  return !closed_ && (pools_.is_any_due() || !stops_->empty() || !starting_.empty() || !ended_.empty());
}

// Stops come first: their sockets are shut down already, so the ends can be reported before any easy handle
// is removed.
void CurlTransport::run_control(loop::PollBudget& budget) {
  while (!is_closed() && !stops_->empty() && budget.spend()) {
    const std::shared_ptr<CallHandle> handle = stops_->pop();
    if (Transfer* const transfer = handle->transfer()) end(*transfer, transfer->end_of(CURLE_OK));
  }
}

void CurlTransport::run_round(loop::PollBudget& budget) {
  for (int i = 0; i < starts_per_round && !starting_.empty() && !is_closed() && budget.spend(); ++i) {
    const auto found = open_.find(starting_.front());
    starting_.pop_front();
    if (found != open_.end()) launch(*found->second);
  }
  pools_.for_each([this](ConnectionPool& pool) {
    if (!is_closed() && pool.multi().take_due()) act(pool, CURL_SOCKET_TIMEOUT, 0);
    if (!is_closed() && pool.kept().begin_sweep()) act(pool, CURL_SOCKET_TIMEOUT, 0);
  });
  for (int i = 0; i < releases_per_round && !ended_.empty() && !is_closed() && budget.spend(); ++i)
    release_oldest_ended();
  if (!is_closed()) drop_if_unused();
}

void CurlTransport::launch(Transfer& transfer) {
  ConnectionPool& pool = pools_.choose();
  if (auto ended = transfer.prepare(pool)) return end(transfer, std::move(*ended));
  const int error = pool.multi().open() ? 0 : errno;
  if (!pool.multi().add(transfer.easy())) end(transfer, transfer.end_of(CURLE_OUT_OF_MEMORY, error));
}

void CurlTransport::on_io(int descriptor, loop::IoEvents events) {
  if (is_closed()) return;
  sockets_.prefetch(descriptor);
  if (sockets_.end_idle(descriptor)) return pools_.settle();
  if (sockets_.unwatch_if_over(descriptor)) return;
  int bits = 0;
  if (has(events, loop::IoEvents::readable)) bits |= CURL_CSELECT_IN;
  if (has(events, loop::IoEvents::writable)) bits |= CURL_CSELECT_OUT;
  if (has(events, loop::IoEvents::error)) bits |= CURL_CSELECT_ERR;
  act(pools_.of(descriptor), descriptor, bits);
}

void CurlTransport::act(ConnectionPool& pool, curl_socket_t descriptor, int events) {
  if (!pool.multi().is_open()) return;
  pool.act(descriptor, events);
  read_messages(pool);
  if (pool.multi().take_unwatched()) end_unwatched();
  if (!is_closed()) pools_.settle();
}

// Ends the transfers whose sockets the system refuses to watch. libcurl's callback only marks them: no
// transfer can be ended while libcurl runs.
void CurlTransport::end_unwatched() {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, transfer] : open_)
    if (transfer->answer().failure() == Failure::unwatched) ids.push_back(id);
  for (const std::uint64_t id : ids) {
    if (is_closed()) return;  // closed by the handler of the previous transfer
    const auto found = open_.find(id);
    if (found != open_.end()) end(*found->second, found->second->end_of(CURLE_OK));
  }
}

void CurlTransport::read_messages(ConnectionPool& pool) {
  while (!is_closed()) {
    const CURLMsg* const message = pool.multi().next_message();
    if (message == nullptr) return;
    if (pool.kept().is_sweeper(message->easy_handle)) {
      pool.kept().end_sweep(pool.transfers() != 0);
      pools_.close_unneeded();
      continue;
    }
    Transfer* const transfer = transfer_of(message->easy_handle);
    const CURLcode result = message->data.result;  // the message is valid until the next call
    if (transfer == nullptr || transfer->handler() == nullptr) continue;
    if (transfer->handle()->is_cut()) continue;  // its end is in the queue
    if (result == CURLE_OK && transfer->answer().is_redirected())
      restart(*transfer);
    else
      end(*transfer, transfer->end_of(result));
  }
}

// The redirect's own body was read: its connection is kept, and most likely serves the next request. The call
// handle and the timer belong to the transfer, and stay.
void CurlTransport::restart(Transfer& transfer) {
  transfer.leave_pool();
  transfer.follow();
  starting_.push_back(transfer.id());
}

void CurlTransport::end(Transfer& transfer, HttpEnd end) {
  ended_.insert(open_.extract(transfer.id()));
  engine_.add_pending(-1);
  const auto handler = transfer.take_handler();
  engine_.guarded("the receiver of an HTTP answer", [&] { handler->on_end(std::move(end)); });
}

void CurlTransport::release_oldest_ended() {
  const auto node = ended_.extract(ended_.begin());
  node.mapped()->leave_pool();
  pools_.close_unneeded();
}

// A loop that is late may read a time-out before the data that came in time. So what can be read now is read
// first, and counts. The limit keeps a stream that never pauses from going on.
void CurlTransport::on_timer(std::uint64_t id) {
  std::int64_t before = -1;
  for (int reads = 0;; ++reads) {
    const auto found = open_.find(id);
    if (is_closed() || found == open_.end()) return;
    Transfer& transfer = *found->second;
    if (reads == 0) transfer.timer().fired();  // data that is read may have started it again
    if (transfer.handle()->is_cut()) return;   // the handle is in the queue
    if (!transfer.timer().is_due()) return transfer.timer().arm();
    const std::optional<Reading> reading = reading_of(transfer);
    const bool is_final = transfer.timer().deadlines().code() == Errc::deadline_exceeded;
    if (is_final || !reading || reading->bytes == before || reads == reads_before_timeout)
      return end(transfer, transfer.end_by_deadline());
    before = reading->bytes;
    act(pools_.of(reading->descriptor), reading->descriptor, CURL_CSELECT_IN);
  }
}

void CurlTransport::close() {
  if (std::exchange(closed_, true)) return;
  stops_->close();
  sockets_.abandon_engine();
  pools_.abandon_engine();
  ended_.merge(open_);
  for (const auto& [id, transfer] : ended_)
    transfer->hang_up();  // all of them before anything that takes time
  for (const auto& [id, transfer] : ended_) transfer->leave_pool();
  const Transfers dropped = std::exchange(ended_, {});
  pools_.drop();
}

}  // namespace agentcore::detail::net
