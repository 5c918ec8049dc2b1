// Converts libcurl's result codes to error codes.
#pragma once

#include <agentcore/error.hpp>

#include <string_view>

#include <curl/curl.h>

namespace agentcore::detail::net {

// CURLE_OK is Errc::none. Any other result is network_error: a fault between this process and the server.
Errc to_errc(CURLcode result) noexcept;

// True when the connection broke in the TLS handshake: libcurl has one code for this and all other faults of
// a handshake.
bool is_cut_handshake(CURLcode result, std::string_view detail) noexcept;

}  // namespace agentcore::detail::net
