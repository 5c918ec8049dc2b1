// CurlLibrary: keeps libcurl initialized.
#pragma once

#include <curl/curl.h>

namespace agentcore::detail::net {

// libcurl counts: the first one initializes it and the TLS library, the last one cleans up, and other users
// of libcurl in the process do not matter.
class CurlLibrary {
 public:
  CurlLibrary() { curl_global_init(CURL_GLOBAL_DEFAULT); }
  ~CurlLibrary() { curl_global_cleanup(); }
  CurlLibrary(const CurlLibrary&) = delete;
  CurlLibrary& operator=(const CurlLibrary&) = delete;
};

}  // namespace agentcore::detail::net
