// Answering: how a person answers one question of an agent.
#pragma once

#include "console/top/api.hpp"
#include "console/top/key_press.hpp"
#include "console/top/prompt.hpp"
#include "console/top/questions.hpp"

#include <map>
#include <string>

namespace console_app::top {

class Answering {
 public:
  // `prompt`, `note`: those of the screen.
  Answering(Api& api, Questions& questions, Prompt& prompt, Note& note)
      : api_(api), questions_(questions), prompt_(prompt), note_(note) {}

  void open(const Question& question);
  // While the prompt is about a question.
  void press(KeyPress key);

 private:
  void press_in_answer(KeyPress key);
  void press_in_approval(KeyPress key);
  void press_in_decline(KeyPress key);
  bool pick_choice(KeyPress key);
  void leave();
  void send_answer();
  // `done`: what the note says then. An answer that could not be sent is kept for the next time.
  void send(const std::string& verb, const Json& body, const std::string& done);

  Api& api_;
  Questions& questions_;
  Prompt& prompt_;
  Note& note_;
  std::map<std::string, std::string> drafts_ = {};  // answers that were typed and not sent
};

}  // namespace console_app::top
