// What the last lines of the screen ask, and say.
#pragma once

#include "console/top/line_editor.hpp"

#include <string>

namespace console_app::top {

enum class PromptKind { none, message, search, stop, erase };

struct Prompt {
  PromptKind kind = PromptKind::none;
  std::string agent_id = {};  // whom it is about
  LineEditor line = LineEditor();
  std::string reach = {};  // "3 agents"; of a question: what a yes would reach

  bool takes_text() const { return kind == PromptKind::message || kind == PromptKind::search; }
};

// The result of the last thing that a person did.
struct Note {
  std::string text = {};
  bool failed = false;
};

}  // namespace console_app::top
