// Refused: a request that a route refuses, as an exception.
#pragma once

#include <agentcore/error.hpp>

#include <exception>
#include <string>
#include <string_view>

namespace agentcore::detail::console {

// Thrown by the functions that read a request, and by routes. The router answers with it.
struct Refused : std::exception {
  Refused(int the_status, std::string_view the_code, std::string the_message)
      : status(the_status), code(the_code), message(std::move(the_message)) {}
  // With the status that belongs to the code.
  explicit Refused(const Error& error);
  // With a sentence that belongs to the code.
  explicit Refused(Errc code);

  const char* what() const noexcept override { return message.c_str(); }

  int status;
  std::string_view code;  // of a literal
  std::string message;
};

// The word of the protocol for the reason of a verb: "stopped" for `agent_stopped`, which is the word for a
// message.
std::string_view verb_word(Errc reason) noexcept;

// A verb that was refused.
Refused refused_verb(Errc reason);

// The status of an answer that has this reason.
int status_of(Errc code) noexcept;

}  // namespace agentcore::detail::console
