#include "net/cut.hpp"

#include "loop/waker.hpp"
#include "net/curl_transport.hpp"
#include "net/cut_queue.hpp"

#include <bit>
#include <cstdint>
#include <utility>

namespace agentcore::net {

namespace {

// Stands at the head of a closed queue, so that a push finds out in the very exchange that would add it.
Cut* const closed_mark = std::bit_cast<Cut*>(std::uintptr_t{1});

}  // namespace

std::shared_ptr<Cut> Cut::make(loop::Engine& engine) {
  return make(CurlTransport::of(engine)->cuts());
}

std::shared_ptr<Cut> Cut::make(std::shared_ptr<CutQueue> queue) {
  return std::make_shared<Cut>(Key{}, std::move(queue));
}

bool Cut::cut() noexcept {
  if (!guard_.shut()) return false;
  queue_->push(*this);
  return true;
}

CutQueue::CutQueue(std::shared_ptr<loop::Waker> waker) noexcept : waker_(std::move(waker)) {
}

CutQueue::~CutQueue() {
  close();
}

void CutQueue::push(Cut& cut) noexcept {
  cut.kept_ = cut.shared_from_this();
  Cut* head = pushed_.load(std::memory_order_relaxed);
  do {
    if (head == closed_mark) {
      // Nobody else saw this cut. Its caller holds it, so the last reference is not dropped here.
      cut.kept_.reset();
      return;
    }
    cut.next_ = head;
  } while (!pushed_.compare_exchange_weak(head, &cut, std::memory_order_release, std::memory_order_relaxed));
  if (head == nullptr) waker_->notify();
}

bool CutQueue::empty() const noexcept {
  if (taken_ != nullptr) return false;
  Cut* const head = pushed_.load(std::memory_order_acquire);
  return head == nullptr || head == closed_mark;
}

bool CutQueue::take() noexcept {
  if (taken_ != nullptr) return true;
  if (empty()) return false;
  turn_round(pushed_.exchange(nullptr, std::memory_order_acquire));
  return true;
}

void CutQueue::turn_round(Cut* newest) noexcept {
  while (newest != nullptr) {
    Cut* const older = newest->next_;
    newest->next_ = std::exchange(taken_, newest);
    newest = older;
  }
}

std::shared_ptr<Cut> CutQueue::pop() noexcept {
  if (!take()) return nullptr;
  Cut* const first = taken_;
  taken_ = first->next_;
  return std::exchange(first->kept_, nullptr);
}

void CutQueue::close() noexcept {
  while (pop()) {
  }
  Cut* const newest = pushed_.exchange(closed_mark, std::memory_order_acquire);
  if (newest != closed_mark) turn_round(newest);
  while (taken_ != nullptr) pop();
}

}  // namespace agentcore::net
