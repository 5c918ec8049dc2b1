#include "net/redirect.hpp"

#include "net/ascii.hpp"

#include <array>
#include <memory>
#include <optional>

#include <curl/curl.h>

namespace agentcore::net {

namespace {

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

// "user", "password", "scheme", "host", "port": what must not change. The port is the scheme's own when the
// URL names none.
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
    return {{}, "the redirect was not followed: it does not say where to"};
  if (origin_of(parsed.get()) != origin)
    return {{}, "the redirect was not followed: it leads to another scheme, host or port"};
  return {part(parsed.get(), CURLUPART_URL), {}};
}

}  // namespace

Redirect redirect_of(const HttpRequest& request, const HttpHead& head) {
  switch (head.status) {
    case 301:
    case 302:
    case 303:
      return {{}, "the redirect was not followed: with this status a POST would become a GET"};
    case 307:
    case 308:
      if (request.max_redirects == 0) return {{}, "the redirect was not followed: there were too many"};
      return resolve(request.url, std::string(head.field("location")));
    default:
      return {};
  }
}

}  // namespace agentcore::net
