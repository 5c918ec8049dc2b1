// What the last lines of the screen ask, and say.
#pragma once

#include "console/top/line_editor.hpp"
#include "console/top/questions.hpp"

#include <string>

namespace console_app::top {

// The last three are about a question of an agent. `decline`: the reason is typed.
enum class PromptKind { none, message, search, stop, erase, answer, approval, decline };

// What an approval allows: this call, all such calls by the agent, or also by all below it.
enum class Scope { once, agent, subtree };

struct Prompt {
  PromptKind kind = PromptKind::none;
  std::string agent_id = {};  // whom it is about
  LineEditor line = LineEditor();
  std::string reach = {};  // "3 agents"; of a stop or a delete: what a yes would reach
  Question question = {};
  Scope scope = Scope::once;

  bool is_of_question() const { return kind >= PromptKind::answer; }
  bool takes_text() const {
    return kind == PromptKind::message || kind == PromptKind::search || kind == PromptKind::answer ||
           kind == PromptKind::decline;
  }
};

// The result of the last thing that a person did.
struct Note {
  std::string text = {};
  bool failed = false;
};

}  // namespace console_app::top
