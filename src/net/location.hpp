// The address of a URL, as an error message may show it.
#pragma once

#include <string>

namespace agentcore::net {

// "https://host:443/path": scheme, host, port and path. A long path is cut behind a '/', so that no half of a
// segment shows, which may be a credential. User, password, query and fragment are left out: they may hold
// credentials. Empty when `url` is no URL.
std::string location_of(const std::string& url);

}  // namespace agentcore::net
