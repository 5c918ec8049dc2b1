#include "console/routes/access.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include <sys/random.h>

namespace agentcore::detail::console {
namespace {

constexpr std::size_t max_logins = 100;
constexpr Duration login_lasts = std::chrono::hours(12);

// Takes the same time wherever two texts of the same length differ.
bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

std::string random_id() {
  unsigned char bytes[32];
  if (::getentropy(bytes, sizeof bytes) != 0) throw std::runtime_error("the system has no random numbers");
  std::string id;
  for (const unsigned char byte : bytes) {
    id += "0123456789abcdef"[byte >> 4];
    id += "0123456789abcdef"[byte & 15];
  }
  return id;
}

std::string cookie(const std::string& name, std::string_view value, std::string_view age) {
  return std::string(name)
      .append("=")
      .append(value)
      .append("; Path=/; HttpOnly; SameSite=Strict; Max-Age=")
      .append(age);
}

Response forbidden(std::string_view code, std::string_view message) {
  return Response::error(403, code, message);
}

}  // namespace

bool is_loopback(std::string_view address) noexcept {
  return address == "::1" || address.starts_with("127.");
}

Access::Access(std::string token, const std::vector<std::string>& names) : token_(std::move(token)) {
  for (const std::string& name : names) names_.push_back(lower_case(name));
}

void Access::set_address(const std::string& address, std::uint16_t port) {
  own_name_ = lower_case(address.find(':') == std::string::npos ? address : "[" + address + "]");
  port_ = port;
  cookie_ = "agentcore_session_" + std::to_string(port);
}

// `host`: "localhost:8080". The port counts, because another program of this machine may have another one.
bool Access::is_own_name(std::string_view host) const {
  const std::string text = lower_case(host);
  const std::size_t colon = text.rfind(':');
  const bool has_port = colon != std::string::npos && text.find(']', colon) == std::string::npos;
  const std::string name = has_port ? text.substr(0, colon) : text;
  const std::string port = has_port ? text.substr(colon + 1) : "80";
  // Behind a proxy, the name is that of the proxy, and so is the port.
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) return true;
  if (port != std::to_string(port_)) return false;
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]" || name == own_name_;
}

std::optional<Response> Access::refuse_origin(const Request& request) const {
  const std::string* const host = request.header("host");
  if (host == nullptr || request.count_header("host") != 1 || !is_own_name(*host))
    return forbidden("forbidden_host",
                     "the header Host does not name this console; further names: ConsoleOptions::host_names");
  const std::string* const origin = request.header("origin");
  if (origin == nullptr) return std::nullopt;
  std::string_view site = *origin;
  for (const std::string_view scheme : {"http://", "https://"})
    if (site.starts_with(scheme)) site.remove_prefix(scheme.size());
  if (lower_case(site) != lower_case(*host))
    return forbidden("forbidden_origin", "the request comes from a page of another site");
  return std::nullopt;
}

bool Access::is_logged_in(const Request& request, TimePoint now) const {
  if (token_.empty()) return true;
  if (const std::string* const header = request.header("authorization")) {
    constexpr std::string_view scheme = "bearer ";
    if (header->size() > scheme.size() && lower_case(header->substr(0, scheme.size())) == scheme &&
        equal_in_constant_time(std::string_view(*header).substr(scheme.size()), token_))
      return true;
  }
  const std::string_view id = request.cookie(cookie_);
  return !id.empty() && std::any_of(logins_.begin(), logins_.end(), [&](const Login& login) {
    return now < login.until && equal_in_constant_time(login.id, id);
  });
}

std::string Access::log_in(std::string_view token, TimePoint now) {
  if (token_.empty() || !equal_in_constant_time(token, token_)) return {};
  std::erase_if(logins_, [&](const Login& login) { return now >= login.until; });
  if (logins_.size() >= max_logins) logins_.pop_front();
  logins_.push_back({random_id(), now + login_lasts});
  return cookie(cookie_, logins_.back().id,
                std::to_string(std::chrono::duration_cast<std::chrono::seconds>(login_lasts).count()));
}

std::string Access::log_out(const Request& request) {
  const std::string_view id = request.cookie(cookie_);
  std::erase_if(logins_, [&](const Login& login) { return equal_in_constant_time(login.id, id); });
  return cookie(cookie_, "", "0");
}

}  // namespace agentcore::detail::console
