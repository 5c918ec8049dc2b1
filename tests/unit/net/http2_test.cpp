#include "net/http2.hpp"

#include "support/catch.hpp"

#include <curl/curl.h>

using agentcore::detail::net::speaks_http2;

TEST_CASE("HTTP/2 is used only with a libcurl that resets streams in time", "[net][G6]") {
  CHECK(speaks_http2(0x080f00, CURL_VERSION_HTTP2 | CURL_VERSION_SSL));
  CHECK(speaks_http2(0x090000, CURL_VERSION_HTTP2));
  CHECK_FALSE(speaks_http2(0x080eff, CURL_VERSION_HTTP2));
  CHECK_FALSE(speaks_http2(0x075801, CURL_VERSION_HTTP2));
  CHECK_FALSE(speaks_http2(0x080f00, CURL_VERSION_SSL));
}
