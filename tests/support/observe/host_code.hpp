// HostCode, LibraryCode: whose code runs on this thread. Allocations that are to fail (FailingAllocation) are
// those of the library: code of the host within it says that it is such.
#pragma once

#include <utility>

namespace agentcore::test {

inline thread_local bool runs_host_code = false;

class HostCode {
 public:
  HostCode() noexcept : before_(std::exchange(runs_host_code, true)) {}
  ~HostCode() { runs_host_code = before_; }
  HostCode(const HostCode&) = delete;
  HostCode& operator=(const HostCode&) = delete;

 private:
  const bool before_;
};

class LibraryCode {
 public:
  LibraryCode() noexcept : before_(std::exchange(runs_host_code, false)) {}
  ~LibraryCode() { runs_host_code = before_; }
  LibraryCode(const LibraryCode&) = delete;
  LibraryCode& operator=(const LibraryCode&) = delete;

 private:
  const bool before_;
};

}  // namespace agentcore::test
