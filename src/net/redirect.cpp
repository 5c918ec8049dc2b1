#include "net/redirect.hpp"

#include "net/ascii.hpp"
#include "net/location.hpp"

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include <curl/curl.h>

namespace agentcore::detail::net {

namespace {

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

// "user", "password", "scheme", "host", "port": the parts that must not change. The port is the default of
// the scheme when the URL has none.
using Origin = std::array<std::string, 5>;

std::string part(CURLU* url, CURLUPart what, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, what, &text, flags) != CURLUE_OK) return {};
  const std::unique_ptr<char, decltype(&curl_free)> owned(text, curl_free);
  return text;
}

Origin origin_of(CURLU* url) {
  return {part(url, CURLUPART_USER), part(url, CURLUPART_PASSWORD), lower(part(url, CURLUPART_SCHEME)),
          lower(part(url, CURLUPART_HOST)), part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT)};
}

// `location` may be relative to `url`.
Redirect resolve(const std::string& url, const std::string& location) {
  const Url parsed(curl_url(), curl_url_cleanup);
  if (parsed == nullptr || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return {};
  const Origin origin = origin_of(parsed.get());
  if (location.empty() || curl_url_set(parsed.get(), CURLUPART_URL, location.c_str(), 0) != CURLUE_OK)
    return {{}, "its Location is missing or not a URL", {}};
  std::string found = part(parsed.get(), CURLUPART_URL);
  std::string target = location_of(found);
  if (origin_of(parsed.get()) != origin)
    return {{}, "it leads to another scheme, host or port", std::move(target)};
  return {std::move(found), {}, std::move(target)};
}

}  // namespace

Redirect redirect_of(const HttpRequest& request, const HttpHead& head) {
  const bool keeps_method = head.status == 307 || head.status == 308;
  if (!keeps_method && (head.status < 301 || head.status > 303)) return {};
  Redirect redirect = resolve(request.url, std::string(head.field("location")));
  if (!keeps_method)
    redirect.refusal = "with this status a POST would become a GET";
  else if (request.max_redirects == 0)
    redirect.refusal = "it is one more than HttpLlmOptions::max_redirects allows";
  if (!redirect.refusal.empty()) redirect.url.clear();
  return redirect;
}

std::string refusal_of(const Redirect& redirect) {
  if (redirect.refusal.empty()) return {};
  const std::string to = redirect.target.empty() ? "" : " to " + redirect.target;
  return "the redirect" + to + " was not followed: " + std::string(redirect.refusal);
}

}  // namespace agentcore::detail::net
