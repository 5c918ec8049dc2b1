#include "console/routes/refused.hpp"

namespace agentcore::detail::console {
namespace {

std::string sentence_of(Errc code) {
  switch (code) {
    case Errc::agent_not_found:
      return "there is no agent with this id";
    case Errc::missing_agent_id:
      return "the id of the agent is empty";
    case Errc::agent_stopped:
      return "the agent, or an ancestor, is stopped; resume it first";
    case Errc::agent_stopping:
      return "the agent, or an ancestor, is being stopped";
    case Errc::agent_terminating:
      return "the agent, or an ancestor, is being deleted";
    case Errc::mailbox_full:
      return "the mailbox of the agent is full";
    case Errc::message_too_large:
      return "the message is too large";
    case Errc::invalid_utf8:
      return "the text is not UTF-8";
    case Errc::empty_message:
      return "the text is empty";
    case Errc::question_not_found:
      return "there is no question with this id";
    case Errc::question_closed:
      return "the question is closed";
    case Errc::not_an_approval:
      return "the question is not an approval: answer it";
    case Errc::is_an_approval:
      return "the question is an approval: approve or decline it";
    case Errc::parent_stopped:
      return "an ancestor is stopped; resume that one";
    case Errc::cannot_stop_user:
      return "an agent that stands for a person cannot be stopped";
    case Errc::cannot_delete_system_agent:
      return "an agent of the system cannot be deleted";
    case Errc::message_not_found:
      return "no such message waits in the mailbox of the agent";
    case Errc::runtime_gone:
      return "the runtime of the agents has ended";
    case Errc::out_of_memory:
      return "there is not enough memory";
    default:
      return "refused: " + std::string(to_string(code));
  }
}

}  // namespace

Refused::Refused(const Error& error) : Refused(status_of(error.code), to_string(error.code), error.message) {
}

Refused::Refused(Errc error) : Refused(status_of(error), to_string(error), sentence_of(error)) {
}

std::string_view verb_word(Errc reason) noexcept {
  switch (reason) {
    case Errc::agent_stopping:
      return "stopping";
    case Errc::agent_stopped:
      return "stopped";
    case Errc::agent_terminating:
      return "terminating";
    default:
      return to_string(reason);
  }
}

Refused refused_verb(Errc reason) {
  std::string sentence = reason == Errc::agent_stopping      ? "the stop has not settled yet"
                         : reason == Errc::agent_terminating ? "the agent is being deleted"
                                                             : sentence_of(reason);
  return {status_of(reason), verb_word(reason), std::move(sentence)};
}

int status_of(Errc code) noexcept {
  switch (code) {
    case Errc::agent_not_found:
    case Errc::question_not_found:
    case Errc::message_not_found:
    case Errc::call_not_found:
    case Errc::grant_not_found:
      return 404;
    case Errc::missing_agent_id:
    case Errc::invalid_agent_id:
    case Errc::invalid_utf8:
    case Errc::empty_message:
    case Errc::invalid_config:
      return 400;
    case Errc::message_too_large:
      return 413;
    case Errc::out_of_memory:
      return 503;
    case Errc::runtime_gone:
      return 500;
    default:
      return 409;
  }
}

}  // namespace agentcore::detail::console
