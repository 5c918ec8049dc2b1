// What libcurl's result codes mean to us.
#pragma once

#include <agentcore/error.hpp>

#include <string_view>

#include <curl/curl.h>

namespace agentcore::net {

// CURLE_OK is Errc::none. What is left over is network_error: something between us and the server.
Errc to_errc(CURLcode result) noexcept;

// Whether the connection broke in TLS's handshake: libcurl has one name for that and for all else that goes
// wrong there.
bool is_cut_handshake(CURLcode result, std::string_view detail) noexcept;

}  // namespace agentcore::net
