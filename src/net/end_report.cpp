#include "net/end_report.hpp"

#include "net/curl_error.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <initializer_list>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace agentcore::detail::net {

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

// True for the errors that TLS libraries report when a server answers the TLS handshake in plain text.
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

// A TLS server answers a plain request with bytes that are not HTTP, or not at all.
std::string tls_hint(const EndFacts& facts) {
  return facts.peer.starts_with("http://")
             ? "; if the server speaks TLS, write https:// in HttpLlmOptions::base_url"
             : "";
}

std::string not_http(const EndFacts& facts) {
  return fmt::format("the answer from {} is not HTTP; {}{}", facts.peer, check_base_url, tls_hint(facts));
}

// The proxy that did not answer, as libcurl's detail names it; empty: the server itself did not answer. What
// follows "Failed to connect to " is in 7.88 "HOST port PORT after", where HOST is the server or the proxy,
// in 8.17 "SERVER port PORT via PROXY after", and in 8.22 "SERVER:PORT over proxy PROXY after".
std::string_view silent_proxy(std::string_view detail, const std::string& where) {
  constexpr std::string_view lead = "Failed to connect to ";
  if (!detail.starts_with(lead)) return {};
  const std::string_view called = detail.substr(lead.size(), detail.find(" after ") - lead.size());
  for (const std::string_view before_proxy : {" over proxy ", " via "})
    if (const auto at = called.find(before_proxy); at != std::string_view::npos)
      return called.substr(at + before_proxy.size());
  const auto port = called.find(" port ");
  const std::string host(called.substr(0, port != std::string_view::npos ? port : called.rfind(':')));
  const bool is_server = where.find("://" + host + ":") != std::string::npos ||
                         where.find("://[" + host + "]:") != std::string::npos;
  return is_server ? std::string_view() : called;
}

std::string no_connection(const EndFacts& facts) {
  const std::string& where = facts.peer;
  const std::string why = facts.os_error != 0 ? errno_text(facts.os_error) : "it could not be reached";
  const std::string_view proxy = silent_proxy(facts.detail, where);
  if (proxy.empty())
    return fmt::format("no connection to {}: {}; {}, and that the server runs", where, why, check_base_url);
  return fmt::format("no connection to the proxy {} on the way to {}: {}; check HttpLlmOptions::proxy", proxy,
                     where, why);
}

// Why there was no connection, or none that could be used.
std::string before_request(const EndFacts& facts, Errc code) {
  const std::string& where = facts.peer;
  const char* const said = curl_easy_strerror(facts.result);
  if (is_shortage(facts.socket_error))
    return fmt::format(
        "no socket for a connection to {}: {}; allow this process more descriptors (ulimit -n), or make "
        "fewer calls at a time (CallLimits)",
        where, errno_text(facts.socket_error));
  if (facts.result == CURLE_COULDNT_RESOLVE_PROXY)
    return fmt::format("the name of the proxy on the way to {} was not found; check HttpLlmOptions::proxy",
                       where);
  if (code == Errc::resolve_failed)
    return fmt::format("the name of the server was not found: {}; {} and the network", where, check_base_url);
  if (facts.result == CURLE_COULDNT_CONNECT) return no_connection(facts);
  if (code == Errc::tls_error)
    return fmt::format("no TLS connection to {}: {}{}{}; {}", where, said, facts.detail.empty() ? "" : ": ",
                       facts.detail, tls_advice(facts.result, facts.detail, facts.ca_file));
  if (code == Errc::network_error)
    return fmt::format("the connection to {} broke before the request was sent: {}; {}", where, said,
                       again_advice);
  if (code == Errc::invalid_config)
    return fmt::format("{} cannot be called: {}; {} and HttpLlmOptions::proxy", where, said, check_base_url);
  return fmt::format("{}, on the way to {}", said, where);
}

std::string broken_connection(const EndFacts& facts) {
  const std::string why =
      facts.os_error != 0 ? fmt::format(" ({})", errno_text(facts.os_error)) : std::string();
  if (facts.status != 0)
    return fmt::format("the connection to {} broke{} before the answer was complete; {}", facts.peer, why,
                       again_advice);
  return fmt::format("the connection to {} broke{} before the answer began; {}{}", facts.peer, why,
                     again_advice, tls_hint(facts));
}

std::string after_request(const EndFacts& facts, Errc code) {
  if (is_broken_connection(facts.result)) return broken_connection(facts);
  switch (code) {
    case Errc::response_too_large:
      return fmt::format("a line in the head of the answer from {} is too long; {}", facts.peer,
                         check_base_url);
    case Errc::invalid_response:
      if (facts.result == CURLE_BAD_CONTENT_ENCODING || facts.result == CURLE_WRITE_ERROR)
        return fmt::format(
            "the answer from {} cannot be decompressed; the server, or a proxy before it, is broken",
            facts.peer);
      return not_http(facts);
    default:
      return fmt::format("{}, in the exchange with {}; {}", curl_easy_strerror(facts.result), facts.peer,
                         again_advice);
  }
}

Errc code_of(Failure failure) noexcept {
  switch (failure) {
    case Failure::too_large:
    case Failure::head_too_large:
      return Errc::response_too_large;
    case Failure::handler_threw:
      return Errc::callback_failed;
    case Failure::unwatched:
      return Errc::network_error;
    case Failure::bad_proxy:
      return Errc::invalid_config;
    default:
      return Errc::invalid_response;
  }
}

std::string text_of(const EndFacts& facts) {
  switch (facts.failure) {
    case Failure::too_large:
      return fmt::format(
          "the answer from {} is larger than {} bytes; if the server can be trusted, raise "
          "HttpLlmOptions::max_response_bytes",
          facts.peer, facts.max_bytes);
    case Failure::head_too_large:
      return fmt::format("the head of the answer from {} is larger than 128 KiB; {}", facts.peer,
                         check_base_url);
    case Failure::unknown_coding:
      return fmt::format(
          "the answer from {} is coded in a way that was not offered; the server, or a proxy before it, is "
          "broken",
          facts.peer);
    case Failure::absurd_length:
      return fmt::format(
          "the answer from {} announces a length of 2^63 bytes or more; the server, or a proxy before it, "
          "is broken",
          facts.peer);
    case Failure::handler_threw:
      return fmt::format("the receiver of the answer from {} threw an exception; its message is in the log",
                         facts.peer);
    case Failure::unwatched:
      return fmt::format(
          "the system refuses to watch the socket to {}: it has too little memory, or "
          "fs.epoll.max_user_watches is used up",
          facts.peer);
    case Failure::bad_proxy:
      return fmt::format(
          "HttpLlmOptions::proxy, used on the way to {}, is not the address of a proxy; write "
          "http://host:port, or none",
          facts.peer);
    default:
      return fmt::format("the answer from {} was refused by its receiver", facts.peer);
  }
}

// 407: the proxy requires credentials, or other ones. Any other refusal may be temporary.
HttpEnd refused_tunnel(const EndFacts& facts) {
  const bool wants_password = facts.tunnel_status == 407;
  return {
      wants_password ? Errc::invalid_config : Errc::network_error,
      fmt::format("the proxy refused the connection to {} with HTTP {}; {}", facts.peer, facts.tunnel_status,
                  wants_password ? "it wants a user and a password in HttpLlmOptions::proxy "
                                   "(http://user:password@host:port)"
                                 : "check HttpLlmOptions::proxy, and what the proxy allows"),
      0};
}

// libcurl's error for an unsupported protocol refers to the address if nothing was sent, and to the answer if
// the request was sent. Before 8.6, a header line beyond libcurl's limit is reported as out of memory.
Errc code_of_result(const EndFacts& facts) noexcept {
  const Errc code = to_errc(facts.result);
  if (facts.result == CURLE_OUT_OF_MEMORY && facts.request_sent) return Errc::response_too_large;
  if (is_cut_handshake(facts.result, facts.detail)) return Errc::network_error;
  return code == Errc::invalid_config && facts.request_sent ? Errc::invalid_response : code;
}

HttpEnd reason_of(const EndFacts& facts) {
  if (facts.is_cut) return {Errc::cancelled, "the transfer was stopped", facts.status};
  if (facts.failure != Failure::none) return {code_of(facts.failure), text_of(facts), facts.status};
  if (facts.result == CURLE_OK) {
    if (facts.status != 0) return {Errc::none, facts.redirect_refusal, facts.status};
    return {Errc::invalid_response, not_http(facts), 0};
  }
  if (facts.tunnel_status >= 300 && !facts.request_sent) return refused_tunnel(facts);
  const Errc code = code_of_result(facts);
  return {code, facts.request_sent ? after_request(facts, code) : before_request(facts, code), facts.status};
}

std::string timeout_text(Errc code, const std::string& where, const std::string& time) {
  switch (code) {
    case Errc::connect_timeout:
      return fmt::format(
          "no connection to {} within {}; {} and the network, or raise HttpLlmOptions::connect_timeout",
          where, time, check_base_url);
    case Errc::first_byte_timeout:
      return fmt::format(
          "no answer from {} within {}; if the model may need longer, raise "
          "HttpLlmOptions::first_byte_timeout",
          where, time);
    case Errc::total_timeout:
      return fmt::format(
          "no complete answer from {} within {}; if a call may take longer, raise "
          "HttpLlmOptions::total_timeout",
          where, time);
    case Errc::deadline_exceeded:
      return fmt::format(
          "no complete answer from {} before the caller's deadline; if a call may take longer, set a later "
          "ChatRequest::deadline",
          where);
    default:
      return fmt::format(
          "nothing more of the answer from {} arrived for {}; if the model may pause longer, raise "
          "HttpLlmOptions::stall_timeout",
          where, time);
  }
}

}  // namespace

HttpEnd report_end(const EndFacts& facts) {
  HttpEnd end = reason_of(facts);
  end.request_sent = facts.request_sent;
  return end;
}

HttpEnd report_timeout(const EndFacts& facts, Errc timeout, Duration limit) {
  return {timeout, timeout_text(timeout, facts.peer, seconds_text(limit)), facts.status, facts.request_sent};
}

}  // namespace agentcore::detail::net
