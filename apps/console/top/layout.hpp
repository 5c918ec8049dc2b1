// The layout of the screen: what is shown where.
#pragma once

#include "console/top/agents.hpp"
#include "console/top/conversation.hpp"
#include "console/top/frame.hpp"
#include "console/top/prompt.hpp"

#include <cstddef>
#include <string>

namespace console_app::top {

struct Picture {
  Agents& agents;
  const Conversation& conversation;
  std::string url;
  bool connected = false;
  std::string problem = {};  // why it is not
  const Prompt& prompt;
  const Note& note;
};

// `first_row`: the row of the tree at the top; changed so that the selected agent is seen.
// `tree_height`: set to how many agents are seen.
Frame draw(const Picture& picture, Size size, std::size_t& first_row, std::size_t& tree_height);

// The parts of it.
std::vector<Line> tree_lines(Agents& agents, Size size, std::size_t& first_row);
std::vector<Line> conversation_lines(const AgentNode* agent, const Conversation& conversation, Size size);

}  // namespace console_app::top
