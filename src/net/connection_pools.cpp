#include "net/connection_pools.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace agentcore::detail::net {

ConnectionPools::ConnectionPools(loop::Engine& engine, SocketTable& sockets, std::size_t max_idle,
                                 std::size_t size)
    : engine_(engine), sockets_(sockets), max_idle_(max_idle), size_(size) {
  add();
}

void ConnectionPools::add() {
  pools_.reserve(pools_.size() + 1);
  auto pool = std::make_unique<ConnectionPool>(engine_, sockets_, sockets_.counts().pools(), max_idle_);
  sockets_.counts().add_pool();
  pools_.push_back(std::move(pool));
}

ConnectionPool& ConnectionPools::choose() noexcept {
  const auto has_room = [this](const ConnectionPool& pool) { return pool.transfers() < size_; };
  if (sockets_.counts().idle() != 0)
    for (const auto& pool : pools_)
      if (has_room(*pool) && pool->kept().may_reuse()) return *pool;
  for (const auto& pool : pools_)
    if (has_room(*pool)) return *pool;
  try {
    add();
  } catch (const std::bad_alloc&) {
    return *pools_.front();
  }
  return *pools_.back();
}

void ConnectionPools::settle() {
  sockets_.settle_idle(max_idle_);
  if (!sockets_.counts().take_retired()) return;
  for (const auto& pool : pools_) pool->kept().note_retired();
}

bool ConnectionPools::is_any_due() const noexcept {
  return std::any_of(pools_.begin(), pools_.end(), [](const auto& pool) { return pool->is_due(); });
}

void ConnectionPools::close_unneeded() {
  for (std::size_t i = 1; i < pools_.size(); ++i)
    if (pools_[i]->is_empty() && pools_[i - 1]->transfers() <= size_ / 2) pools_[i]->kept().drop();
}

void ConnectionPools::drop() {
  for (const auto& pool : pools_) pool->kept().drop();
}

void ConnectionPools::abandon_engine() noexcept {
  for (const auto& pool : pools_) pool->abandon_engine();
}

}  // namespace agentcore::detail::net
