#include "interleaved/script.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

namespace agentcore::interleaved {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Act::count)> names{"poll",
                                                                                   "sleep",
                                                                                   "drive",
                                                                                   "model_answers",
                                                                                   "model_calls",
                                                                                   "model_text",
                                                                                   "model_fails",
                                                                                   "create_child",
                                                                                   "drop_queue",
                                                                                   "remove_queued",
                                                                                   "time_passes",
                                                                                   "renew_wake",
                                                                                   "scope",
                                                                                   "destroy_tree",
                                                                                   "send",
                                                                                   "send_urgent",
                                                                                   "steer",
                                                                                   "steer_now",
                                                                                   "stop",
                                                                                   "stop_alone",
                                                                                   "stop_below",
                                                                                   "stop_few",
                                                                                   "stop_after_turn",
                                                                                   "stop_after_step",
                                                                                   "resume",
                                                                                   "terminate",
                                                                                   "terminate_after_turn",
                                                                                   "abort",
                                                                                   "abort_and_clear",
                                                                                   "interrupt",
                                                                                   "interrupt_and_hold",
                                                                                   "interrupt_and_drop",
                                                                                   "interrupt_below",
                                                                                   "release_queue",
                                                                                   "pause",
                                                                                   "unpause",
                                                                                   "renew",
                                                                                   "cancel_call",
                                                                                   "complete_call",
                                                                                   "stop_all",
                                                                                   "resume_all",
                                                                                   "pause_all",
                                                                                   "unpause_all",
                                                                                   "tool_done",
                                                                                   "tool_dropped",
                                                                                   "tool_reports",
                                                                                   "tool_sends",
                                                                                   "run_job",
                                                                                   "work",
                                                                                   "worker_sends",
                                                                                   "worker_answers",
                                                                                   "worker_calls",
                                                                                   "close_scope",
                                                                                   "release_scope",
                                                                                   "post",
                                                                                   "look",
                                                                                   "copy"};

constexpr std::array<std::string_view, static_cast<std::size_t>(Moment::count)> moments{
    "now",           "turn_started", "text",      "tool_started", "tool_ended",  "turn_ended",
    "state_changed", "model_call",   "tool_call", "handler",      "message_end", "settled"};

struct Knob {
  std::string_view name;
  std::uint32_t Script::*value;
};
constexpr std::array knobs{Knob{"agents", &Script::agents}, Knob{"budget", &Script::budget},
                           Knob{"lease", &Script::lease},   Knob{"handler", &Script::handler},
                           Knob{"deaf", &Script::deaf},     Knob{"warm", &Script::warm}};

template <typename Enum, std::size_t Count>
Enum find_in(const std::array<std::string_view, Count>& all, const std::string& word) {
  for (std::size_t i = 0; i < Count; ++i)
    if (all[i] == word) return static_cast<Enum>(i);
  throw std::invalid_argument("no such command, or callback: " + word);
}

std::uint32_t number(const std::string& word) {
  std::size_t used = 0;
  const unsigned long value = std::stoul(word, &used);
  if (used != word.size()) throw std::invalid_argument("not a number: " + word);
  return static_cast<std::uint32_t>(value);
}

Command command_from(std::istringstream& words) {
  Command command;
  std::string word;
  words >> word;
  command.act = find_in<Act>(names, word);
  for (int place = 0; words >> word;) {
    if (word == "in") {
      words >> word;
      command.moment = find_in<Moment>(moments, word);
    } else if (word[0] == '@') {
      const std::size_t colon = word.find(':');
      command.falls.push_back({number(word.substr(1, colon - 1)), number(word.substr(colon + 1))});
    } else {
      (place++ == 0 ? command.a : command.b) = number(word);
    }
  }
  return command;
}

}  // namespace

std::string_view name(Act act) noexcept {
  return names[static_cast<std::size_t>(act)];
}

std::string_view name(Moment moment) noexcept {
  return moments[static_cast<std::size_t>(moment)];
}

std::string to_text(const Command& command) {
  std::string text(name(command.act));
  if (command.a != 0 || command.b != 0) text += ' ' + std::to_string(command.a);
  if (command.b != 0) text += ' ' + std::to_string(command.b);
  if (command.moment != Moment::now) text += " in " + std::string(name(command.moment));
  return text;
}

Schedule Script::schedule() const {
  Schedule made{order, {}};
  for (const auto& thread : threads) {
    auto& commands = made.falls.emplace_back();
    for (const Command& command : thread) commands.push_back(command.falls);
  }
  return made;
}

std::size_t Script::size() const {
  std::size_t sum = 0;
  for (const auto& thread : threads)
    for (const Command& command : thread) sum += 1 + command.falls.size();
  return sum;
}

std::string to_text(const Script& script) {
  std::string text;
  for (const Knob& knob : knobs)
    if (script.*knob.value != 0)
      text += "set " + std::string(knob.name) + ' ' + std::to_string(script.*knob.value) + '\n';
  text += "order";
  for (const std::uint32_t thread : script.order) text += ' ' + std::to_string(thread);
  text += '\n';
  for (std::size_t i = 0; i < script.threads.size(); ++i)
    for (const Command& command : script.threads[i]) {
      text += std::to_string(i) + ": " + to_text(command);
      for (const Fall& fall : command.falls)
        text += " @" + std::to_string(fall.step) + ':' + std::to_string(fall.rank);
      text += '\n';
    }
  return text;
}

Script script_from(std::string_view text) {
  Script script;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    line.resize(std::min(line.size(), line.find('#')));
    std::istringstream words(line);
    std::string first, second, value;
    if (!(words >> first)) continue;
    if (first == "set") {
      words >> second >> value;
      bool known = false;
      for (const Knob& knob : knobs)
        if (knob.name == second) script.*knob.value = number(value), known = true;
      if (!known) throw std::invalid_argument("no such setting: " + second);
    } else if (first == "order") {
      while (words >> value) script.order.push_back(number(value));
    } else {
      const std::uint32_t thread = number(first.substr(0, first.find(':')));
      if (script.threads.size() <= thread) script.threads.resize(thread + 1);
      script.threads[thread].push_back(command_from(words));
    }
  }
  if (script.threads.empty()) script.threads.emplace_back();
  for (std::uint32_t i = 0; i < script.threads.size(); ++i)
    if (script.order.size() < script.threads.size() &&
        std::find(script.order.begin(), script.order.end(), i) == script.order.end())
      script.order.push_back(i);
  return script;
}

}  // namespace agentcore::interleaved
