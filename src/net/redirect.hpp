// Where an answer redirects to, and whether the request may be sent there.
#pragma once

#include "net/transport.hpp"

#include <string>
#include <string_view>

namespace agentcore::detail::net {

// The decision about an answer. If `url` is not empty, the same request is sent to it. Otherwise `refusal` is
// the reason why the redirect is not followed; it is empty when the answer is not a redirect. `target` is the
// redirect's address, in the form of location_of(); empty if it has none.
struct Redirect {
  std::string url = {};
  std::string_view refusal = {};
  std::string target = {};
};

// 307 and 308 are followed, within one origin: scheme, host and port, and a user name if there is one. The
// contents of the request (a key in a header, a prompt in its body) are meant for that origin alone. The
// other redirects would change POST to GET.
Redirect redirect_of(const HttpRequest& request, const HttpHead& head);

// "the redirect to TARGET was not followed: REFUSAL"; empty when nothing was refused.
std::string refusal_of(const Redirect& redirect);

}  // namespace agentcore::detail::net
