#include "loop/waker.hpp"

#include <utility>

namespace agentcore::detail::loop {

// The host's function, with what is needed to end it safely while another thread may be calling it.
struct Waker::Subscriber {
  explicit Subscriber(std::function<void()> wake) : function(std::move(wake)) {}

  // False when it threw.
  bool call() noexcept;
  void end() noexcept;
  bool called_by_this_thread() const noexcept { return caller.load() == std::this_thread::get_id(); }

  std::mutex running;  // held during a call
  std::function<void()> function;
  std::atomic<std::thread::id> caller{};
  std::atomic<bool> ended{false};
};

bool Waker::Subscriber::call() noexcept {
  if (called_by_this_thread()) return true;  // the function called back in, against the rules
  const std::lock_guard lock(running);
  if (ended) return true;
  bool returned = true;
  caller = std::this_thread::get_id();
  try {
    function();
  } catch (...) {
    returned = false;
  }
  caller = std::thread::id();
  return returned;
}

void Waker::Subscriber::end() noexcept {
  ended = true;
  if (called_by_this_thread()) return;  // destroyed with the last reference, when the call returns
  std::function<void()> dropped;
  const std::lock_guard lock(running);
  dropped.swap(function);
}  // the lock is released first, then the function is destroyed

// Not inline: http destroys Wakers, too, and core does not export WakeSignal, whose destructor this calls.
Waker::~Waker() = default;

void Waker::notify() noexcept {
  if (!notified_.exchange(true, std::memory_order_seq_cst)) signal();
}

void Waker::signal() noexcept {
  std::shared_ptr<Subscriber> subscriber;
  {
    // Under the lock, so that close() cannot release the descriptor's number for another use in between.
    const std::lock_guard lock(mutex_);
    set_signal();
    subscriber = subscriber_;
  }
  if (subscriber && !subscriber->call()) threw_ = true;
}

void Waker::set_signal() noexcept {
  if (!signal_.is_open() || written_) return;
  written_ = level_;
  signal_.set();
}

void Waker::drain() noexcept {
  if (!level_) return;  // written by this thread only
  const std::lock_guard lock(mutex_);
  if (std::exchange(written_, false)) signal_.clear();
}

Subscription Waker::on_wake(std::function<void()> wake) {
  if (closed_ || !wake) return Subscription();
  auto added = std::make_shared<Subscriber>(std::move(wake));
  // Made before it is subscribed: if this throws, no subscriber without a Subscription remains.
  Subscription subscription([self = shared_from_this(), added] { self->end_subscription(added); });
  std::shared_ptr<Subscriber> replaced;
  {
    const std::lock_guard lock(mutex_);
    replaced = std::exchange(subscriber_, added);
  }
  if (replaced) replaced->end();
  return subscription;
}

void Waker::end_subscription(const std::shared_ptr<Subscriber>& subscriber) noexcept {
  std::shared_ptr<Subscriber> removed;
  {
    const std::lock_guard lock(mutex_);
    if (subscriber_ == subscriber) removed = std::exchange(subscriber_, nullptr);
  }
  subscriber->end();
}

int Waker::open(bool level) {
  if (closed_) return -1;
  const std::lock_guard lock(mutex_);
  if (signal_.is_open()) return signal_.descriptor();
  if (!signal_.open()) return -1;
  level_ = level;
  // A notify() before this found no descriptor. During a poll that does not matter: its end looks for work
  // anyway.
  if (!polling_ && notified_.load(std::memory_order_seq_cst)) set_signal();
  return signal_.descriptor();
}

void Waker::begin_poll() noexcept {
  polling_ = true;
  notified_.exchange(true, std::memory_order_seq_cst);
  drain();
}

void Waker::end_poll() noexcept {
  polling_ = false;
  if (!closed_) notified_.exchange(false, std::memory_order_seq_cst);
}

void Waker::close() noexcept {
  closed_ = true;
  notified_.exchange(true, std::memory_order_seq_cst);  // and never cleared again: notify() ends there
  std::shared_ptr<Subscriber> removed;
  {
    const std::lock_guard lock(mutex_);
    removed = std::exchange(subscriber_, nullptr);
    signal_.close();
  }
  if (removed) removed->end();
}

}  // namespace agentcore::detail::loop
