// Follower: keeps what is shown up to date. It reads all agents and questions, follows the events from there,
// connects again when the connection ends, and reads all again when the server says that events are missing.
#pragma once

#include "console/top/agents.hpp"
#include "console/top/api.hpp"
#include "console/top/conversation.hpp"
#include "console/top/event_parser.hpp"
#include "console/top/questions.hpp"

#include <chrono>
#include <string>

namespace console_app::top {

class Follower {
 public:
  Follower(Api& api, Timers& timers, Agents& agents, Questions& questions, Conversation& conversation);

  void start();
  // Shows the conversation of the agent that is selected now, if it is another one.
  void follow_selected();
  // Reads the conversation and the queue of the selected agent again soon.
  void refresh();

  bool is_connected() const { return connected_; }
  // Why there is no connection; empty: there is one, or the first one is being made.
  const std::string& problem() const { return problem_; }

 private:
  void load();
  void load_page(const std::string& query);
  void take_page(const Answer& page);
  void load_questions();
  void begin_following();
  void open_stream();
  void receive(const std::string& id, const std::string& data);
  void end_stream(const Answer& answer);
  void lose(std::string problem);
  void load_conversation();
  void load_queue();

  Api& api_;
  Timers& timers_;
  Agents& agents_;
  Questions& questions_;
  Conversation& conversation_;
  EventParser parser_;
  bool connected_ = false;
  std::string problem_ = {};
  bool loaded_ = false;     // the tree is that of position_
  std::string first_ = {};  // the position of a tree that is being read
  EventId position_ = {};   // of the last event that is part of what is shown
  Http::Id reading_ = 0;
  Http::Id stream_ = 0;
  Http::Id reading_conversation_ = 0;
  Http::Id reading_queue_ = 0;
  bool conversation_changed_ = false;  // while it is being read
  std::chrono::milliseconds wait_;
  Timers::Id retry_ = {};
  Timers::Id select_ = {};
  Timers::Id refresh_ = {};
};

}  // namespace console_app::top
