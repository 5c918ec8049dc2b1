// Makes the system refuse to watch descriptors.
#pragma once

#include "loop/engine.hpp"

#include <agentcore/runtime.hpp>

#include <array>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace agentcore::test {

// Between on() and off() every epoll_ctl() of the Runtime fails, as if fs.epoll.max_user_watches were used
// up: the number of its epoll descriptor is given to another file. The Runtime must have the epoll backend,
// and must not have opened a descriptor yet.
class RefusedWatches final : detail::loop::IoHandler {
 public:
  explicit RefusedWatches(Runtime& runtime) : engine_(detail::loop::engine_of(runtime)) {
    const std::set<int> before = epolls();
    if (::pipe2(pipe_.data(), O_CLOEXEC) != 0 ||
        engine_->watch(pipe_[0], detail::loop::IoEvents::readable, *this))
      throw std::runtime_error("the pipe cannot be watched");
    for (const int found : epolls())
      if (!before.contains(found)) epoll_ = found;
    if (epoll_ < 0) throw std::runtime_error("the Runtime opened no epoll descriptor");
    saved_ = ::dup(epoll_);
  }
  ~RefusedWatches() {
    off();
    engine_->unwatch(pipe_[0]);
    for (const int descriptor : {pipe_[0], pipe_[1], saved_}) ::close(descriptor);
  }
  RefusedWatches(const RefusedWatches&) = delete;
  RefusedWatches& operator=(const RefusedWatches&) = delete;

  void on() { ::dup3(pipe_[1], epoll_, O_CLOEXEC); }
  void off() { ::dup3(saved_, epoll_, O_CLOEXEC); }

 private:
  void on_io(int, detail::loop::IoEvents) override {}

  static std::set<int> epolls() {
    std::set<int> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
      if (std::filesystem::read_symlink(entry, error) == "anon_inode:[eventpoll]")
        found.insert(std::stoi(entry.path().filename()));
    return found;
  }

  std::shared_ptr<detail::loop::Engine> engine_;
  std::array<int, 2> pipe_{-1, -1};
  int epoll_ = -1;
  int saved_ = -1;
};

}  // namespace agentcore::test
