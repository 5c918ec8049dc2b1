#include "core/home_process.hpp"
#include "core/mutex.hpp"
#include "core/validate.hpp"
#include "core/without_exceptions.hpp"

#include <agentcore/executor.hpp>

#include <algorithm>
#include <cassert>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

namespace agentcore {

// A job may run any code, also in its destructor, so it is neither run nor destroyed under the lock.
struct ThreadPool::Impl {
  detail::core::HomeProcess home;
  detail::core::Mutex mutex;
  detail::core::Condition changed;
  std::deque<std::function<void()>> jobs AGENTCORE_GUARDED_BY(mutex);
  bool closed AGENTCORE_GUARDED_BY(mutex) = false;
  std::vector<std::thread> threads;

  void work() noexcept;
  std::function<void()> next();
  void close() noexcept;
};

// Waits for the next job; empty when the pool is closed.
std::function<void()> ThreadPool::Impl::next() {
  const detail::core::Lock lock(mutex);
  while (!closed && jobs.empty()) changed.wait(mutex);
  if (closed) return nullptr;
  auto job = std::move(jobs.front());
  jobs.pop_front();
  return job;
}

void ThreadPool::Impl::work() noexcept {
  while (const auto job = next()) {
    try {
      job();
    } catch (...) {  // there is no caller: the job has to catch its exceptions
    }
  }
}

void ThreadPool::Impl::close() noexcept {
  std::deque<std::function<void()>> dropped;
  {
    const detail::core::Lock lock(mutex);
    closed = true;
    dropped.swap(jobs);
  }
  changed.notify_all();
  dropped.clear();  // before the wait: destroying a job reports to its waiter that it will not run
  for (auto& thread : threads) thread.join();
}

ThreadPool::ThreadPool(std::size_t threads) : impl_(std::make_unique<Impl>()) {
  detail::core::Validation("ThreadPool").count("threads", threads, 1, 1024).raise();
  impl_->threads.reserve(threads);
  try {
    while (impl_->threads.size() < threads)
      impl_->threads.emplace_back([impl = impl_.get()] { impl->work(); });
  } catch (...) {
    impl_->close();
    throw;
  }
}

Result<std::unique_ptr<ThreadPool>> ThreadPool::make(std::size_t threads) {
  return detail::core::make<ThreadPool>(threads);
}

ThreadPool::~ThreadPool() {
  assert(std::ranges::none_of(impl_->threads, [](const std::thread& thread) {
    return thread.get_id() == std::this_thread::get_id();
  }));
  // A forked child has no such threads, and waits for none.
  if (impl_->home.is_left()) {
    static_cast<void>(impl_.release());
    return;
  }
  impl_->close();
}

void ThreadPool::submit(std::function<void()> job) {
  detail::core::require_function(job != nullptr, "ThreadPool::submit: job");
  {
    const detail::core::Lock lock(impl_->mutex);
    if (impl_->closed) return;  // the parameter is destroyed after the lock
    impl_->jobs.push_back(std::move(job));
  }
  impl_->changed.notify_one();
}

std::size_t ThreadPool::queued() const {
  const detail::core::Lock lock(impl_->mutex);
  return impl_->jobs.size();
}

}  // namespace agentcore
