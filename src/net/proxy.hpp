// The address of a proxy.
#pragma once

#include <string>

namespace agentcore::detail::net {

// False when libcurl could not use the address. libcurl's own errors quote such an address with its password.
bool is_proxy_address(const std::string& address);

}  // namespace agentcore::detail::net
