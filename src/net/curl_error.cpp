#include "net/curl_error.hpp"

namespace agentcore::detail::net {

namespace {

constexpr int too_large = 100;  // CURLE_TOO_LARGE, which the headers define from 8.6 on

}  // namespace

Errc to_errc(CURLcode result) noexcept {
  if (static_cast<int>(result) == too_large) return Errc::response_too_large;
  switch (result) {
    case CURLE_OK:
      return Errc::none;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return Errc::resolve_failed;
    case CURLE_OPERATION_TIMEDOUT:  // none of libcurl's own timeouts is set but one it needs to connect
      return Errc::connect_timeout;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_USE_SSL_FAILED:
      return Errc::tls_error;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_UNKNOWN_OPTION:
    case CURLE_NOT_BUILT_IN:
      return Errc::invalid_config;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_WRITE_ERROR:  // a decoder received more than its data: our own errors are detected before
      return Errc::invalid_response;
    default:
      return Errc::network_error;
  }
}

bool is_cut_handshake(CURLcode result, std::string_view detail) noexcept {
  if (result != CURLE_SSL_CONNECT_ERROR) return false;
  for (const char* sign : {"Connection reset", "Broken pipe", "Send failure", "Recv failure",
                           "SSL_ERROR_SYSCALL", "unexpected eof", "non-properly terminated"})
    if (detail.find(sign) != std::string_view::npos) return true;
  return false;
}

}  // namespace agentcore::detail::net
