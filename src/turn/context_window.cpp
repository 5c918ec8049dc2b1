#include "turn/context_window.hpp"

#include "tools/protocol.hpp"
#include "tools/windows_text.hpp"
#include "turn/stable_part.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::turn {
namespace {

std::size_t tokens_of_tools(const AgentSpec& spec, const ToolRegistry::Impl& registry) {
  std::size_t tokens = 0;
  const auto add = [&](const tools::Entry& entry) {
    tokens += context::tool_tokens(entry.tool->spec.name, entry.tool->spec.description,
                                   entry.tool->spec.parameters, spec.context.count_tokens);
  };
  for (const tools::Entry& entry : registry.plain) add(entry);
  for (const tools::OpenWindow& open : registry.windows)
    for (const tools::Entry& entry : open.actions) add(entry);
  return tokens;
}

// The messages after the history in a request for another answer.
std::vector<ChatMessage> correction(const ActiveTurn& turn) {
  if (!turn.refused) return {};
  return {{Role::assistant, turn.refused->text}, {Role::user, turn.refused->correction}};
}

// Updates the list of windows: new ones are sent, closed ones removed.
std::vector<context::WindowCost> costs_of(const AgentSpec& spec, const ToolRegistry::Impl& registry,
                                          SentContext& sent, std::size_t messages) {
  std::map<std::uint64_t, SeenWindow> known;
  std::vector<context::WindowCost> costs;
  for (const tools::OpenWindow& open : registry.windows) {
    const auto before = sent.windows.find(open.number);
    const SeenWindow seen = before == sent.windows.end() ? SeenWindow{messages, true} : before->second;
    known.emplace(open.number, seen);
    costs.push_back({context::text_tokens(tools::window_text(open), spec.context.count_tokens),
                     seen.opened_at, open.window.important, open.window.pinned, seen.shown});
  }
  sent.windows = std::move(known);
  return costs;
}

void trim(Environment& environment, Turn turn) {
  context::Trimmed kept = plan_context(turn);
  hide_windows(turn, kept);
  turn.data().sent.decide(std::move(kept.keep_message));
  turn.active().prompt_tokens = kept.tokens_after;
  if (kept.tokens_after < kept.tokens_before)
    environment.log(LogLevel::debug, "context trimmed",
                    {{"agent", environment.name_of(turn.node())},
                     {"tokens_before", std::to_string(kept.tokens_before)},
                     {"tokens_after", std::to_string(kept.tokens_after)}});
}

}  // namespace

context::Trimmed plan_context(Turn turn) {
  TurnData& data = turn.data();
  const AgentSpec& spec = turn.spec();
  const std::vector<ChatMessage>& messages = data.conversation.messages();
  SentContext& sent = data.sent;
  // Results are counted only when they are complete: a model is called when all of them are.
  for (std::size_t i = sent.tokens.size(); i < messages.size(); ++i)
    sent.tokens.push_back(context::message_tokens(messages[i], spec.context.count_tokens));
  const ToolRegistry::Impl& registry = tools::registry_of(spec.tools);
  const auto windows = costs_of(spec, registry, sent, messages.size());
  std::size_t fixed = tokens_of_tools(spec, registry) + sent.summary_tokens();
  if (const std::string& prompt = system_prompt_of(spec); !prompt.empty())
    fixed += context::tokens_around_message + context::text_tokens(prompt, spec.context.count_tokens);
  for (const ChatMessage& message : correction(*data.turn))
    fixed += context::message_tokens(message, spec.context.count_tokens);
  return context::trim(messages, sent.tokens, sent.messages, windows, fixed, spec.context, sent.unsent);
}

void hide_windows(Turn turn, const context::Trimmed& plan) {
  std::size_t at = 0;
  for (const tools::OpenWindow& open : tools::registry_of(turn.spec().tools).windows)
    turn.data().sent.windows[open.number].shown = plan.keep_window[at++];
}

void write_context(Environment& environment, Turn turn, ChatRequest& request) {
  const AgentSpec& spec = turn.spec();
  TurnData& data = turn.data();
  environment.engine.guarded("TokenCounter", [&] { trim(environment, turn); });
  if (turn.is_over()) return;  // by a log sink
  const std::vector<ChatMessage>& history = data.conversation.messages();
  const std::string& prompt = system_prompt_of(spec);
  // What was steered since an answer was refused stands behind the correction, which is not sent again.
  const std::size_t unstable = data.turn->refused ? history.size() - data.turn->refused->at : 0;
  data.turn->request_end = history.size() - unstable;
  const ChatMessage* const summary = data.sent.summary();
  request.cache_key = cache_key_of(spec, request.agent_id);
  request.messages = data.conversation.rendered(prompt, data.sent.messages, summary, data.sent.unsent);
  request.sent_before =
      sent_before(history, data.turn->request_end, data.sent, (prompt.empty() ? 0 : 1) + (summary ? 1 : 0));
  const auto is_shown = [&](std::uint64_t number) {
    const auto seen = data.sent.windows.find(number);
    return seen == data.sent.windows.end() || seen->second.shown;
  };
  if (spec.tools)
    tools::protocol_of(spec.tool_protocol)
        .write(spec.tools->impl(), is_shown, spec.context.volatile_place, request);
  if (!data.turn->refused) return;
  request.stable_messages = request.messages.size() - unstable;
  std::vector<ChatMessage> pair = correction(*data.turn);
  // Messages steered since then are the last ones of the request, and nothing is trimmed behind them.
  request.messages.insert(request.messages.end() - static_cast<std::ptrdiff_t>(unstable),
                          std::move_iterator(pair.begin()), std::move_iterator(pair.end()));
}

}  // namespace agentcore::detail::turn
