// An address that never answers a connection attempt.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace agentcore::test {

// A listener whose queue is full: the kernel drops connection attempts, which neither succeed nor fail.
class FullListener {
 public:
  FullListener();
  ~FullListener();
  FullListener(const FullListener&) = delete;
  FullListener& operator=(const FullListener&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }

  // Sockets of this machine that try to connect at this moment.
  int knocking() const;

 private:
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<int> fillers_;
};

}  // namespace agentcore::test
