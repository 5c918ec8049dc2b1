#include "turn/compactor.hpp"

#include "context/summary_text.hpp"
#include "context/trim.hpp"
#include "core/blank.hpp"
#include "core/message_items.hpp"
#include "turn/context_window.hpp"
#include "turn/request_tokens.hpp"
#include "turn/usage_accounting.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::detail::turn {
namespace {

using Options = agentcore::Compaction;

const Options& options_of(Turn turn) noexcept {
  return *turn.spec().context.compact;
}

std::string_view prompt_of(const Options& options) noexcept {
  return options.prompt.empty() ? context::summary_prompt : std::string_view(options.prompt);
}

// Why the outcome of the call is not used; nothing if it is. `tokens`: of the summary.
std::optional<ChatError> problem_of(const ActiveTurn& active, std::size_t tokens, std::size_t max_tokens) {
  const ModelAnswer& outcome = active.answer;
  if (active.summary->too_long)
    return ChatError{Errc::response_too_large, "the summary is longer than TreeOptions::max_answer_bytes"};
  if (outcome.kind == ChatOutcome::Kind::failed) return active.summary->error;
  if (outcome.kind == ChatOutcome::Kind::cancelled)
    return ChatError{Errc::invalid_answer, "the client cancelled the call"};
  switch (outcome.finish_reason) {
    case FinishReason::length:
      return ChatError{Errc::invalid_answer, "the summary was cut off at its token limit"};
    case FinishReason::content_filter:
      return ChatError{Errc::invalid_answer, "a content filter ended the summary"};
    case FinishReason::refusal:
      return ChatError{Errc::invalid_answer, "the model refused to summarise"};
    case FinishReason::other:
      return ChatError{Errc::invalid_answer, "the summary ended for a reason that is not known"};
    case FinishReason::tool_calls:
      return ChatError{Errc::invalid_answer, "the model called tools and did not summarise"};
    default:
      break;
  }
  if (core::is_blank(active.text)) return ChatError{Errc::invalid_answer, "the summary is blank"};
  if (active.summary->tokens_kept + tokens > max_tokens)
    return ChatError{Errc::response_too_large,
                     "the request with the summary is longer than ContextOptions::max_tokens"};
  return std::nullopt;
}

std::size_t bytes_of(const ChatMessage& message) noexcept {
  std::size_t bytes = message.tool_call_id.size();
  for (const TextItem& text : ItemsOf<const TextItem>(message.items)) bytes += text.text.size();
  for (const ToolCall& call : message.tool_calls())
    bytes += call.id.size() + call.name.size() + call.arguments.size();
  for (const ContentPart& part : message.parts()) bytes += part.url.size() + part.data.size();
  for (const ReasoningBlock& block : message.reasoning()) bytes += block.data.size();
  return bytes;
}

}  // namespace

bool Compactor::write(Turn turn, ChatRequest& request) {
  if (!turn.spec().context.compact || turn.active().summaries != Summaries::possible) return false;
  SummaryCall call;
  bool needed = false;
  bool written = false;
  const bool counted = count_guarded(context_.engine, [&] {
    needed = plan(turn, call);
    written = needed && write_request(turn, call, request);
  });
  if (turn.is_over()) return false;
  if (counted && !needed) return false;
  auto summary = written ? std::make_unique<SummaryCall>() : nullptr;  // before anything is reserved
  const bool reserved = counted && written && reserve(turn, request);
  if (turn.is_over()) return false;
  if (reserved) {
    *summary = std::move(call);
    turn.active().summary = std::move(summary);
    return true;
  }
  const bool used_up = turn.active().summaries == Summaries::used_up;
  if (!used_up) note_failure(turn);
  log_unused(turn, !counted   ? "the TokenCounter has thrown"
                   : !written ? "there is no room for a summary within ContextOptions::max_tokens"
                   : used_up  ? "Compaction::budget_tokens does not cover the summary"
                              : "a budget does not cover the summary");
  return false;
}

// Older messages are left out of the requests of this turn.
void Compactor::note_failure(Turn turn) noexcept {
  turn.active().summaries = Summaries::failed;
  turn.active().tells_left_out = true;
}

// False: nothing would be left out. Windows are left out at once.
bool Compactor::plan(Turn turn, SummaryCall& call) {
  context::Trimmed trimmed = plan_context(turn);
  SentContext& sent = turn.data().sent;
  sent.messages.resize(trimmed.keep_message.size(), true);
  if (trimmed.keep_message == sent.messages) return false;
  hide_windows(turn, trimmed);
  call.tokens_before = trimmed.tokens_before;
  call.tokens_kept = trimmed.tokens_after - sent.summary_tokens();
  call.kept = std::move(trimmed.keep_message);
  return true;
}

// False: there is no room for a summary, or for what is to be summarised.
bool Compactor::write_request(Turn turn, SummaryCall& call, ChatRequest& request) {
  const ContextOptions& limits = turn.spec().context;
  const Options& options = options_of(turn);
  const TokenCounter& count = limits.count_tokens;
  const std::size_t around = context::message_tokens(context::summary_message({}), count);
  const std::size_t taken = call.tokens_kept + around;
  const std::size_t prompt =
      2 * context::tokens_around_message + context::text_tokens(prompt_of(options), count);
  if (taken >= limits.max_tokens || prompt >= limits.max_tokens) return false;
  const TurnData& data = turn.data();
  context::SummaryText what = context::text_to_summarise(
      {data.conversation.messages(), data.sent.messages, call.kept, data.sent.summary(), data.sent.cuts},
      limits.max_tokens - prompt, count);
  if (what.text.empty()) return false;
  // What does not fit into this request is sent until a further summary stands for it, which is made next.
  for (std::size_t i = what.end; i < call.kept.size(); ++i) {
    if (call.kept[i] || !data.sent.messages[i]) continue;
    call.kept[i] = true;
    call.tokens_left += data.sent.tokens[i];
  }
  request.messages = {ChatMessage::system(std::string(prompt_of(options))),
                      ChatMessage::user(std::move(what.text))};
  request.stable_messages = 1;  // the text is sent once
  if (!options.model.empty()) request.model = options.model;
  request.max_tokens =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(options.max_tokens, limits.max_tokens - taken));
  return true;
}

// False: a budget refuses the call, or covers a part of a summary only, which could not be used.
bool Compactor::reserve(Turn turn, ChatRequest& request) {
  const Options& options = options_of(turn);
  const std::uint64_t prompt = request_tokens(context_.engine, turn.spec(), request);
  if (turn.is_over()) return false;
  if (options.budget_tokens != no_limit) {
    const std::uint64_t used = core::saturating_sum(turn.data().summary_tokens, prompt);
    if (core::saturating_sum(used, *request.max_tokens) > options.budget_tokens) {
      turn.active().summaries = Summaries::used_up;
      return false;
    }
  }
  turn.active().prompt_tokens = prompt;
  const std::uint32_t wanted = *request.max_tokens;
  if (!usage_.reserve(turn, request).allowed || turn.is_over()) return false;
  if (*request.max_tokens == wanted) return true;
  usage_.settle(turn.node(), turn.active());  // releases the reservation
  return false;
}

LlmClient& Compactor::client_of(Turn turn, LlmClient& usual) noexcept {
  const Options& options = options_of(turn);
  return options.llm ? *options.llm : usual;
}

void Compactor::log_unused(Turn turn, std::string_view why) noexcept {
  context_.log(
      LogLevel::warning,
      turn.active().summaries == Summaries::failed
          ? "a summary is not used; older messages are left out of this turn, and the next one tries again"
          : "a summary is not used; older messages are left out",
      {{"agent", context_.name_of(turn.node())}, {"why", why}});
}

void Compactor::emit_begin(Turn turn) noexcept {
  SummaryCall& call = *turn.active().summary;
  call.number = turn.active().model_calls + 1;
  context_.hub.emit(turn.node(), [&](Agent agent) {
    return CompactionChanged{.agent = std::move(agent),
                             .turn = turn.number(),
                             .call = call.number,
                             .tokens_before = call.tokens_before};
  });
}

Next Compactor::take(Turn turn) {
  ActiveTurn& active = turn.active();
  ChatMessage summary = context::summary_message(active.text);
  const std::size_t tokens =
      context::tokens_around_message + text_tokens(context_.engine, turn.spec(), core::first_text(summary));
  if (turn.is_over()) return Next::ended;
  const std::optional<ChatError> problem = problem_of(active, tokens, turn.spec().context.max_tokens);
  const bool used = !problem;
  SentContext& sent = turn.data().sent;
  sent.make_room();
  const std::unique_ptr<SummaryCall> taken = std::move(active.summary);
  SummaryCall& call = *taken;
  if (used) {
    sent.decide(std::move(call.kept));
    sent.summarise(std::move(summary), tokens);
  }
  const bool removed = used && limit_archive(turn);
  if (!used) note_failure(turn);
  active.text.clear();
  active.phase = Phase::asked;
  context_.hub.emit(turn.node(), [&](Agent agent) {
    return CompactionChanged{std::move(agent),
                             turn.number(),
                             call.number,
                             true,
                             used,
                             problem.value_or(ChatError{}),
                             call.tokens_before,
                             used ? call.tokens_kept + call.tokens_left + tokens : 0};
  });
  if (used)
    emit_compacted(turn, removed);
  else
    log_unused(turn, problem->message);
  return Next::proceed;
}

// Removes the oldest turns of which nothing is sent, as far as ContextOptions::archive_bytes demands. True:
// some were removed. No call of the turn is open, so nothing but the history and what is sent has positions.
bool Compactor::limit_archive(Turn turn) noexcept {
  const std::size_t limit = turn.spec().context.archive_bytes;
  if (limit == no_limit) return false;
  Conversation& conversation = turn.data().conversation;
  SentContext& sent = turn.data().sent;
  const std::vector<ChatMessage>& messages = conversation.messages();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < sent.messages.size(); ++i)
    if (!sent.messages[i]) bytes += bytes_of(messages[i]);
  const std::size_t before = messages.size();
  const auto is_unsent = [&](std::size_t begin, std::size_t end) {
    const auto first = sent.messages.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = sent.messages.begin() + static_cast<std::ptrdiff_t>(end);
    return std::find(first, last, true) == last;
  };
  for (std::size_t begin = 0; bytes > limit && begin < messages.size();) {
    std::size_t end = begin;
    std::size_t next = context::turn_end(messages, begin);
    while (bytes > limit && next < messages.size() && is_unsent(end, next)) {
      for (; end < next; ++end) bytes -= bytes_of(messages[end]);
      next = context::turn_end(messages, end);
    }
    sent.remove(begin, end);
    conversation.remove(begin, end);
    if (begin == end) begin = next;
  }
  const std::size_t removed = before - messages.size();
  if (turn.active().refused) turn.active().refused->at -= removed;
  return removed != 0;
}

void Compactor::emit_compacted(Turn turn, bool removed) noexcept {
  const std::size_t prompt = system_prompt_of(turn.spec()).empty() ? 0 : 1;
  const std::size_t kept = turn.data().conversation.messages().size() + prompt;
  context_.hub.emit(turn.node(), [&](Agent agent) {
    return ConversationChanged{std::move(agent), ConversationChange::compacted, turn.number(),
                               removed ? 0 : kept};
  });
}

void Compactor::emit_end(TurnContext& context, const core::Node& node, std::uint64_t turn,
                         const SummaryCall& summary, Errc why) noexcept {
  if (summary.number == 0) return;
  context.hub.emit(node, [&](Agent agent) {
    CompactionChanged event{.agent = std::move(agent), .turn = turn, .call = summary.number};
    event.ended = true;
    event.error.code = why;
    event.tokens_before = summary.tokens_before;
    return event;
  });
}

}  // namespace agentcore::detail::turn
