#include "sim/command.hpp"

#include <agentcore/event.hpp>

#include <charconv>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <variant>

namespace agentcore::sim {
namespace {

constexpr std::array<std::string_view, act_count> act_names = {"poll",
                                                               "poll_until_quiet",
                                                               "poll_without_budget",
                                                               "time_passes",
                                                               "next_timer",
                                                               "run_job",
                                                               "create_root",
                                                               "create_many",
                                                               "create_child",
                                                               "send",
                                                               "send_urgent",
                                                               "send_with_deadline",
                                                               "simulate",
                                                               "steer",
                                                               "abort",
                                                               "interrupt",
                                                               "release_queue",
                                                               "pause",
                                                               "unpause",
                                                               "renew",
                                                               "stop",
                                                               "resume",
                                                               "terminate",
                                                               "cancel_call",
                                                               "complete_call",
                                                               "drop_queue",
                                                               "edit_queued",
                                                               "remove_queued",
                                                               "grant",
                                                               "grant_subtree",
                                                               "set_model",
                                                               "set_llm",
                                                               "set_system_prompt",
                                                               "set_tools",
                                                               "acknowledge",
                                                               "truncate_answer",
                                                               "rewind",
                                                               "regenerate",
                                                               "fork",
                                                               "stop_all",
                                                               "resume_all",
                                                               "pause_all",
                                                               "unpause_all",
                                                               "answer",
                                                               "approve",
                                                               "decline",
                                                               "revoke",
                                                               "cancel_task",
                                                               "flush",
                                                               "model_text",
                                                               "model_reasoning",
                                                               "model_answers",
                                                               "model_calls",
                                                               "model_is_cut",
                                                               "model_fails",
                                                               "server_sends",
                                                               "server_errors",
                                                               "server_resets",
                                                               "server_closes",
                                                               "server_garbage",
                                                               "tool_done",
                                                               "tool_fails",
                                                               "tool_dropped",
                                                               "tool_progress",
                                                               "tool_asks",
                                                               "tool_sends",
                                                               "tool_creates",
                                                               "http_request",
                                                               "http_moves",
                                                               "http_follows",
                                                               "http_reads",
                                                               "http_leaves",
                                                               "store_refuses",
                                                               "store_is_unknown",
                                                               "callback_throws",
                                                               "destroy_tree",
                                                               "restart",
                                                               "kill",
                                                               "calm",
                                                               "disk_fails",
                                                               "disk_fills",
                                                               "disk_is_slow",
                                                               "disk_is_busy",
                                                               "disk_dies",
                                                               "program_writes",
                                                               "program_reads",
                                                               "program_closes",
                                                               "program_exits",
                                                               "program_dies",
                                                               "program_ignores",
                                                               "program_hangs",
                                                               "program_forks",
                                                               "program_leaves",
                                                               "program_calls_fail",
                                                               "socket_fails",
                                                               "export_agents",
                                                               "import_agents",
                                                               "open_scope",
                                                               "scope_creates",
                                                               "scope_attaches",
                                                               "close_scope",
                                                               "release_scope",
                                                               "second_owner",
                                                               "damage_record",
                                                               "lose_code"};
static_assert(act_names.back() == "lose_code");

constexpr std::array<std::string_view, knob_count> knob_names = {
    "store",       "background_store", "durability", "turns_go_on", "max_attempts",    "mailbox_limit",
    "no_grace",    "deaf_models",      "deaf_tools", "eager_stops", "instant_tools",   "small_limits",
    "console",     "small_io",         "models",     "call_limits", "plain_arguments", "small_batches",
    "small_bytes", "short_times",      "real",       "programs",    "after_failure"};
static_assert(knob_names.back() == "after_failure");

constexpr std::size_t event_count = std::variant_size_v<detail::EventBody>;
constexpr std::array<std::string_view, event_count> event_names = {
    "AgentCreated",  "TurnStarted",         "DeltaReceived",     "TurnEnded",
    "Settled",       "Discarded",           "AgentDeleted",      "ToolStarted",
    "ToolProgress",  "ToolEnded",           "QuestionAsked",     "QuestionClosed",
    "TaskChanged",   "Abandoned",           "ReasoningReceived", "StateChanged",
    "ToolRefused",   "ModelCallEnded",      "MessageDropped",    "QueueHeld",
    "Steered",       "WindowClosed",        "PauseChanged",      "PauseSettled",
    "StopPending",   "ConversationChanged", "CompactionChanged", "AgentRestored",
    "StopPersisted", "MessagePersisted",    "ContextTrimmed"};
static_assert(event_names.back() == "ContextTrimmed");
static_assert(std::is_same_v<std::variant_alternative_t<event_count - 1, detail::EventBody>, ContextTrimmed>);

constexpr std::size_t callback_count = static_cast<std::size_t>(Callback::last);
constexpr std::array<std::string_view, callback_count> callback_names = {
    "model_call", "tool_call", "handler", "message_end", "settled", "policy", "retry"};

template <std::size_t size>
std::optional<std::size_t> index_of(const std::array<std::string_view, size>& names, std::string_view name) {
  for (std::size_t i = 0; i < size; ++i)
    if (names[i] == name) return i;
  return std::nullopt;
}

std::optional<Place> place_from(std::string_view name) {
  if (const auto event = index_of(event_names, name)) return place_of_event(*event);
  if (const auto callback = index_of(callback_names, name)) return place_of(Callback(*callback));
  return std::nullopt;
}

std::optional<std::uint32_t> number_from(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty()) return words;
    const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

}  // namespace

std::string_view to_string(Act act) noexcept {
  return act_names[static_cast<std::size_t>(act)];
}

std::string_view to_string(Knob knob) noexcept {
  return knob_names[static_cast<std::size_t>(knob)];
}

Place place_of_event(std::size_t index) noexcept {
  return {static_cast<std::uint8_t>(1 + index)};
}

Place place_of(Callback callback) noexcept {
  return {static_cast<std::uint8_t>(1 + event_count + static_cast<std::size_t>(callback))};
}

std::size_t place_count() noexcept {
  return 1 + event_count + callback_count;
}

bool is_event(Place place) noexcept {
  return place.is_callback() && place.number <= event_count;
}

std::string_view to_string(Place place) noexcept {
  if (!place.is_callback()) return "between polls";
  const std::size_t index = place.number - 1U;
  return index < event_count ? event_names[index] : callback_names[index - event_count];
}

std::string to_string(const Command& command) {
  std::string text;
  if (command.place.is_callback()) text.append("in ").append(to_string(command.place)).append(": ");
  text += to_string(command.act);
  std::size_t count = command.n.size();
  while (count != 0 && command.n[count - 1] == 0) --count;
  for (std::size_t i = 0; i < count; ++i) text.append(1, ' ').append(std::to_string(command.n[i]));
  return text;
}

std::optional<Command> command_from(std::string_view line) {
  Command command;
  std::vector<std::string_view> words = words_of(line);
  if (words.size() > 2 && words[0] == "in" && words[1].ends_with(':')) {
    const auto place = place_from(words[1].substr(0, words[1].size() - 1));
    if (!place) return std::nullopt;
    command.place = *place;
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.empty() || words.size() > 1 + command.n.size()) return std::nullopt;
  const auto act = index_of(act_names, words[0]);
  if (!act) return std::nullopt;
  command.act = Act(*act);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto number = number_from(words[i]);
    if (!number) return std::nullopt;
    command.n[i - 1] = *number;
  }
  return command;
}

std::ostream& operator<<(std::ostream& out, const Command& command) {
  return out << to_string(command);
}

std::string to_string(const Script& script) {
  std::string text;
  for (std::size_t i = 0; i < knob_count; ++i)
    if (script.setup.values[i] != 0)
      text.append("set ").append(knob_names[i]).append(1, ' ') +=
          std::to_string(script.setup.values[i]) + '\n';
  for (const Command& command : script.commands) text += to_string(command) + '\n';
  return text;
}

Script script_from(std::string_view text) {
  Script script;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) continue;
    if (words[0] == "set" && words.size() == 3) {
      const auto knob = index_of(knob_names, words[1]);
      const auto value = number_from(words[2]);
      if (knob && value) {
        script.setup.values[*knob] = *value;
        continue;
      }
    } else if (const auto command = command_from(line)) {
      script.commands.push_back(*command);
      continue;
    }
    throw std::invalid_argument("line " + std::to_string(number) + " is no command of a simulation: \"" +
                                std::string(line) + '"');
  }
  return script;
}

}  // namespace agentcore::sim
