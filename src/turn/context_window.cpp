// What of an agent's history, tools and windows a model is sent.
#include "context/trim.hpp"
#include "tools/protocol.hpp"
#include "tools/text_protocol.hpp"
#include "tools/windows_text.hpp"
#include "turn/turns.hpp"

#include <utility>
#include <vector>

namespace agentcore::turn {
namespace {

std::size_t count(const AgentSpec& spec, std::string_view text) {
  return spec.context.count_tokens ? spec.context.count_tokens(text) : estimate_tokens(text);
}

std::size_t tokens_of_tools(const AgentSpec& spec, const ToolRegistry::Impl& registry) {
  std::size_t tokens = 0;
  const auto add = [&](const tools::Entry& entry) {
    tokens += count(spec, entry.tool->spec.name) + count(spec, entry.tool->spec.description) +
              count(spec, entry.tool->spec.parameters);
  };
  for (const tools::Entry& entry : registry.plain) add(entry);
  for (const tools::OpenWindow& open : registry.windows)
    for (const tools::Entry& entry : open.actions) add(entry);
  return tokens;
}

// What follows the history in a request that asks the model to repair its calls.
std::vector<ChatMessage> correction(const ActiveTurn& turn) {
  if (turn.unread.empty()) return {};
  return {{Role::assistant, turn.unread},
          {Role::user, tools::tool_text_correction(turn.result->parse_error)}};
}

// Brings what is known of the windows up to date: new ones are shown, closed ones forgotten.
std::vector<context::WindowCost> costs_of(const AgentSpec& spec, const ToolRegistry::Impl& registry,
                                          SentContext& sent, std::size_t messages) {
  std::map<std::uint64_t, SeenWindow> known;
  std::vector<context::WindowCost> costs;
  for (const tools::OpenWindow& open : registry.windows) {
    const auto before = sent.windows.find(open.number);
    const SeenWindow seen = before == sent.windows.end() ? SeenWindow{messages, true} : before->second;
    known.emplace(open.number, seen);
    costs.push_back({count(spec, tools::window_text(open)), seen.opened_at, open.window.important,
                     open.window.pinned, seen.shown});
  }
  sent.windows = std::move(known);
  return costs;
}

}  // namespace

void Turns::trim(core::Node& node) {
  TurnData& data = data_of(node);
  const AgentSpec& spec = *node.spec;
  const std::vector<ChatMessage>& messages = data.conversation.messages();
  SentContext& sent = data.sent;
  // Results are counted only once they are there: a model is called when all of them are.
  for (std::size_t i = sent.tokens.size(); i < messages.size(); ++i)
    sent.tokens.push_back(context::message_tokens(messages[i], spec.context.count_tokens));
  const ToolRegistry::Impl& registry = tools::registry_of(spec.tools);
  const auto windows = costs_of(spec, registry, sent, messages.size());
  std::size_t fixed = count(spec, system_prompt_of(spec)) + tokens_of_tools(spec, registry);
  for (const ChatMessage& message : correction(*data.turn))
    fixed += context::message_tokens(message, spec.context.count_tokens);
  const context::Trimmed kept =
      context::trim(messages, sent.tokens, sent.messages, windows, fixed, spec.context);
  sent.messages = kept.keep_message;
  data.turn->prompt_tokens = kept.tokens_after;
  std::size_t at = 0;
  for (const tools::OpenWindow& open : registry.windows)
    sent.windows[open.number].shown = kept.keep_window[at++];
  if (kept.tokens_after < kept.tokens_before)
    log(LogLevel::debug, "context trimmed",
        {{"agent", table_.names().name_of(node, node.id())},
         {"tokens_before", std::to_string(kept.tokens_before)},
         {"tokens_after", std::to_string(kept.tokens_after)}});
}

void Turns::write_context(core::Node& node, ChatRequest& request) {
  const AgentSpec& spec = *node.spec;
  TurnData& data = data_of(node);
  // A token counter is the host's: if it throws, everything is sent.
  engine_.guarded("TokenCounter", [&] { trim(node); });
  request.messages = data.conversation.rendered(system_prompt_of(spec), data.sent.messages);
  if (!spec.tools) return;
  tools::protocol_of(spec.tool_protocol)
      .write(
          spec.tools->impl(),
          [&](std::uint64_t number) {
            const auto seen = data.sent.windows.find(number);
            return seen == data.sent.windows.end() || seen->second.shown;
          },
          request);
  for (ChatMessage& message : correction(*data.turn)) request.messages.push_back(std::move(message));
}

}  // namespace agentcore::turn
