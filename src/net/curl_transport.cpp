#include "net/curl_transport.hpp"

#include "net/cut.hpp"
#include "net/http2.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace agentcore::net {

namespace {

// A round's worth: enough to be quick, few enough that stops and other sources come in between.
constexpr int starts_per_round = 8;
constexpr int removals_per_round = 16;

constexpr int multi_quick_exit = 21;  // CURLMOPT_QUICK_EXIT

// What the engine owns: its end is the transport's, whoever else may still hold that one.
struct Slot {
  std::shared_ptr<CurlTransport> transport;

  explicit Slot(std::shared_ptr<CurlTransport> made) noexcept : transport(std::move(made)) {}
  ~Slot() { transport->close(); }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
};

}  // namespace

std::shared_ptr<Transport> Transport::of(loop::Engine& engine) {
  return CurlTransport::of(engine);
}

std::shared_ptr<CurlTransport> CurlTransport::of(loop::Engine& engine) {
  const auto make = [&engine] {
    auto transport = std::make_shared<CurlTransport>(engine);
    engine.add_source(transport);
    return std::make_shared<Slot>(std::move(transport));
  };
  return engine.service<Slot>(make)->transport;
}

CurlTransport::CurlTransport(loop::Engine& engine)
    : engine_(engine),
      sockets_(engine, *this),
      cuts_(std::make_shared<CutQueue>(engine.waker())),
      max_idle_(engine.max_idle_connections()) {
  curl_global_init(CURL_GLOBAL_DEFAULT);  // counts: each has its cleanup, whoever else uses libcurl
  const curl_version_info_data* const built = curl_version_info(CURLVERSION_NOW);
  http2_ = speaks_http2(built->version_num, built->features);
  make_multi();
}

void CurlTransport::make_multi() {
  if (multi_ != nullptr) return;
  multi_ = curl_multi_init();
  connection_limit_ = 0;
  // As CURLOPT_QUICK_EXIT: later versions keep the resolver's threads here, and their end would be waited
  // for. Others do not know the option.
  curl_multi_setopt(multi_, static_cast<CURLMoption>(multi_quick_exit), 1L);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlTransport::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlTransport::on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

CurlTransport::~CurlTransport() {
  close();
  curl_global_cleanup();
}

void CurlTransport::start(HttpRequest request, std::shared_ptr<Cut> cut,
                          std::unique_ptr<HttpHandler> handler) {
  if (closed()) return;  // the handler goes without a call, as all of them do then
  auto transfer =
      std::make_unique<Transfer>(*this, ++last_id_, std::move(request), std::move(cut), std::move(handler));
  transfer->cut->attach(transfer.get());
  starting_.push_back(last_id_);
  open_.emplace_hint(open_.end(), last_id_, std::move(transfer));
  engine_.add_pending(1);
  engine_.waker()->notify();
}

bool CurlTransport::has_work() const noexcept {
  return !closed_ && (due_ || sweep_due_ || !cuts_->empty() || !starting_.empty() || !ended_.empty());
}

// Stops first: their sockets are shut down already, so that the ends can be told before any handle is
// removed.
void CurlTransport::run_control(loop::Budget& budget) {
  while (!closed() && !cuts_->empty() && budget.spend()) {
    const std::shared_ptr<Cut> cut = cuts_->pop();
    if (Transfer* const transfer = cut->transfer()) end(*transfer, transfer->describe(CURLE_OK));
  }
}

void CurlTransport::run_round(loop::Budget& budget) {
  for (int i = 0; i < starts_per_round && !starting_.empty() && !closed() && budget.spend(); ++i) {
    const auto found = open_.find(starting_.front());
    starting_.pop_front();
    if (found != open_.end()) launch(*found->second);
  }
  if (due_ && !closed()) run_due();
  for (int i = 0; i < removals_per_round && !ended_.empty() && !closed() && budget.spend(); ++i) reap_one();
  if (!closed()) drop_if_unused();
  if (sweep_due_ && !closed()) sweep();
}

void CurlTransport::launch(Transfer& transfer) {
  if (transfer.cut->is_cut()) return end(transfer, transfer.describe(CURLE_OK));
  transfer.deadlines.connecting(engine_.now());
  if (transfer.deadlines.due() <= engine_.now()) return end(transfer, transfer.describe_timeout());
  // libcurl looks for a kept connection in time linear in their number: only when there may be one.
  transfer.hopes_for_reuse = sockets_.idle() > reuse_hopes_;
  if (transfer.hopes_for_reuse) ++reuse_hopes_;
  const CURLcode prepared = transfer.prepare(!transfer.hopes_for_reuse);
  if (prepared != CURLE_OK) return end(transfer, transfer.describe(prepared));
  arm(transfer);
  make_multi();
  if (curl_multi_add_handle(multi_, transfer.easy) != CURLM_OK)
    end(transfer, transfer.describe(CURLE_OUT_OF_MEMORY));
}

void CurlTransport::settle_reuse(Transfer& transfer) noexcept {
  if (std::exchange(transfer.hopes_for_reuse, false)) --reuse_hopes_;
}

void CurlTransport::run_due() {
  due_ = false;
  act(CURL_SOCKET_TIMEOUT, 0);
}

void CurlTransport::on_io(int descriptor, loop::IoEvents events) {
  if (closed()) return;
  sockets_.warm(descriptor);
  if (sockets_.is_idle(descriptor)) {
    sockets_.end_idle(descriptor);
    return settle_connections();
  }
  if (sockets_.silence_if_over(descriptor)) return;
  int bits = 0;
  if (has(events, loop::IoEvents::readable)) bits |= CURL_CSELECT_IN;
  if (has(events, loop::IoEvents::writable)) bits |= CURL_CSELECT_OUT;
  if (has(events, loop::IoEvents::error)) bits |= CURL_CSELECT_ERR;
  act(descriptor, bits);
}

void CurlTransport::act(curl_socket_t descriptor, int events) {
  if (multi_ == nullptr) return;
  int running = 0;
  limit_connections();
  curl_multi_socket_action(multi_, descriptor, events, &running);
  read_messages();
  if (std::exchange(refused_, false)) end_refused();
  if (!closed()) settle_connections();
}

// Ends the transfers whose sockets the system refuses to watch. on_socket() only marks them: no transfer can
// be ended while libcurl runs.
void CurlTransport::end_refused() {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, transfer] : open_)
    if (transfer->is_deaf()) ids.push_back(id);
  for (const std::uint64_t id : ids) {
    if (closed()) return;  // by the handler of the transfer before
    const auto found = open_.find(id);
    if (found != open_.end()) end(*found->second, found->second->describe(CURLE_OK));
  }
}

void CurlTransport::read_messages() {
  int left = 0;
  while (!closed() && multi_ != nullptr) {
    const CURLMsg* const message = curl_multi_info_read(multi_, &left);
    if (message == nullptr) return;
    if (message->easy_handle == sweeper_) {
      end_sweep();
      continue;
    }
    Transfer* const transfer = Transfer::of(message->easy_handle);
    const CURLcode result = message->data.result;  // the message goes with the next call
    if (transfer == nullptr || transfer->handler == nullptr) continue;
    if (transfer->cut->is_cut()) continue;  // its end is in the queue
    if (result == CURLE_OK && transfer->is_redirected())
      restart(*transfer);
    else
      end(*transfer, transfer->describe(result));
  }
}

// The redirect's own body was read: its connection is kept, and most likely serves what comes next. Cut and
// timer are the transfer's, and stay.
void CurlTransport::restart(Transfer& transfer) {
  curl_multi_remove_handle(multi_, transfer.easy);
  transfer.follow();
  starting_.push_back(transfer.id);
}

void CurlTransport::end(Transfer& transfer, HttpEnd end) {
  ended_.insert(open_.extract(transfer.id));
  engine_.add_pending(-1);
  if (transfer.timer != 0) engine_.cancel_timer(std::exchange(transfer.timer, 0));
  settle_reuse(transfer);
  sockets_.hang_up(transfer.cut->guard());
  transfer.cut->attach(nullptr);
  const auto handler = std::move(transfer.handler);
  engine_.guarded("an HTTP handler", [&] { handler->on_end(std::move(end)); });
}

void CurlTransport::reap_one() {
  const auto node = ended_.extract(ended_.begin());
  if (node.mapped()->easy != nullptr) curl_multi_remove_handle(multi_, node.mapped()->easy);
}

void CurlTransport::arm(Transfer& transfer) {
  const TimePoint due = transfer.deadlines.due();
  if (transfer.timer != 0) {
    if (transfer.timer_due <= due) return;  // when that one fires, it looks again
    engine_.cancel_timer(std::exchange(transfer.timer, 0));
  }
  if (due == TimePoint::max()) return;
  transfer.timer_due = due;
  transfer.timer = engine_.start_timer(due, [this, id = transfer.id] { on_deadline(id); });
}

void CurlTransport::on_deadline(std::uint64_t id) {
  const auto found = open_.find(id);
  if (closed() || found == open_.end()) return;
  Transfer& transfer = *found->second;
  transfer.timer = 0;
  if (transfer.cut->is_cut()) return;  // its end is in the queue
  if (engine_.now() < transfer.deadlines.due()) return arm(transfer);
  end(transfer, transfer.describe_timeout());
}

int CurlTransport::on_timer(CURLM*, long milliseconds, void* self) noexcept {
  auto& transport = *static_cast<CurlTransport*>(self);
  if (transport.closed()) return 0;
  if (transport.curl_timer_ != 0) transport.engine_.cancel_timer(std::exchange(transport.curl_timer_, 0));
  transport.due_ = milliseconds == 0;
  if (milliseconds > 0) {
    const TimePoint when = transport.engine_.now() + std::chrono::milliseconds(milliseconds);
    transport.curl_timer_ = transport.engine_.start_timer(when, [&transport] { transport.on_curl_timer(); });
  }
  return 0;
}

void CurlTransport::on_curl_timer() {
  curl_timer_ = 0;
  if (!closed()) run_due();
}

int CurlTransport::on_socket(CURL* easy, curl_socket_t descriptor, int what, void* self, void*) noexcept {
  auto& transport = *static_cast<CurlTransport*>(self);
  if (what == CURL_POLL_REMOVE) {
    transport.sockets_.unwant(descriptor);
    return 0;
  }
  loop::IoEvents events = loop::IoEvents::none;
  if ((what & CURL_POLL_IN) != 0) events = events | loop::IoEvents::readable;
  if ((what & CURL_POLL_OUT) != 0) events = events | loop::IoEvents::writable;
  Transfer* const transfer = Transfer::of(easy);
  const bool alone = transfer != nullptr && transfer->is_alone();
  const bool watched =
      alone ? transport.sockets_.want(descriptor, events, transfer->cut, {transfer, transfer->handler.get()})
            : transport.sockets_.want(descriptor, events, nullptr);
  if (!watched && transfer != nullptr) {
    transfer->go_deaf();
    transport.refused_ = true;
  }
  return 0;
}

void CurlTransport::close() {
  if (std::exchange(closed_, true)) return;
  cuts_->close();
  sockets_.abandon_engine();
  ended_.merge(open_);
  for (const auto& [id, transfer] : ended_) {
    transfer->cut->attach(nullptr);
    sockets_.hang_up(transfer->cut->guard());  // all of them before anything that takes time
  }
  for (const auto& [id, transfer] : ended_)
    if (transfer->easy != nullptr) curl_multi_remove_handle(multi_, transfer->easy);
  const Transfers dropped = std::exchange(ended_, {});
  drop_multi();
}

}  // namespace agentcore::net
