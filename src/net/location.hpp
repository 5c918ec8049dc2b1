// The address of a URL in the form for error messages.
#pragma once

#include <string>

namespace agentcore::detail::net {

// "https://host:443/path": scheme, host, port and path. A long path is cut behind a '/', so that no part of a
// segment is visible, which may be a credential. User, password, query and fragment are left out: they may
// hold credentials. Empty when `url` is not a URL.
std::string location_of(const std::string& url);

}  // namespace agentcore::detail::net
