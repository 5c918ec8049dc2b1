// Where an answer redirects to, and whether the request may be sent there.
#pragma once

#include "net/transport.hpp"

#include <string>
#include <string_view>

namespace agentcore::net {

// What is to be done about an answer. If `url` is not empty, the same request is sent there. Otherwise
// `refusal` says why the redirect is not followed; it is empty when the answer is no redirect. `target` is
// the address that the redirect names, as location_of() shows it; empty if it names none.
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
