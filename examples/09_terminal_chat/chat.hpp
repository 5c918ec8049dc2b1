// Chat: one conversation with an agent, and copies of it, between a person and a model.
#pragma once

#include "arguments.hpp"
#include "keyboard.hpp"

#include <agentcore/agentcore.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

class Chat {
 public:
  // `ctrl_c`: see watch_ctrl_c().
  Chat(agentcore::Runtime& runtime, agentcore::LlmClient& llm, const Arguments& arguments,
       std::vector<agentcore::ChatMessage> history, int ctrl_c);
  int run();  // returns the exit status

 private:
  agentcore::Agent& agent() { return agents_.back(); }
  const agentcore::Agent& agent() const { return agents_.back(); }

  void on_event(const agentcore::Event& event);
  void ended(const agentcore::TurnEnded& end);
  void save() const;

  void show(std::string_view text);
  static void note(std::string_view text);

  bool is_paused() const { return agent().status().value().paused; }
  std::size_t waiting() const { return agent().queue_length().value(); }
  bool works() const;  // an answer comes, or is about to
  bool input_ended() const { return keyboard_.has_ended() || !arguments_.message.empty(); }

  void send(std::string text);
  void take_lines();
  void take(std::string line);
  void obey(std::string_view command);
  void pause();
  void unpause();
  void retry();
  void rewind(std::string_view count);
  void fork();
  void back();
  void switch_to(agentcore::Agent other);
  void wait();
  void take_keys();
  bool stop();

  agentcore::Runtime& runtime_;
  agentcore::AgentTree tree_;
  const Arguments& arguments_;
  const int ctrl_c_;
  agentcore::Subscription events_;
  std::vector<agentcore::Agent> agents_;  // the last one is talked to, the others are what it was forked from
  Keyboard keyboard_;
  const bool interactive_ = arguments_.message.empty() && keyboard_.is_terminal();
  const bool to_terminal_ = ::isatty(STDOUT_FILENO) != 0;
  bool interrupted_ = false, failed_ = false;
  bool busy_ = false;      // a turn runs
  bool rests_ = false;     // it is paused, and nothing runs any more
  bool shown_ = false;     // something of the answer
  bool thinking_ = false;  // what was shown last is a thought
  bool prompted_ = false;  // for the line that is waited for
};
