// Where a URL leads, as a message may name it.
#pragma once

#include <string>

namespace agentcore::net {

// "https://host:443/path": scheme, host, port and path, the latter shortened. User, password, query and
// fragment are left out: they may hold credentials. Empty when it is no URL.
std::string location_of(const std::string& url);

}  // namespace agentcore::net
