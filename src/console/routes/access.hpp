// Access: who may use the console.
#pragma once

#include "console/http/request.hpp"
#include "console/http/response.hpp"

#include <agentcore/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::console {

// Three checks, for every request:
// 1. Host names this console. A page of another site whose name was bound to our address (DNS rebinding)
// sends
//    its own name.
// 2. Origin, if there is one, is this console: a page of another site cannot send a stop.
// 3. With a token: the request has it (Authorization: Bearer), or the cookie of a login.
// @loop_thread
class Access {
 public:
  // `names`: further names that a Host may have. An empty `token`: none is needed.
  Access(std::string token, const std::vector<std::string>& names);

  // Where the console listens. Called once, before the first request.
  void set_address(const std::string& address, std::uint16_t port);

  bool needs_token() const noexcept { return !token_.empty(); }
  const std::string& cookie_name() const noexcept { return cookie_; }
  // The answer to a request that did not come from this console, or names another host. Empty: it did.
  std::optional<Response> refuse_origin(const Request& request) const;
  // True if no token is needed, or the request has it, or has the cookie of a login.
  bool is_logged_in(const Request& request, TimePoint now) const;

  // Checks a token. Returns the value of the header Set-Cookie; empty: it is not the token.
  std::string log_in(std::string_view token, TimePoint now);
  // Ends the login of the request. Returns the value of the header Set-Cookie.
  std::string log_out(const Request& request);

 private:
  struct Login {
    std::string id;
    TimePoint until;
  };

  bool is_own_name(std::string_view host) const;

  const std::string token_;
  std::vector<std::string> names_;  // in lower case, as own_name_ is
  std::string own_name_;            // the address, as it is in a URL
  std::uint16_t port_ = 0;
  std::string cookie_;        // its name; a browser sends the cookies of all ports of a host
  std::deque<Login> logins_;  // the oldest first
};

// True if `address` is reachable from this machine alone.
bool is_loopback(std::string_view address) noexcept;

}  // namespace agentcore::detail::console
