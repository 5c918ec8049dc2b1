// Uses up the process's descriptors.
#pragma once

#include <algorithm>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

namespace agentcore::test {

// Until it is destroyed, the process can open no descriptors but as many as release() closes.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit lowered = before_;
    lowered.rlim_cur = std::min<rlim_t>(before_.rlim_cur, 256);
    ::setrlimit(RLIMIT_NOFILE, &lowered);
    for (int taken = ::dup(STDERR_FILENO); taken >= 0; taken = ::dup(STDERR_FILENO)) taken_.push_back(taken);
  }
  ~NoDescriptors() {
    release(static_cast<int>(taken_.size()));
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

  void release(int count) {
    for (; count > 0 && !taken_.empty(); --count) {
      ::close(taken_.back());
      taken_.pop_back();
    }
  }

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

}  // namespace agentcore::test
