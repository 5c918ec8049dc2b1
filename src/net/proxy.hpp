// The address of a proxy.
#pragma once

#include <string>

namespace agentcore::net {

// False when libcurl would not know what to do with it. Its own errors quote such an address, with the
// password in it.
bool is_proxy_address(const std::string& address);

}  // namespace agentcore::net
