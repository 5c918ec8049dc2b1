// Calls as blocks in the text: the calls and results of the history are written as blocks for the model.
#include "tools/block_protocol.hpp"

#include "core/message_items.hpp"
#include "tools/block_filter.hpp"
#include "tools/text_protocol.hpp"
#include "tools/windows_text.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::detail::tools {
namespace {

std::string window_of(const ToolCall& call) {
  return call.window_id.empty() ? std::string(plain_tools_id) : call.window_id;
}

std::string action_of(const ToolCall& call) {
  if (!call.action_id.empty()) return call.action_id;
  const std::string prefix = call.window_id + "__";
  return !call.window_id.empty() && call.name.starts_with(prefix) ? call.name.substr(prefix.size())
                                                                  : call.name;
}

void list_actions(const std::vector<Entry>& entries, std::string_view window_id, std::string& text) {
  if (entries.empty()) return;
  text.append("\nActions with window_id \"").append(window_id).append("\":\n");
  for (const Entry& entry : entries) {
    const ToolSpec& spec = entry.tool->spec;
    text += "- " + spec.name;
    if (!spec.description.empty()) text += ": " + spec.description;
    text += spec.parameters.empty() ? " (no params)\n" : " params: " + spec.parameters + "\n";
  }
}

std::string actions_text(const ToolRegistry::Impl& registry) {
  std::string text = "# What you can do\n";
  list_actions(registry.plain, plain_tools_id, text);
  return text;
}

std::string window_actions_text(const ToolRegistry::Impl& registry) {
  std::string text;
  for (const OpenWindow& open : registry.windows) list_actions(open.actions, open.window.id, text);
  return text;
}

std::string block_of(const std::vector<ToolCall>& calls) {
  std::vector<ActionCall> actions;
  actions.reserve(calls.size());
  for (const ToolCall& call : calls)
    actions.push_back({call.id, window_of(call), action_of(call), call.arguments});
  return render_tool_text(actions);
}

void add_result(const ChatMessage& result, std::string& text) {
  const nlohmann::json line{{"call_id", result.tool_call_id}, {"result", result.content()}};
  text += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// Begins the message with the results of the last answer. If the turn was interrupted, this message has no
// answer, and the question has one: so the mark of the interruption moves from the question to this message
// (G8).
void begin_results(std::vector<ChatMessage>& written) {
  ChatMessage results = ChatMessage::user("Results of your calls:\n");
  const auto question = std::find_if(written.rbegin(), written.rend(),
                                     [](const ChatMessage& message) { return message.is_question(); });
  if (question != written.rend())
    results.interruption = std::exchange(question->interruption, Interruption::none);
  written.push_back(std::move(results));
}

// The same history for a model without tool messages: calls are blocks, and the results of one answer are one
// message of the user. `ends`, which are numbers of messages, are adjusted.
std::vector<ChatMessage> as_text(std::vector<ChatMessage> messages, std::vector<std::size_t>& ends) {
  std::vector<ChatMessage> written;
  std::vector<std::size_t> written_for{0};  // by number of messages
  bool in_results = false;
  for (ChatMessage& message : messages) {
    if (message.role == Role::tool) {
      if (!std::exchange(in_results, true)) begin_results(written);
      add_result(message, core::first_text(written.back()));
      written.back().append(std::vector<ContentPart>(message.parts()));
    } else {
      in_results = false;
      if (const std::vector<ToolCall> calls = message.tool_calls(); !calls.empty()) {
        std::string text = message.content();
        if (!text.empty()) text += "\n";
        message.set_content(text + block_of(calls));
        message.remove<ToolCall>();
      }
      written.push_back(std::move(message));
    }
    written_for.push_back(written.size());
  }
  for (std::size_t& end : ends) end = written_for[end];
  return written;
}

AskedCall asked_by(const ToolRegistry::Impl& registry, ActionCall action) {
  AskedCall asked;
  if (action.window_id == plain_tools_id) {
    asked = resolve(registry, {.name = action.action_id});
  } else {
    asked.call.window_id = std::move(action.window_id);
    asked.call.action_id = asked.action_id = std::move(action.action_id);
  }
  asked.call.name = native_name(asked.call.window_id, asked.action_id);
  // Params that are left out are {}: a block is whole. Those that are no object are none that the model
  // meant.
  const bool are_left_out = action.params.empty() && !action.has_odd_params;
  asked.call.arguments = are_left_out ? "{}" : std::move(action.params);
  return asked;
}

}  // namespace

void BlockProtocol::write(const ToolRegistry::Impl& registry, const Shown& shown, VolatilePlace place,
                          ChatRequest& request) const {
  request.messages = as_text(std::move(request.messages), request.sent_before);
  const std::string of_windows = window_actions_text(registry);
  if (place == VolatilePlace::system_prompt) {
    append_to_system(request, tool_text_instructions(registry.find_window(launcher_id) != nullptr));
    append_to_system(request, actions_text(registry) + of_windows);
  } else {
    append_to_system(request, tool_text_instructions(false));
    if (!registry.plain.empty()) append_to_system(request, actions_text(registry));
    if (!of_windows.empty()) append_volatile(request, place, "# What you can do with windows\n" + of_windows);
    // The launcher appears with the first window.
    if (registry.find_window(launcher_id)) append_volatile(request, place, std::string(tool_text_launcher));
  }
  append_volatile(request, place, windows_text(registry, shown));
}

ReadAnswer BlockProtocol::read(const ToolRegistry::Impl& registry, std::string_view text,
                               const std::vector<ToolCall>&) const {
  ParsedAnswer parsed = parse_tool_text(text, 1);
  ReadAnswer answer;
  answer.words = parsed.calls.empty() ? std::string(text) : without_blocks(text);
  answer.parse_error = std::move(parsed.parse_error);
  for (ActionCall& action : parsed.calls) answer.calls.push_back(asked_by(registry, std::move(action)));
  return answer;
}

}  // namespace agentcore::detail::tools
