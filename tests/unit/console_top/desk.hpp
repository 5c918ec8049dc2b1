// A screen, and what is shown on it.
#pragma once

#include "console/top/layout.hpp"

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

namespace console_top_test {

struct Desk {
  console_app::top::Agents agents = {};
  console_app::top::Questions questions = {};
  console_app::top::Conversation conversation = {};
  console_app::top::Prompt prompt = {};
  console_app::top::Note note = {};
  bool connected = true;
  std::string problem = {};
  console_app::top::View view = {};

  void add(const std::string& id, const std::string& parent = "", const std::string& state = "idle",
           int queue = 0) {
    nlohmann::json agent = {{"id", id}, {"computeStatus", state}, {"queueLength", queue}};
    if (!parent.empty()) agent["parentAgentId"] = parent;
    agents.upsert(agent);
  }
  void ask(const std::string& id, const std::string& agent, const std::string& text,
           const std::string& tool = "ask_human", const nlohmann::json& choices = nlohmann::json::array()) {
    questions.apply({{"type", "question"},
                     {"question",
                      {{"id", id},
                       {"kind", tool == "ask_human" ? "question" : "approval"},
                       {"agentId", agent},
                       {"tool", tool},
                       {"text", text},
                       {"choices", choices}}}});
  }
  console_app::top::Frame frame(std::size_t width, std::size_t height) {
    const console_app::top::Picture picture{.agents = agents,
                                            .questions = questions,
                                            .conversation = conversation,
                                            .url = "http://h",
                                            .connected = connected,
                                            .problem = problem,
                                            .prompt = prompt,
                                            .note = note};
    return draw(picture, {width, height}, view);
  }
  std::string text(std::size_t width = 80, std::size_t height = 24) {
    std::string all;
    for (const console_app::top::Line& line : frame(width, height).lines) all += line.text() + "\n";
    return all;
  }
};

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace console_top_test
