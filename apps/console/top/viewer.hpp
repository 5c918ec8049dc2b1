// Viewer: what a person does with the keys.
#pragma once

#include "console/top/answering.hpp"
#include "console/top/follower.hpp"
#include "console/top/key_press.hpp"
#include "console/top/layout.hpp"
#include "console/top/prompt.hpp"

#include <cstddef>
#include <map>
#include <string>

namespace console_app::top {

class Viewer {
 public:
  Viewer(Api& api, Agents& agents, Questions& questions, Conversation& conversation, Follower& follower);

  // False: the person quits.
  bool press(KeyPress key);
  Frame frame(Size size);

 private:
  bool browse(KeyPress key);
  void navigate(Key key);
  void type(KeyPress key);
  void scroll_or_answer(KeyPress key);
  void confirm(KeyPress key);
  void open(PromptKind kind);
  void open_question();
  void ask_reach();
  void finish_typing();
  void write(const std::string& id, const std::string& text);
  void search(const std::string& text);
  void use_verb(char32_t key, const AgentNode& agent);
  // `field`: the member of the answer that says if the verb had an effect.
  void call(const std::string& method, const std::string& id, const std::string& verb, const char* field,
            std::string done);

  Api& api_;
  Agents& agents_;
  Questions& questions_;
  Conversation& conversation_;
  Follower& follower_;
  Prompt prompt_ = {};
  std::size_t prompts_ = 0;  // so that a late answer is not shown in another prompt
  Note note_ = {};
  Answering answering_;
  std::string last_search_ = {};
  std::map<std::string, std::string> drafts_ = {};  // what was typed and not sent, by agent
  View view_ = {};
};

}  // namespace console_app::top
