// Where an answer redirects to, and whether the request may be sent there.
#pragma once

#include "net/transport.hpp"

#include <string>
#include <string_view>

namespace agentcore::net {

// The same request goes to `url`; empty: nowhere. Then `refusal` says why a redirect is not followed, and is
// empty when the answer is none; `target` is where it leads, as location_of() shows it, if it says so.
struct Redirect {
  std::string url = {};
  std::string_view refusal = {};
  std::string target = {};
};

// Followed are 307 and 308, within one origin: scheme, host and port, and a user name if there is one. What
// the request carries (a key in a header, a prompt in its body) is meant for that origin alone. The other
// redirects would make a GET of a POST.
Redirect redirect_of(const HttpRequest& request, const HttpHead& head);

// "the redirect to TARGET was not followed: REFUSAL"; empty when nothing was refused.
std::string refusal_of(const Redirect& redirect);

}  // namespace agentcore::net
