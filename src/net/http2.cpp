#include "net/http2.hpp"

#include <curl/curl.h>

namespace agentcore::detail::net {

bool speaks_http2(unsigned version, int features) noexcept {
  return version >= 0x080f00 && (features & CURL_VERSION_HTTP2) != 0;
}

}  // namespace agentcore::detail::net
