// ContextOptions: how much of a conversation is sent to a model.
#pragma once

#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/no_limit.hpp>
#include <agentcore/shared_or_borrowed.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore {

/// Returns the number of tokens of `text`. Called often and on the loop thread: the function should be fast,
/// and must not throw. If it throws nevertheless, the exception is logged, the conversation is sent without
/// trimming, and budgets use estimate_tokens().
using TokenCounter = std::function<std::size_t(std::string_view text)>;

/// Returns an estimate of the number of tokens for any model: one token for every 2.5 characters (code
/// points), rounded up. In invalid UTF-8, every byte that does not continue a code point counts as a
/// character.
/// @threadsafe
AGENTCORE_API std::size_t estimate_tokens(std::string_view text) noexcept;

/// The number of tokens that estimates count for one image. The number that a provider counts depends on the
/// size of the image.
inline constexpr std::size_t estimated_image_tokens = 1000;

/// Where the text of windows, which changes from request to request, is sent.
enum class VolatilePlace : unsigned char {
  last_message,  ///< Behind everything else (ChatRequest::tail): providers can cache what stands before it.
  system_prompt  ///< At the end of the system message, for models that do not notice it elsewhere.
};
/// Returns the name of the enumerator, spelled as above.
AGENTCORE_API std::string_view to_string(VolatilePlace place) noexcept;

/// How older turns are summarised, instead of being left out, when a conversation becomes too long.
///
///     spec.context.compact = agentcore::Compaction{.model = "gpt-4o-mini"};
///
/// A summary is made by one model call without tools. Its request has the prompt as the system message, and
/// in one user message the earlier summary and the messages to summarise, each as a line of JSON, so that
/// nothing in them can pass for a message, a tool call or an instruction of the host. Of images it has only
/// the number; reasoning is left out. The request has at most ContextOptions::max_tokens, like any other. If
/// the messages have more, as after many turns in which no summary could be made, several summaries are made
/// in a row, each of the oldest turns that fit and the summary before it. In a single turn that is longer
/// than a request, the longest texts are cut in the middle, with a note.
///
/// A summary is used if it was not cut off, filtered or refused (FinishReason), it is not blank, and the
/// request with it has at most ContextOptions::max_tokens. So ContextOptions::max_tokens should exceed
/// ContextOptions::target_tokens by at least Compaction::max_tokens.
struct Compaction {
  /// The instruction for the summary. Empty: a text that asks for all facts, decisions, names, open points
  /// and results that the rest of the conversation needs.
  std::string prompt = {};
  /// The model that summarises. Its cost is computed with ModelOptions::prices. Empty: ModelOptions::name.
  std::string model = {};
  /// The client for that model call. Null: that of the agent.
  SharedOrBorrowed<LlmClient> llm = {};
  /// Maximum number of tokens of a summary, at least 1. One that is cut off there is not used.
  std::uint32_t max_tokens = 2'000;
  /// Maximum number of tokens that all summaries of the agent may use, prompts included; no_limit: none
  /// beside the budgets of the agent, in which they count as all model calls do. When it is used up, older
  /// turns are left out.
  std::uint64_t budget_tokens = no_limit;
};

/// The limits to which a conversation is trimmed before each model call. The default is small, so that it
/// suits every model; context_for_model() and context_for_window() make options for a larger window. When
/// content is left out, the event ContextTrimmed says what.
///
///     agentcore::AgentSpec spec;
///     spec.context = {.max_tokens = 100'000, .target_tokens = 60'000};
///     spec.context.count_tokens = [](std::string_view text) { return text.size() / 4; };
///     agentcore::Agent agent = tree.create(std::move(spec)).value();
///
/// If the request has more than `max_tokens`, content is left out until at most `target_tokens` remain:
/// 1. The oldest turns and the windows that are not Window::important, oldest first. Turns are left out only
///    as long as the conversation keeps `min_conversation_tokens`.
/// 2. The important windows, oldest first.
///
/// If more than `max_tokens` remain after that:
/// 3. The finished steps of the current turn, oldest first, as long as the conversation keeps
///    `min_conversation_tokens`.
/// 4. The oldest turns, then finished steps, even below `min_conversation_tokens`, until at most `max_tokens`
///    remain.
///
/// Never left out are the system prompt, windows with Window::pinned, turns with a ChatMessage::pinned
/// message, and the question and the last step of the current turn. A tool call and its result are only left
/// out together. If more than `max_tokens` remain at the end, the request is sent nevertheless.
///
/// One result of a tool has at most a quarter of `max_tokens` in a request: a longer one is cut in the
/// middle, with a note for the model that says how many bytes are missing, and in the same way in all
/// requests. So are the results of background tasks that a question begins with, together.
/// Agent::conversation() keeps them whole. Other texts are never cut: a question, a steered message or a
/// window that is too long is sent as it is. A message that waits in the mailbox has no part in any of this
/// until its turn begins; then it is the question of the current turn.
///
/// Messages that were left out stay in Agent::conversation(), unless `archive_bytes` removes them. What was
/// left out is not sent again, even if there is room later. One exception is what was left out because a
/// summary could not be made (`compact`). The other one is a conversation that rewind(),
/// fork() or truncate_answer() has shortened: if its last question was left out, or a message was removed
/// that a summary stands for, the messages for which no earlier summary stands are sent again, within these
/// limits.
struct ContextOptions {
  /// Maximum number of tokens of a request: system prompt, tool descriptions, windows and messages.
  /// no_limit: the conversation is never trimmed.
  std::size_t max_tokens = 32'000;
  /// Number of tokens to which a longer request is trimmed. 0, or more than `max_tokens`: half of
  /// `max_tokens`.
  std::size_t target_tokens = 16'000;
  /// Number of tokens of the conversation (all messages but the system prompt) to keep. More than
  /// `target_tokens`: counts as `target_tokens`.
  std::size_t min_conversation_tokens = 8'000;
  /// Set: when a request has more than `max_tokens`, the messages that would be left out are first
  /// summarised by a model call, and the summary is sent in their place, as a user message before the others
  /// (ChatMessage::summary). A later summary includes the earlier one. Messages and turns that are never left
  /// out are not summarised. The summary is a step of the turn as any other model call: it waits for pauses,
  /// is ended by verbs and deadlines, and counts in budgets and in the usage of the turn (CompactionChanged).
  /// Agent::steer() does not end it: the message is in the model call that follows. If it fails, or a budget
  /// does not cover it, the messages are left out of the requests of that turn (ContextTrimmed), and the next
  /// turn offers the same messages to a summary again; a warning in the log says so. Only when
  /// Compaction::budget_tokens is used up they are left out for good. Agent::conversation() keeps the
  /// messages themselves, Agent::context() has the summary. Empty: messages are left out without a summary.
  std::optional<Compaction> compact = {};
  /// Maximum size of the messages that are kept in Agent::conversation() although they are not sent any more,
  /// in bytes. When they are larger after a summary was made, the oldest turns of which nothing is sent are
  /// removed: the conversation then begins with a later turn, and can be rewound no further. Has no effect
  /// without `compact`. no_limit: all are kept.
  std::size_t archive_bytes = no_limit;
  /// Where the text of windows is sent.
  VolatilePlace volatile_place = VolatilePlace::last_message;
  /// Counts the tokens. Empty: estimate_tokens().
  TokenCounter count_tokens = {};
};

}  // namespace agentcore
