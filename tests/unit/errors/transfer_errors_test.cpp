// Errors of transfers: no connection, a broken one, a time-out, an answer that is not HTTP. They are built by
// the functions that build them for a real transfer.
#include "net/end_report.hpp"
#include "net/redirect.hpp"
#include "unit/errors/error_rows.hpp"

#include <cerrno>

using namespace agentcore;
using namespace agentcore::detail::net;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

const std::string peer = "https://api.test:443/v1";
const std::string plain_peer = "http://api.test:80/v1";
const std::string again =
    "send the message again; if this happens often, look for a time limit of the server or of a proxy before "
    "it";

struct TransferTable {
  ErrorRows rows;

  void add(std::string cause, EndFacts facts, Errc code, std::string text) {
    if (facts.peer == "the server") facts.peer = peer;
    const HttpEnd end = report_end(facts);
    rows.push_back({std::move(cause), {end.code, end.message}, code, std::move(text)});
  }
  void add_timeout(Errc code, std::string text) {
    EndFacts facts;
    facts.peer = peer;
    const HttpEnd end = report_timeout(facts, code, 250ms);
    rows.push_back({"a time-out", {end.code, end.message}, code, std::move(text)});
  }
  // Before the request was sent. A detail or an errno may be set in `facts`.
  void add_before(std::string cause, CURLcode result, Errc code, std::string text, EndFacts facts = {}) {
    facts.result = result;
    facts.request_sent = false;
    add(std::move(cause), std::move(facts), code, std::move(text));
  }
  void add_after(std::string cause, CURLcode result, Errc code, std::string text, EndFacts facts = {}) {
    facts.result = result;
    add(std::move(cause), std::move(facts), code, std::move(text));
  }
  void add_failure(Failure failure, Errc code, std::string text) {
    EndFacts facts;
    facts.failure = failure;
    facts.max_bytes = 7;
    add("our own reason", facts, code, std::move(text));
  }
};

EndFacts with_detail(std::string detail) {
  EndFacts facts;
  facts.detail = std::move(detail);
  return facts;
}

void add_timeouts(TransferTable& table) {
  table.add_timeout(Errc::connect_timeout,
                    "no connection to " + peer +
                        " within 0.25 s; check HttpLlmOptions::base_url and the network, or raise "
                        "HttpLlmOptions::connect_timeout");
  table.add_timeout(Errc::first_byte_timeout, "no answer from " + peer +
                                                  " within 0.25 s; if the model may need longer, raise "
                                                  "HttpLlmOptions::first_byte_timeout");
  table.add_timeout(Errc::stall_timeout, "nothing more of the answer from " + peer +
                                             " arrived for 0.25 s; if the model may pause longer, raise "
                                             "HttpLlmOptions::stall_timeout");
  table.add_timeout(Errc::total_timeout,
                    "no complete answer from " + peer +
                        " within 0.25 s; if a call may take longer, raise HttpLlmOptions::total_timeout");
  table.add_timeout(Errc::deadline_exceeded,
                    "no complete answer from " + peer +
                        " before the caller's deadline; if a call may take longer, set a later "
                        "ChatRequest::deadline");
}

void add_connections(TransferTable& table) {
  table.add_before(
      "an unknown host", CURLE_COULDNT_RESOLVE_HOST, Errc::resolve_failed,
      "the name of the server was not found: " + peer + "; check HttpLlmOptions::base_url and the network");
  table.add_before(
      "an unknown proxy", CURLE_COULDNT_RESOLVE_PROXY, Errc::resolve_failed,
      "the name of the proxy on the way to " + peer + " was not found; check HttpLlmOptions::proxy");
  EndFacts refused = with_detail("Failed to connect to api.test port 443 after 1 ms: Couldn't connect");
  refused.os_error = ECONNREFUSED;
  table.add_before("a refused connection", CURLE_COULDNT_CONNECT, Errc::network_error,
                   "no connection to " + peer +
                       ": Connection refused; check HttpLlmOptions::base_url, and that the server runs",
                   refused);
  refused.detail = "Failed to connect to proxy.test port 3128 after 1 ms: Couldn't connect";
  table.add_before("a refused connection to the proxy", CURLE_COULDNT_CONNECT, Errc::network_error,
                   "no connection to the proxy proxy.test port 3128 on the way to " + peer +
                       ": Connection refused; check HttpLlmOptions::proxy",
                   refused);
  table.add_before("an unreachable server", CURLE_COULDNT_CONNECT, Errc::network_error,
                   "no connection to " + peer +
                       ": it could not be reached; check HttpLlmOptions::base_url, and that the server runs");
  EndFacts shortage;
  shortage.socket_error = EMFILE;
  table.add_before(
      "too few descriptors", CURLE_COULDNT_CONNECT, Errc::network_error,
      "no socket for a connection to " + peer +
          ": Too many open files; allow this process more descriptors (ulimit -n), or make fewer "
          "calls at a time (CallLimits)",
      shortage);
  table.add_before("a break before the request", CURLE_SEND_ERROR, Errc::network_error,
                   "the connection to " + peer + " broke before the request was sent: " +
                       curl_easy_strerror(CURLE_SEND_ERROR) + "; " + again);
  table.add_before("an address that libcurl refuses", CURLE_UNSUPPORTED_PROTOCOL, Errc::invalid_config,
                   peer + " cannot be called: " + curl_easy_strerror(CURLE_UNSUPPORTED_PROTOCOL) +
                       "; check HttpLlmOptions::base_url and HttpLlmOptions::proxy");
}

// In the words of libcurl 8.17, and of 8.22.
void add_connections_of_later_versions(TransferTable& table) {
  for (const std::string server : {"api.test port 443", "api.test:443"}) {
    EndFacts refused = with_detail("Failed to connect to " + server + " after 1 ms: Could not connect");
    table.add_before(
        "a refused connection", CURLE_COULDNT_CONNECT, Errc::network_error,
        "no connection to " + peer +
            ": it could not be reached; check HttpLlmOptions::base_url, and that the server runs",
        refused);
  }
  for (const std::string server : {"::1 port 443", "[::1]:443", "::1:443"}) {
    EndFacts refused = with_detail("Failed to connect to " + server + " after 1 ms: Could not connect");
    refused.peer = "https://[::1]:443";
    table.add_before(
        "a refused connection to an IPv6 address", CURLE_COULDNT_CONNECT, Errc::network_error,
        "no connection to " + refused.peer +
            ": it could not be reached; check HttpLlmOptions::base_url, and that the server runs",
        refused);
  }
  for (const std::string called : {"api.test port 443 via ", "api.test:443 over proxy "}) {
    EndFacts refused =
        with_detail("Failed to connect to " + called + "proxy.test after 1 ms: Could not connect");
    table.add_before("a refused connection to the proxy", CURLE_COULDNT_CONNECT, Errc::network_error,
                     "no connection to the proxy proxy.test on the way to " + peer +
                         ": it could not be reached; check HttpLlmOptions::proxy",
                     refused);
  }
}

void add_tls(TransferTable& table) {
  const auto add = [&table](CURLcode result, std::string detail, std::string advice) {
    table.add_before("TLS", result, Errc::tls_error,
                     "no TLS connection to " + peer + ": " + curl_easy_strerror(result) +
                         (detail.empty() ? "" : ": " + detail) + "; " + advice,
                     with_detail(detail));
  };
  add(CURLE_SSL_CACERT_BADFILE, "",
      "HttpLlmOptions::ca_file must name a PEM bundle that can be read (the system's certificates are used "
      "now)");
  add(CURLE_SSL_CONNECT_ERROR, "wrong version number",
      "the server seems to speak plain HTTP: write http:// in HttpLlmOptions::base_url, or its TLS port");
  add(CURLE_SSL_CONNECT_ERROR, "", "check that the server speaks TLS 1.2 or later on this port");
  add(CURLE_PEER_FAILED_VERIFICATION, "no alternative subject name",
      "check the host in HttpLlmOptions::base_url");
  add(CURLE_PEER_FAILED_VERIFICATION, "self-signed certificate",
      "if an authority of your own has signed the server's certificate, name its PEM bundle in "
      "HttpLlmOptions::ca_file (the system's certificates are used now)");
  EndFacts with_file;
  with_file.ca_file = "/ca.pem";
  table.add_before("a bad ca_file", CURLE_SSL_CACERT_BADFILE, Errc::tls_error,
                   "no TLS connection to " + peer + ": " + curl_easy_strerror(CURLE_SSL_CACERT_BADFILE) +
                       "; HttpLlmOptions::ca_file must name a PEM bundle that can be read (now /ca.pem)",
                   with_file);
}

void add_tunnels(TransferTable& table) {
  EndFacts tunnel;
  tunnel.tunnel_status = 407;
  table.add_before("a proxy without a password", CURLE_RECV_ERROR, Errc::invalid_config,
                   "the proxy refused the connection to " + peer +
                       " with HTTP 407; it wants a user and a password in HttpLlmOptions::proxy "
                       "(http://user:password@host:port)",
                   tunnel);
  tunnel.tunnel_status = 403;
  table.add_before("a proxy that refuses", CURLE_RECV_ERROR, Errc::network_error,
                   "the proxy refused the connection to " + peer +
                       " with HTTP 403; check HttpLlmOptions::proxy, and what the proxy allows",
                   tunnel);
}

void add_exchanges(TransferTable& table) {
  EndFacts facts;
  facts.os_error = ECONNRESET;
  table.add_after(
      "a break before the answer", CURLE_RECV_ERROR, Errc::network_error,
      "the connection to " + peer + " broke (Connection reset by peer) before the answer began; " + again,
      facts);
  facts.status = 200;
  facts.os_error = 0;
  table.add_after("a break within the answer", CURLE_PARTIAL_FILE, Errc::network_error,
                  "the connection to " + peer + " broke before the answer was complete; " + again, facts);
  facts = {};
  facts.peer = plain_peer;
  table.add_after("no answer to plain HTTP", CURLE_GOT_NOTHING, Errc::network_error,
                  "the connection to " + plain_peer + " broke before the answer began; " + again +
                      "; if the server speaks TLS, write https:// in HttpLlmOptions::base_url",
                  facts);
  table.add_after(
      "an answer that is not HTTP", CURLE_UNSUPPORTED_PROTOCOL, Errc::invalid_response,
      "the answer from " + plain_peer +
          " is not HTTP; check HttpLlmOptions::base_url; if the server speaks TLS, write https:// in "
          "HttpLlmOptions::base_url",
      facts);
  table.add_after("an answer without a status", CURLE_OK, Errc::invalid_response,
                  "the answer from " + peer + " is not HTTP; check HttpLlmOptions::base_url");
  table.add_after(
      "a bad compression", CURLE_BAD_CONTENT_ENCODING, Errc::invalid_response,
      "the answer from " + peer + " cannot be decompressed; the server, or a proxy before it, is broken");
  table.add_after(
      "a long line in the head", CURLE_OUT_OF_MEMORY, Errc::response_too_large,
      "a line in the head of the answer from " + peer + " is too long; check HttpLlmOptions::base_url");
  table.add_after(
      "any other fault", CURLE_FAILED_INIT, Errc::network_error,
      std::string(curl_easy_strerror(CURLE_FAILED_INIT)) + ", in the exchange with " + peer + "; " + again);
}

void add_own_reasons(TransferTable& table) {
  const std::string answer = "the answer from " + peer;
  const std::string broken = "; the server, or a proxy before it, is broken";
  table.add_failure(Failure::too_large, Errc::response_too_large,
                    answer +
                        " is larger than 7 bytes; if the server can be trusted, raise "
                        "HttpLlmOptions::max_response_bytes");
  table.add_failure(Failure::head_too_large, Errc::response_too_large,
                    "the head of " + answer + " is larger than 128 KiB; check HttpLlmOptions::base_url");
  table.add_failure(Failure::unknown_coding, Errc::invalid_response,
                    answer + " is coded in a way that was not offered" + broken);
  table.add_failure(Failure::absurd_length, Errc::invalid_response,
                    answer + " announces a length of 2^63 bytes or more" + broken);
  table.add_failure(Failure::handler_threw, Errc::callback_failed,
                    "the receiver of " + answer + " threw an exception; its message is in the log");
  table.add_failure(Failure::handler_refused, Errc::invalid_response,
                    answer + " was refused by its receiver");
  table.add_failure(Failure::unwatched, Errc::network_error,
                    "the system refuses to watch the socket to " + peer +
                        ": it has too little memory, or fs.epoll.max_user_watches is used up");
  table.add_failure(Failure::bad_proxy, Errc::invalid_config,
                    "HttpLlmOptions::proxy, used on the way to " + peer +
                        ", is not the address of a proxy; write http://host:port, or none");
  EndFacts stopped;
  stopped.is_cut = true;
  table.add("a stop", stopped, Errc::cancelled, "the transfer was stopped");
}

// A note to the error of the HTTP status.
std::string refusal_of_redirect(int status, std::string location, std::uint32_t max_redirects) {
  HttpRequest request;
  request.url = "https://api.test/v1";
  request.max_redirects = max_redirects;
  return refusal_of(redirect_of(request, {.status = status, .fields = {{"location", std::move(location)}}}));
}

void add_redirects(TransferTable& table) {
  const auto add = [&table](std::string got, std::string text) {
    table.rows.push_back({"a redirect", {Errc::none, std::move(got)}, Errc::none, std::move(text)});
  };
  add(refusal_of_redirect(302, "/v2", 1),
      "the redirect to https://api.test:443/v2 was not followed: with this status a POST would become a GET");
  add(refusal_of_redirect(307, "/v2", 0),
      "the redirect to https://api.test:443/v2 was not followed: it is one more than "
      "HttpLlmOptions::max_redirects allows");
  add(refusal_of_redirect(307, "https://b.test/", 1),
      "the redirect to https://b.test:443/ was not followed: it leads to another scheme, host or port");
  add(refusal_of_redirect(307, "", 1), "the redirect was not followed: its Location is missing or not a URL");
}

}  // namespace

ErrorRows test::transfer_errors() {
  TransferTable table;
  add_timeouts(table);
  add_connections(table);
  add_connections_of_later_versions(table);
  add_tls(table);
  add_tunnels(table);
  add_exchanges(table);
  add_own_reasons(table);
  add_redirects(table);
  return table.rows;
}

TEST_CASE("every error of a transfer has its text", "[errors][net]") {
  check(transfer_errors());
}
