// The options of libcurl's easy handle for one request.
#pragma once

#include "net/transport.hpp"

#include <curl/curl.h>

namespace agentcore::detail::net {

struct EasyOptions {
  bool http2 = false;             // allowed, if the server agrees
  bool fresh_connection = false;  // no kept connection is searched
  bool keep_connection = true;    // for later transfers, when this one has ended
  curl_slist* headers = nullptr;  // from make_headers()
  char* error_buffer = nullptr;   // of CURL_ERROR_SIZE bytes
};

// The header lines of a request, in libcurl's form. To be freed with wipe_and_free().
curl_slist* make_headers(const HttpRequest& request);
// One of the headers holds the key.
void wipe_and_free(curl_slist* headers) noexcept;

// Sets all options that do not depend on a callback. `request`, the headers and the error buffer must outlive
// the transfer, or be taken out of the handle before.
CURLcode set_options(CURL* easy, const HttpRequest& request, const EasyOptions& options);

}  // namespace agentcore::detail::net
