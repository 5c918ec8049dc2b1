#include "net/call_handle.hpp"

#include "net/curl_transport.hpp"
#include "net/stop_queue.hpp"

#include <utility>

namespace agentcore::detail::net {

std::shared_ptr<CallHandle> CallHandle::make(loop::Engine& engine) {
  return CurlTransport::of(engine)->make_handle();
}

std::shared_ptr<CallHandle> CallHandle::make(std::shared_ptr<StopQueue> queue) {
  return std::make_shared<CallHandle>(Key{}, std::move(queue));
}

bool CallHandle::stop() noexcept {
  if (stopped_.exchange(true, std::memory_order_acq_rel)) return false;
  cut();
  return true;
}

bool CallHandle::cut() noexcept {
  if (!sockets_.shut()) return false;  // shutdown(2) of each socket that the transfer holds
  queue_->push(*this);                 // the first of a batch wakes the loop
  return true;
}

}  // namespace agentcore::detail::net
