#include "sim/sim_transport.hpp"

#include "loop/engine.hpp"
#include "support/observe/host_code.hpp"

#include <utility>

namespace agentcore::sim {

using detail::net::HttpEnd;

SimTransfer::SimTransfer(detail::loop::Engine& engine, std::uint64_t number, detail::net::HttpRequest wanted,
                         std::shared_ptr<detail::net::CallHandle> by,
                         std::unique_ptr<detail::net::HttpHandler> to, std::function<void()> on_timer)
    : id(number),
      request(std::move(wanted)),
      handle(std::move(by)),
      handler(std::move(to)),
      timer(engine,
            {.connect = request.connect_timeout,
             .first_byte = request.first_byte_timeout,
             .stall = request.stall_timeout,
             .total = request.total_timeout,
             .deadline = request.deadline},
            std::move(on_timer)) {
}

std::string SimTransfer::header(std::string_view name) const {
  for (const std::string& line : request.headers)
    if (line.starts_with(name) && line.substr(name.size(), 2) == ": ") return line.substr(name.size() + 2);
  return {};
}

std::shared_ptr<SimTransport> SimTransport::install(detail::loop::Engine& engine) {
  const test::HostCode host;
  auto transport = std::make_shared<SimTransport>(engine);
  engine.add_source(transport);
  // What the engine holds closes it, as the service of the real transport does.
  Transport::install(
      engine, std::shared_ptr<Transport>(transport.get(), [transport](Transport*) { transport->close(); }));
  return transport;
}

SimTransport::SimTransport(detail::loop::Engine& engine)
    : engine_(engine), stops_(std::make_shared<detail::net::StopQueue>(engine.waker())) {
}

void SimTransport::close() noexcept {
  const test::HostCode host;
  if (std::exchange(closed_, true)) return;
  stops_->close();
  for (const auto& [id, transfer] : open_) transfer->timer.cancel();
  const auto dropped = std::exchange(open_, {});
  const test::LibraryCode library;
  for (const auto& [id, transfer] : dropped) transfer->handler.reset();
}

std::shared_ptr<detail::net::CallHandle> SimTransport::make_handle() {
  return detail::net::CallHandle::make(stops_);
}

void SimTransport::start(detail::net::HttpRequest request, std::shared_ptr<detail::net::CallHandle> handle,
                         std::unique_ptr<detail::net::HttpHandler> handler) {
  const test::HostCode host;
  if (closed_ || engine_.closed()) return;
  const std::uint64_t id = ++last_id_;
  auto& transfer = open_[id];
  transfer = std::make_unique<SimTransfer>(engine_, id, std::move(request), std::move(handle),
                                           std::move(handler), [this, id] { on_timer(id); });
  engine_.add_pending(1);
  if (on_start) on_start(*transfer);
  engine_.waker()->notify();
}

void SimTransport::arrive(SimTransfer& transfer, Arrival arrival) {
  const test::HostCode host;
  transfer.inbox.push_back(std::move(arrival));
  engine_.waker()->notify();
}

SimTransfer* SimTransport::find(std::uint64_t id) const {
  const auto found = open_.find(id);
  return found == open_.end() ? nullptr : found->second.get();
}

void SimTransport::on_timer(std::uint64_t id) {
  const test::HostCode host;
  SimTransfer* const transfer = find(id);
  if (transfer == nullptr) return;
  transfer->timer.fired();
  if (transfer->handle->is_cut()) return;
  if (!transfer->timer.is_due()) return transfer->timer.arm();
  // What has arrived before is read first.
  if (transfer->inbox.empty())
    end_late(*transfer);
  else
    transfer->late = true;
}

void SimTransport::end_late(SimTransfer& transfer) {
  const Errc code = transfer.timer.deadlines().code();
  end(transfer.id,
      {code, "the simulated server was silent for too long", transfer.status, transfer.connected});
}

bool SimTransport::has_something(const SimTransfer& transfer) noexcept {
  return !transfer.handle->is_cut() && (!transfer.launched || !transfer.inbox.empty() || transfer.late);
}

bool SimTransport::has_work() const noexcept {
  if (closed_) return false;
  if (!stops_->empty()) return true;
  for (const auto& [id, transfer] : open_)
    if (has_something(*transfer)) return true;
  return false;
}

void SimTransport::run_control(detail::loop::PollBudget& budget) {
  const test::HostCode host;
  while (!closed_ && !engine_.closed() && !stops_->empty() && budget.spend()) {
    const auto handle = stops_->pop();
    for (const auto& [id, transfer] : open_) {
      if (transfer->handle != handle) continue;
      end(id, {Errc::cancelled, "the transfer was stopped", transfer->status, transfer->connected});
      break;
    }
  }
}

void SimTransport::run_round(detail::loop::PollBudget& budget) {
  const test::HostCode host;
  for (std::uint64_t last = 0; !closed_ && !engine_.closed();) {
    const auto next = open_.upper_bound(last);
    if (next == open_.end()) return;
    last = next->first;
    SimTransfer& transfer = *next->second;
    if (!has_something(transfer)) continue;
    if (!budget.spend()) return;
    step(transfer);
  }
}

// Begins to connect; reads one thing that has arrived; or ends the transfer, if its time is up.
void SimTransport::step(SimTransfer& transfer) {
  if (fails && fails(!transfer.launched))
    return end(transfer.id,
               {Errc::network_error,
                transfer.launched ? "the simulated system does not watch the socket" : "there is no socket",
                transfer.status, transfer.connected});
  if (!std::exchange(transfer.launched, true)) {
    transfer.timer.connecting();
    transfer.timer.arm();
    if (on_launch) on_launch(transfer);
    return;
  }
  if (transfer.inbox.empty()) {
    transfer.late = false;
    if (!transfer.timer.is_due()) return transfer.timer.arm();
    return end_late(transfer);
  }
  Arrival arrival = std::move(transfer.inbox.front());
  transfer.inbox.pop_front();
  switch (arrival.what) {
    case Arrival::What::connection:
      transfer.connected = true;
      return transfer.timer.request_sent();
    case Arrival::What::head:
      transfer.status = arrival.head.status;
      deliver(transfer, [&] {
        transfer.handler->on_head(arrival.head);
        return true;
      });
      return;
    case Arrival::What::bytes:
      transfer.timer.data_received();
      deliver(transfer, [&] { return transfer.handler->on_body(arrival.bytes); });
      return;
    case Arrival::What::end:
      arrival.end.status = transfer.status;
      arrival.end.request_sent = transfer.connected;
      return end(transfer.id, std::move(arrival.end));
  }
}

// The handler may do anything: false if the transfer is over.
bool SimTransport::deliver(SimTransfer& transfer, const std::function<bool()>& call) {
  const std::uint64_t id = transfer.id;
  bool goes_on = false;
  const bool returned = engine_.guarded("the receiver of an HTTP answer", [&] {
    const test::LibraryCode library;
    goes_on = call();
  });
  if (closed_ || engine_.closed() || find(id) == nullptr || transfer.handle->is_cut()) return false;
  if (returned && goes_on) return true;
  end(id, {returned ? Errc::invalid_response : Errc::callback_failed, "the receiver refused the answer",
           transfer.status, true});
  return false;
}

void SimTransport::end(std::uint64_t id, HttpEnd how) {
  const auto transfer = std::move(open_.extract(id).mapped());
  transfer->timer.cancel();
  engine_.add_pending(-1);
  if (on_end) on_end(*transfer, how);
  engine_.guarded("the receiver of an HTTP answer", [&] {
    const test::LibraryCode library;
    transfer->handler->on_end(std::move(how));
  });
  const test::LibraryCode library;
  transfer->handler.reset();
}

}  // namespace agentcore::sim
