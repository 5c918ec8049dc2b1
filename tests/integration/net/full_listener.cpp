#include "support/wire/full_listener.hpp"

#include <fstream>
#include <ios>
#include <sstream>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace agentcore::test {

namespace {

bool is_connected(int descriptor) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length);
  return info.tcpi_state == TCP_ESTABLISHED;
}

}  // namespace

FullListener::FullListener() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  ::bind(listener_, reinterpret_cast<sockaddr*>(&address), length);
  ::listen(listener_, 0);
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  do {
    fillers_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    ::connect(fillers_.back(), reinterpret_cast<sockaddr*>(&address), length);
  } while (fillers_.size() < 100 && is_connected(fillers_.back()));
  // The one that found no place any more is not needed: it would look like the transfer under test.
  ::close(fillers_.back());
  fillers_.pop_back();
}

FullListener::~FullListener() {
  for (const int filler : fillers_) ::close(filler);
  ::close(listener_);
}

int FullListener::knocking() const {
  std::ifstream table("/proc/net/tcp");
  std::ostringstream wanted;
  wanted << "0100007F:" << std::uppercase << std::hex << port_;
  int count = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state;
    fields >> number >> local >> remote >> state;
    count += remote == wanted.str() && state == "02" ? 1 : 0;  // SYN_SENT
  }
  return count;
}

}  // namespace agentcore::test
