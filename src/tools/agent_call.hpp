// AgentCall: one call of a tool that make_agent_tool() has created.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/message.hpp>
#include <agentcore/tool.hpp>

#include <memory>
#include <optional>
#include <stop_token>

namespace agentcore::detail::tools {

// The link between the call and the message that does its work, a message to a child of the agent.
//
// 1. The callbacks of that message own the object: it ends with the message, or with the tree.
// 2. The stop callback has a handle of the child and the id of the message of its own, and refers to nothing
//    of this object: it may run on any thread, also while the object is destroyed, and the object may be
//    destroyed from within it.
// 3. It is registered after the message was sent: a call that has ended meanwhile ends the child there.
//
// All @loop_thread, except where said.
class AgentCall {
 public:
  // Which agent a call works with.
  enum class Child : unsigned char { own, named };

  // Sends `text` to the child, which is created if there is none of that name, and there was none before
  // (unless `create_again`). Delivers the result, at once if there is no child or it does not accept the
  // message. Throws std::bad_alloc; then nothing was created or sent.
  static void start(const ToolContext& context, const ToolDone& done, const AgentSpec& child,
                    bool create_again, std::string text);

 private:
  // Ends what the child does for the call.
  struct EndChild {
    Agent child;
    MessageId message;
    Child kind;
    // @threadsafe: runs on the thread that ends the call.
    void operator()() const noexcept;
  };

  AgentCall(const ToolContext& context, const ToolDone& done, Child kind)
      : context_(context), done_(done), kind_(kind) {}
  void send(Message message, SendOptions options);
  void report_pause() noexcept;
  void on_delta(std::string_view text);
  void on_end(const MessageEnd& end);

  ToolContext context_;
  ToolDone done_;
  Child kind_;
  Agent child_;
  MessageId message_;
  std::optional<std::stop_callback<EndChild>> on_stop_;
};

}  // namespace agentcore::detail::tools
