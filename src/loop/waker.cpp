#include "loop/waker.hpp"

#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/eventfd.h>
#endif

namespace agentcore::detail::loop {

namespace {

// Two ends that may be one. False when the system has no descriptor left.
bool open_ends(int& read_end, int& write_end) noexcept {
#ifdef __linux__
  read_end = write_end = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return read_end >= 0;
#else
  int ends[2];
  if (::pipe(ends) != 0) return false;
  for (const int end : ends) {
    ::fcntl(end, F_SETFL, O_NONBLOCK);
    ::fcntl(end, F_SETFD, FD_CLOEXEC);
  }
  read_end = ends[0];
  write_end = ends[1];
  return true;
#endif
}

void close_ends(int& read_end, int& write_end) noexcept {
  if (write_end >= 0 && write_end != read_end) ::close(write_end);
  if (read_end >= 0) ::close(read_end);
  read_end = write_end = -1;
}

}  // namespace

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

Waker::~Waker() {
  close_ends(read_end_, write_end_);
}

void Waker::notify() noexcept {
  if (!notified_.exchange(true, std::memory_order_seq_cst)) signal();
}

void Waker::signal() noexcept {
  std::shared_ptr<Subscriber> subscriber;
  {
    // Under the lock, so that close() cannot release the descriptor's number for another use in between.
    const std::lock_guard lock(mutex_);
    write_descriptor();
    subscriber = subscriber_;
  }
  if (subscriber && !subscriber->call()) threw_ = true;
}

void Waker::write_descriptor() noexcept {
  if (write_end_ < 0 || written_) return;
  written_ = level_;
  const std::uint64_t one = 1;
  // Cannot fail but for a full counter or pipe, and then it is readable as it should be.
  [[maybe_unused]] const auto count = ::write(write_end_, &one, sizeof one);
}

void Waker::drain() noexcept {
  if (!level_) return;  // written by this thread only
  const std::lock_guard lock(mutex_);
  if (!std::exchange(written_, false)) return;
  std::uint64_t sink[8];
  while (::read(read_end_, sink, sizeof sink) == static_cast<ssize_t>(sizeof sink)) {
  }
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
  if (read_end_ >= 0) return read_end_;
  if (!open_ends(read_end_, write_end_)) return -1;
  level_ = level;
  // A notify() before this found no descriptor. During a poll that does not matter: its end looks for work
  // anyway.
  if (!polling_ && notified_.load(std::memory_order_seq_cst)) write_descriptor();
  return read_end_;
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
    close_ends(read_end_, write_end_);
  }
  if (removed) removed->end();
}

}  // namespace agentcore::detail::loop
