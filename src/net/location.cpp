#include "net/location.hpp"

#include <memory>

#include <curl/curl.h>

namespace agentcore::detail::net {

namespace {

constexpr std::size_t longest_path = 200;  // bytes

}  // namespace

std::string location_of(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), curl_url_cleanup);
  if (parsed == nullptr || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return {};
  const auto part = [&](CURLUPart what) {
    char* text = nullptr;
    if (curl_url_get(parsed.get(), what, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return std::string();
    const std::unique_ptr<char, decltype(&curl_free)> owned(text, curl_free);
    return std::string(text);
  };
  std::string path = part(CURLUPART_PATH);
  if (path.size() > longest_path)
    path.replace(path.rfind('/', longest_path - 1) + 1, std::string::npos, "...");
  return part(CURLUPART_SCHEME) + "://" + part(CURLUPART_HOST) + ":" + part(CURLUPART_PORT) + path;
}

}  // namespace agentcore::detail::net
