// How a transfer ended: what happened, where, and what to change. Of the exchange itself nothing is quoted,
// and of libcurl's error texts only those that cannot quote it.
#include "net/curl_error.hpp"
#include "net/curl_transport.hpp"
#include "net/cut.hpp"
#include "net/location.hpp"
#include "net/transfer.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace agentcore::net {

namespace {

constexpr std::string_view check_base_url = "check HttpLlmOptions::base_url";
constexpr std::string_view again_advice =
    "send the message again; if this happens often, look for a time limit of the server or of a proxy before "
    "it";

std::string errno_text(int number) {
  return std::system_category().message(number);
}

// "10 s", "0.25 s"
std::string seconds_text(Duration time) {
  return fmt::format("{:g} s", std::chrono::duration<double>(time).count());
}

bool mentions_any(std::string_view text, std::initializer_list<std::string_view> phrases) noexcept {
  return std::any_of(phrases.begin(), phrases.end(),
                     [&](std::string_view phrase) { return text.find(phrase) != std::string_view::npos; });
}

// True for what a TLS library reports when a server answers the TLS handshake in plain text.
bool is_plain_answer(std::string_view detail) noexcept {
  return mentions_any(detail, {"wrong version number", "unexpected TLS packet", "packet length too long",
                               "http request", "unknown protocol", "record overflow"});
}

std::string tls_advice(CURLcode result, std::string_view detail, const std::string& ca_file) {
  const std::string now = ca_file.empty() ? "the system's certificates are used now" : "now " + ca_file;
  if (result == CURLE_SSL_CACERT_BADFILE)
    return fmt::format("HttpLlmOptions::ca_file must name a PEM bundle that can be read ({})", now);
  if (is_plain_answer(detail))
    return "the server seems to speak plain HTTP: write http:// in HttpLlmOptions::base_url, or its TLS port";
  if (result != CURLE_PEER_FAILED_VERIFICATION)
    return "check that the server speaks TLS 1.2 or later on this port";
  if (mentions_any(detail, {"subject name", "does not match"}))
    return "check the host in HttpLlmOptions::base_url";
  return fmt::format(
      "if an authority of your own has signed the server's certificate, name its PEM bundle in "
      "HttpLlmOptions::ca_file ({})",
      now);
}

bool is_broken_connection(CURLcode result) noexcept {
  switch (result) {
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

// True for the errno of a socket that could not be made for lack of descriptors or memory.
bool is_shortage(int number) noexcept {
  return number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM;
}

}  // namespace

HttpEnd Transfer::describe(CURLcode result) const {
  HttpEnd end = reason_of(result);
  end.request_sent = !deadlines.is_connecting();
  return end;
}

HttpEnd Transfer::reason_of(CURLcode result) const {
  if (cut->is_cut()) return {Errc::cancelled, "the transfer was stopped", status_};
  if (failure_ != Failure::none) return describe_failure();
  if (result == CURLE_OK) {
    if (status_ != 0) return {Errc::none, redirect_refusal_, status_};
    return {Errc::invalid_response, not_http(), 0};
  }
  long tunnel = 0;
  if (easy != nullptr) curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &tunnel);
  if (tunnel >= 300 && deadlines.is_connecting()) return describe_refused_tunnel(tunnel);
  Errc code = to_errc(result);
  // What libcurl calls an unsupported protocol is the address before, and the answer after the request was
  // sent. And a header line beyond its limit is a lack of memory to it, before 8.6.
  if (code == Errc::invalid_config && !deadlines.is_connecting()) code = Errc::invalid_response;
  if (is_cut_handshake(result, detail())) code = Errc::network_error;
  if (result == CURLE_OUT_OF_MEMORY && !deadlines.is_connecting()) code = Errc::response_too_large;
  return {code, deadlines.is_connecting() ? before_request(result, code) : after_request(result, code),
          status_};
}

// Why there was no connection, or none that could be used.
std::string Transfer::before_request(CURLcode result, Errc code) const {
  const std::string where = peer();
  if (is_shortage(socket_error_))
    return fmt::format(
        "no socket for a connection to {}: {}; allow this process more descriptors (ulimit -n), or make "
        "fewer calls at a time (CallLimits)",
        where, errno_text(socket_error_));
  if (result == CURLE_COULDNT_RESOLVE_PROXY)
    return fmt::format("the name of the proxy on the way to {} was not found; check HttpLlmOptions::proxy",
                       where);
  if (code == Errc::resolve_failed)
    return fmt::format("the name of the server was not found: {}; {} and the network", where, check_base_url);
  if (result == CURLE_COULDNT_CONNECT) return no_connection(where);
  if (code == Errc::tls_error)
    return fmt::format("no TLS connection to {}: {}{}{}; {}", where, curl_easy_strerror(result),
                       detail().empty() ? "" : ": ", detail(),
                       tls_advice(result, detail(), opening_ != nullptr ? opening_->request.ca_file : ""));
  if (code == Errc::network_error)
    return fmt::format("the connection to {} broke before the request was sent: {}; {}", where,
                       curl_easy_strerror(result), again_advice);
  if (code == Errc::invalid_config)
    return fmt::format("{} cannot be called: {}; {} and HttpLlmOptions::proxy", where,
                       curl_easy_strerror(result), check_base_url);
  return fmt::format("{}, on the way to {}", curl_easy_strerror(result), where);
}

// libcurl's detail names the host that did not answer: the server or a proxy.
std::string Transfer::no_connection(const std::string& where) const {
  long number = 0;
  if (easy != nullptr) curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
  const std::string why = number != 0 ? errno_text(static_cast<int>(number)) : "it could not be reached";
  std::string_view called = detail();
  constexpr std::string_view lead = "Failed to connect to ";
  called = called.starts_with(lead) ? called.substr(lead.size()) : std::string_view();
  called = called.substr(0, called.find(" after "));
  const std::string host(called.substr(0, called.find(" port ")));
  if (host.empty() || where.find("://" + host + ":") != std::string::npos ||
      where.find("://[" + host + "]:") != std::string::npos)
    return fmt::format("no connection to {}: {}; {}, and that the server runs", where, why, check_base_url);
  return fmt::format("no connection to the proxy {} on the way to {}: {}; check HttpLlmOptions::proxy",
                     called, where, why);
}

std::string Transfer::after_request(CURLcode result, Errc code) const {
  const std::string where = peer();
  if (is_broken_connection(result)) {
    long number = 0;
    if (easy != nullptr) curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
    const std::string why = number != 0 ? " (" + errno_text(static_cast<int>(number)) + ")" : std::string();
    if (status_ != 0)
      return fmt::format("the connection to {} broke{} before the answer was complete; {}", where, why,
                         again_advice);
    return fmt::format("the connection to {} broke{} before the answer began; {}{}", where, why, again_advice,
                       tls_hint());
  }
  switch (code) {
    case Errc::response_too_large:
      return fmt::format("a line in the head of the answer from {} is too long; {}", where, check_base_url);
    case Errc::invalid_response:
      if (result == CURLE_BAD_CONTENT_ENCODING || result == CURLE_WRITE_ERROR)
        return fmt::format(
            "the answer from {} cannot be decompressed; the server, or a proxy before it, is broken", where);
      return not_http();
    default:
      return fmt::format("{}, talking to {}; {}", curl_easy_strerror(result), where, again_advice);
  }
}

std::string Transfer::not_http() const {
  return fmt::format("what {} answered is not HTTP; {}{}", peer(), check_base_url, tls_hint());
}

// A TLS server answers a plain request with bytes that are not HTTP, or not at all.
std::string Transfer::tls_hint() const {
  return peer().starts_with("http://") ? "; if the server speaks TLS, write https:// there" : "";
}

std::string_view Transfer::detail() const noexcept {
  return opening_ != nullptr ? opening_->error.data() : "";
}

HttpEnd Transfer::describe_failure() const {
  const std::string where = peer();
  switch (failure_) {
    case Failure::too_large:
      return {Errc::response_too_large,
              fmt::format("the answer from {} is larger than {} bytes; if the server is to be trusted, raise "
                          "HttpLlmOptions::max_response_bytes",
                          where, limit_),
              status_};
    case Failure::head_too_large:
      return {Errc::response_too_large,
              fmt::format("the head of the answer from {} is larger than 128 KiB; {}", where, check_base_url),
              status_};
    case Failure::unknown_coding:
      return {Errc::invalid_response,
              fmt::format("the answer from {} is coded in a way that was not offered; the server, or a proxy "
                          "before it, is broken",
                          where),
              status_};
    case Failure::absurd_length:
      return {Errc::invalid_response,
              fmt::format("the answer from {} announces a length beyond all numbers; the server, or a proxy "
                          "before it, is broken",
                          where),
              status_};
    case Failure::receiver_threw:
      return {Errc::callback_failed,
              fmt::format("the receiver of the answer from {} threw; its message is in the log", where),
              status_};
    case Failure::unwatched:
      return {Errc::network_error,
              fmt::format("the system refuses to watch the socket to {}: it has too little memory, or "
                          "fs.epoll.max_user_watches is used up",
                          where),
              status_};
    case Failure::bad_proxy:
      return {Errc::invalid_config,
              fmt::format("HttpLlmOptions::proxy is no address of a proxy, on the way to {}; write "
                          "http://host:port, or none",
                          where),
              status_};
    default:
      return {Errc::invalid_response, fmt::format("the answer from {} was refused by its receiver", where),
              status_};
  }
}

// 407: the proxy wants credentials, or other ones. Any other refusal may be temporary.
HttpEnd Transfer::describe_refused_tunnel(long status) const {
  const bool wants_password = status == 407;
  return {wants_password ? Errc::invalid_config : Errc::network_error,
          fmt::format("the proxy refused the way to {} with HTTP {}; {}", peer(), status,
                      wants_password ? "it wants a user and a password in HttpLlmOptions::proxy "
                                       "(http://user:password@host:port)"
                                     : "check HttpLlmOptions::proxy, and what the proxy allows"),
          0};
}

HttpEnd Transfer::describe_timeout() const {
  if (cut->is_cut()) return describe(CURLE_OK);
  const Errc code = deadlines.code();
  const std::string where = peer();
  const std::string time = seconds_text(deadlines.limit());
  const auto text = [&] {
    switch (code) {
      case Errc::connect_timeout:
        return fmt::format(
            "no connection to {} within {}; {} and the network, or raise HttpLlmOptions::connect_timeout",
            where, time, check_base_url);
      case Errc::first_byte_timeout:
        return fmt::format(
            "no answer from {} within {}; if the model may think longer, raise "
            "HttpLlmOptions::first_byte_timeout",
            where, time);
      case Errc::total_timeout:
        return fmt::format(
            "no whole answer from {} within {}; if a call may take longer, raise "
            "HttpLlmOptions::total_timeout",
            where, time);
      case Errc::deadline_exceeded:
        return fmt::format(
            "no whole answer from {} before the caller's deadline; if a call may take longer, set a later "
            "ChatRequest::deadline",
            where);
      default:
        return fmt::format(
            "the answer from {} fell silent for {}; if the model may pause longer, raise "
            "HttpLlmOptions::stall_timeout",
            where, time);
    }
  };
  return {code, text(), status_, !deadlines.is_connecting()};
}

std::string Transfer::peer() const {
  const char* url = nullptr;
  if (easy != nullptr) curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
  const bool is_set = url != nullptr && *url != '\0';  // it may be missing before the transfer begins
  if (!is_set && opening_ != nullptr) url = opening_->request.url.c_str();
  std::string text = url != nullptr ? location_of(url) : std::string();
  return text.empty() ? "the server" : text;
}

}  // namespace agentcore::net
