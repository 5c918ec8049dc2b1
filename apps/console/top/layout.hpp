// The layout of the screen: what is shown where.
#pragma once

#include "console/top/agents.hpp"
#include "console/top/conversation.hpp"
#include "console/top/frame.hpp"
#include "console/top/prompt.hpp"
#include "console/top/questions.hpp"

#include <cstddef>
#include <string>

namespace console_app::top {

struct Picture {
  Agents& agents;
  const Questions& questions;
  const Conversation& conversation;
  std::string url;
  bool connected = false;
  std::string problem = {};  // why it is not
  const Prompt& prompt;
  const Note& note;
};

// What is scrolled. The rows are wishes: they are changed to what is possible.
struct View {
  std::size_t first_row = 0;        // of the tree, at the top; the selected agent is always seen
  std::size_t tree_height = 0;      // set to how many agents are seen
  std::size_t question_row = 0;     // the first line that is seen of the question that is being answered
  std::size_t question_height = 0;  // set to how many lines of it are seen
};

Frame draw(const Picture& picture, Size size, View& view);

// The parts of it.
std::vector<Line> tree_lines(Agents& agents, const Questions& questions, Size size, std::size_t& first_row);
std::vector<Line> conversation_lines(const AgentNode* agent, const Conversation& conversation, Size size);
// The oldest question of an agent, cut; none if it asks nothing.
std::vector<Line> asked_lines(const Questions& questions, const std::string& agent_id, Size size);
// The question that is being answered, as much as there is room for.
std::vector<Line> answered_lines(const Questions& questions, const Question& question, Size size, View& view);
// The line above the keys: what is asked, typed or said.
Line message_line(const Picture& picture, std::size_t width, Frame& frame);
Line help_line(const Picture& picture, std::size_t width);

}  // namespace console_app::top
