// Decides whether HTTP/2 is used.
#pragma once

namespace agentcore::detail::net {

// `version` and `features` as in curl_version_info_data, of the libcurl at run time. One before 8.15 resets
// the stream of a removed handle late or never, so that a stop would not reach the server.
bool speaks_http2(unsigned version, int features) noexcept;

}  // namespace agentcore::detail::net
