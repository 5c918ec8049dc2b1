#include "net/proxy.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include <curl/curl.h>

namespace agentcore::detail::net {

bool is_proxy_address(const std::string& address) {
  constexpr std::array<std::string_view, 6> schemes = {"http",    "https",  "socks4",
                                                       "socks4a", "socks5", "socks5h"};
  constexpr unsigned flags = CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME;
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), curl_url_cleanup);
  char* text = nullptr;
  if (url == nullptr || curl_url_set(url.get(), CURLUPART_URL, address.c_str(), flags) != CURLUE_OK ||
      curl_url_get(url.get(), CURLUPART_SCHEME, &text, 0) != CURLUE_OK)
    return false;
  const std::unique_ptr<char, decltype(&curl_free)> scheme(text, curl_free);
  // Without a scheme libcurl guesses the protocol by the host name: a missing scheme is not an error.
  return address.find("://") == std::string::npos ||
         std::find(schemes.begin(), schemes.end(), std::string_view(text)) != schemes.end();
}

}  // namespace agentcore::detail::net
