// How a transfer ended: what happened, where, and what to change. The exchange itself is never quoted, and of
// libcurl's error texts only those that cannot quote it.
#pragma once

#include "net/answer_receiver.hpp"
#include "net/transport.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>

#include <cstddef>
#include <string>

#include <curl/curl.h>

namespace agentcore::detail::net {

// The facts about the end of a transfer.
struct EndFacts {
  CURLcode result = CURLE_OK;  // libcurl's
  Failure failure = Failure::none;
  bool is_cut = false;
  bool request_sent = true;
  int status = 0;                     // of the answer; 0: none
  std::string peer = "the server";    // the form of location_of()
  std::string detail = {};            // of libcurl, about `result`
  int os_error = 0;                   // errno of the last system call that failed in libcurl; 0: unknown
  int socket_error = 0;               // errno of the last socket that could not be made; 0: it was made
  long tunnel_status = 0;             // of the proxy's answer to CONNECT; 0: none
  std::size_t max_bytes = 0;          // of the answer
  std::string ca_file = {};           // of the request
  std::string redirect_refusal = {};  // see AnswerReceiver
};

// Makes the end of a transfer from its facts. The message has no header, no body and no secret.
HttpEnd report_end(const EndFacts& facts);

// Makes the end by a time-out of length `limit`, or by the caller's deadline.
HttpEnd report_timeout(const EndFacts& facts, Errc timeout, Duration limit);

}  // namespace agentcore::detail::net
