// What libcurl's result codes mean to us.
#pragma once

#include <agentcore/error.hpp>

#include <string>
#include <string_view>

#include <curl/curl.h>

namespace agentcore::net {

// CURLE_OK is Errc::none. What is left over is network_error: something between us and the server.
Errc to_errc(CURLcode result) noexcept;

// Whether the connection broke in TLS's handshake: libcurl has one name for that and for all else that goes
// wrong there.
bool is_cut_handshake(CURLcode result, std::string_view detail) noexcept;

// True for failures before there was any talk of HTTP: only then is libcurl's own detail (a certificate
// problem, a refused connection) sure to quote nothing of the exchange. Nor may it quote a proxy's address,
// which the environment may have given a password.
bool detail_is_safe(CURLcode result, std::string_view detail) noexcept;

// "host:port" of a URL; empty when it is none. User, password, path and query are left out.
std::string host_and_port(const char* url);

}  // namespace agentcore::net
