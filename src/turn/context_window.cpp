#include "turn/context_window.hpp"

#include "core/message_items.hpp"
#include "tools/protocol.hpp"
#include "tools/windows_text.hpp"
#include "turn/request_ends.hpp"
#include "turn/request_tokens.hpp"

#include <algorithm>
#include <cassert>
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
  return {ChatMessage::assistant(turn.refused->text), ChatMessage::user(turn.refused->correction)};
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

// Counts the messages that are not counted yet, and cuts results that have more than a quarter of a request.
// Results are counted only when they are complete: a model is called when all of them are.
void count_messages(const AgentSpec& spec, const Conversation& conversation, SentContext& sent) {
  const ContextOptions& options = spec.context;
  const std::size_t quarter = options.max_tokens / 4;
  const std::size_t most = quarter - std::min(quarter, context::tokens_around_message);
  const std::vector<ChatMessage>& messages = conversation.messages();
  for (std::size_t i = sent.tokens.size(); i < messages.size(); ++i) {
    std::size_t tokens = context::message_tokens(messages[i], options.count_tokens);
    const std::string_view text =
        tokens > most && options.max_tokens != no_limit ? conversation.text_of_tools(i) : std::string_view();
    if (auto cut = context::middle_of(text, most, options.count_tokens); cut && !text.empty()) {
      const std::string& all = core::first_text(messages[i]);
      const auto before = static_cast<std::size_t>(text.data() - all.data());
      cut->begin += before;
      cut->end += before;
      ChatMessage said = messages[i];
      said.set_content(context::without(all, *cut));
      tokens = context::message_tokens(said, options.count_tokens);
      sent.tokens.reserve(i + 1);  // a message is counted and cut, or neither
      sent.cuts.push_back({i, *cut});
    }
    sent.tokens.push_back(tokens);
  }
}

// True for a message that is decided to be sent, or not decided.
bool is_sent(const std::vector<bool>& sent, std::size_t message) noexcept {
  return message >= sent.size() || sent[message];
}

// What of the messages in `before`, which has none before `first`, is not sent now; and what was cut since
// the last request.
void tell_left_out(Turn turn, const std::vector<bool>& before, std::size_t first, ContextTrimmed& event) {
  SentContext& sent = turn.data().sent;
  const std::vector<bool>& after = sent.now();
  const std::size_t prompt = system_prompt_of(turn.spec()).empty() ? 0 : 1;
  for (std::size_t i = first; i < after.size(); ++i)
    if (is_sent(before, i) && !after[i]) event.messages.push_back(i + prompt);
  for (std::size_t i = sent.cuts_told; i < sent.cuts.size(); ++i)
    event.cut_results.push_back(sent.cuts[i].message + prompt);
  event.windows = std::exchange(turn.active().windows_left_out, 0);
  sent.cuts_told = sent.cuts.size();
}

// Fills `event` with what the next request leaves out, and the one before has not.
void trim(TurnContext& context, Turn turn, ContextTrimmed& event) {
  SentContext& sent = turn.data().sent;
  ActiveTurn& active = turn.active();
  event.for_this_turn = active.summaries == Summaries::failed;
  const bool tells_all = !event.for_this_turn || active.tells_left_out;
  const std::vector<bool> before = tells_all ? sent.messages : sent.now();
  const std::size_t first = sent.unsent;
  context::Trimmed kept = plan_context(turn);
  hide_windows(turn, kept);
  // An earlier turn has left messages out temporarily; this turn reports them again.
  for (std::size_t i = 0; event.for_this_turn && i < before.size(); ++i)
    if (before[i] && !is_sent(sent.now(), i)) kept.tokens_before += sent.tokens[i];
  if (event.for_this_turn)
    sent.decide_for_now(std::move(kept.keep_message));
  else
    sent.decide(std::move(kept.keep_message));
  active.prompt_tokens = kept.tokens_after;
  active.tells_left_out = false;
  event.tokens_before = kept.tokens_before;
  event.tokens_after = kept.tokens_after;
  tell_left_out(turn, before, first, event);
  if (kept.tokens_after < kept.tokens_before)
    context.log(LogLevel::debug, "context trimmed",
                {{"agent", context.name_of(turn.node())},
                 {"tokens_before", std::to_string(kept.tokens_before)},
                 {"tokens_after", std::to_string(kept.tokens_after)}});
}

void emit_trimmed(TurnContext& context, Turn turn, ContextTrimmed event) {
  if (event.messages.empty() && event.cut_results.empty() && event.windows == 0) return;
  context.hub.emit(turn.node(), [&](Agent agent) {
    event.agent = std::move(agent);
    event.turn = turn.number();
    event.call = turn.active().model_calls + 1;
    return std::move(event);
  });
}

}  // namespace

context::Trimmed plan_context(Turn turn) {
  TurnData& data = turn.data();
  const AgentSpec& spec = turn.spec();
  const std::vector<ChatMessage>& messages = data.conversation.messages();
  SentContext& sent = data.sent;
  count_messages(spec, data.conversation, sent);
  const ToolRegistry::Impl& registry = tools::registry_of(spec.tools);
  const auto windows = costs_of(spec, registry, sent, messages.size());
  std::size_t fixed = tokens_of_tools(spec, registry) + sent.summary_tokens();
  if (const std::string& prompt = system_prompt_of(spec); !prompt.empty())
    fixed += context::tokens_around_message + context::text_tokens(prompt, spec.context.count_tokens);
  for (const ChatMessage& message : correction(*data.turn))
    fixed += context::message_tokens(message, spec.context.count_tokens);
  const bool for_now = data.turn->summaries == Summaries::failed;
  return context::trim(messages, sent.tokens, for_now ? sent.now() : sent.messages, windows, fixed,
                       spec.context, sent.unsent);
}

void hide_windows(Turn turn, const context::Trimmed& plan) {
  std::size_t at = 0;
  for (const tools::OpenWindow& open : tools::registry_of(turn.spec().tools).windows) {
    const bool keeps = plan.keep_window[at++];
    if (std::exchange(turn.data().sent.windows[open.number].shown, keeps) && !keeps)
      ++turn.active().windows_left_out;
  }
}

void write_context(TurnContext& context, Turn turn, ChatRequest& request) {
  const AgentSpec& spec = turn.spec();
  TurnData& data = turn.data();
  ContextTrimmed left_out;
  if (count_guarded(context.engine, [&] { trim(context, turn, left_out); }) &&
      !turn.is_over())  // by a TokenCounter
    emit_trimmed(context, turn, std::move(left_out));
  if (!turn.is_admitted()) return;
  const std::vector<ChatMessage>& history = data.conversation.messages();
  const std::string& prompt = system_prompt_of(spec);
  // What was steered since an answer was refused stands behind the correction, which is not sent again.
  assert(!data.turn->refused || data.turn->refused->at <= history.size());
  const std::size_t unstable = data.turn->refused ? history.size() - data.turn->refused->at : 0;
  data.turn->request_end = history.size() - unstable;
  const ChatMessage* const summary = data.sent.summary();
  request.cache_key = cache_key_of(spec, request.agent_id);
  request.messages =
      data.conversation.rendered(prompt, data.sent.now(), summary, data.sent.unsent, data.sent.cuts);
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
