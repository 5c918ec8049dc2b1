#include "loop/waker.hpp"

#include <cassert>
#include <thread>
#include <utility>

namespace agentcore::detail::loop {

// The host's function. It is never called in parallel with itself, and no mutex is held while it runs: it may
// take a lock of the host that another thread holds which has just notified. That thread does not wait; the
// call that runs is repeated when it returns.
class Waker::Subscriber {
 public:
  // Until start() it counts as running. start() calls it if the loop was woken meanwhile.
  explicit Subscriber(std::function<void()> wake) : function_(std::move(wake)) {}

  // False when it threw.
  bool call() noexcept AGENTCORE_RUNS_HOST_CODE;
  // The subscriber before has ended. False when the function threw.
  bool start() noexcept AGENTCORE_RUNS_HOST_CODE;
  // From its return on, the function does not run any more, unless this thread is in it.
  void end() noexcept;

 private:
  bool begin() noexcept;
  bool run() noexcept AGENTCORE_RUNS_HOST_CODE;
  bool is_to_be_repeated() noexcept;

  // Used by the thread that has set `running_`, and by the one that has set `ended_` and found no other.
  std::function<void()> function_;
  core::Mutex mutex_;
  core::Condition returned_;
  bool running_ AGENTCORE_GUARDED_BY(mutex_) = true;
  bool again_ AGENTCORE_GUARDED_BY(mutex_) = false;  // another wake-up came while it ran
  bool ended_ AGENTCORE_GUARDED_BY(mutex_) = false;
  std::thread::id caller_ AGENTCORE_GUARDED_BY(mutex_) = std::this_thread::get_id();
};

// True if this thread is to call the function.
bool Waker::Subscriber::begin() noexcept {
  const core::Lock lock(mutex_);
  again_ = running_;
  if (ended_ || running_) return false;
  running_ = true;
  caller_ = std::this_thread::get_id();
  return true;
}

bool Waker::Subscriber::is_to_be_repeated() noexcept {
  const core::Lock lock(mutex_);
  if (std::exchange(again_, false) && !ended_) return true;
  running_ = false;
  returned_.notify_all();
  return false;
}

bool Waker::Subscriber::call() noexcept {
  return !begin() || run();
}

bool Waker::Subscriber::start() noexcept {
  return !is_to_be_repeated() || run();
}

bool Waker::Subscriber::run() noexcept {
  bool threw = false;
  do {
    try {
      function_();
    } catch (...) {
      threw = true;
    }
  } while (is_to_be_repeated());
  return !threw;
}

void Waker::Subscriber::end() noexcept {
  std::function<void()> dropped;  // destroyed after the lock
  const core::Lock lock(mutex_);
  ended_ = true;
  // Within the function itself: it is destroyed with the last reference, when the call returns.
  if (running_ && caller_ == std::this_thread::get_id()) return;
  while (running_) returned_.wait(mutex_);
  dropped.swap(function_);
}

// Not inline: http destroys Wakers, too, and core does not export WakeSignal, whose destructor this calls.
Waker::~Waker() = default;

void Waker::notify() noexcept {
  assert(core::holds_no_mutex());
  if (!notified_.exchange(true, std::memory_order_seq_cst)) signal();
}

void Waker::signal() noexcept {
  std::shared_ptr<Subscriber> subscriber;
  {
    // Under the lock, so that close() cannot release the descriptor's number for another use in between.
    const core::Lock lock(mutex_);
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
  const core::Lock lock(mutex_);
  if (std::exchange(written_, false)) signal_.clear();
}

Subscription Waker::on_wake(std::function<void()> wake) {
  if (closed_ || !wake) return Subscription();
  auto added = std::make_shared<Subscriber>(std::move(wake));
  // Made before it is subscribed: if this throws, no subscriber without a Subscription remains.
  Subscription subscription([self = shared_from_this(), added] { self->end_subscription(added); });
  std::shared_ptr<Subscriber> replaced;
  {
    const core::Lock lock(mutex_);
    replaced = std::exchange(subscriber_, added);
  }
  if (replaced) replaced->end();  // before the other one runs: there is one subscriber at a time
  if (!added->start()) threw_ = true;
  return subscription;
}

void Waker::end_subscription(const std::shared_ptr<Subscriber>& subscriber) noexcept {
  std::shared_ptr<Subscriber> removed;
  {
    const core::Lock lock(mutex_);
    if (subscriber_ == subscriber) removed = std::exchange(subscriber_, nullptr);
  }
  subscriber->end();
}

int Waker::open(bool level) {
  if (closed_) return -1;
  const core::Lock lock(mutex_);
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
    const core::Lock lock(mutex_);
    removed = std::exchange(subscriber_, nullptr);
    signal_.close();
  }
  if (removed) removed->end();
}

}  // namespace agentcore::detail::loop
