// Histories: checks, repairs, JSON. Pure functions, usable on any thread.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// True if `messages` can be sent to a provider as they are (G8). The rules:
///
///   - There is at most one system message, and it is the first message.
///   - Every assistant message follows a user message.
///   - A user message that has no final answer, and is not the last one, is marked as interrupted.
///   - A turn whose user message is marked as interrupted has no final answer. A final answer is followed by
///   a
///     user message, or by nothing. It is an assistant message without tool calls and without a mark, or with
///     the mark `truncated`.
///   - An assistant message with another mark is a part of an answer (ChatMessage::is_partial()). It ends a
///     turn whose user message is marked as interrupted, or is marked as `steered` and followed by a steered
///     message.
///   - Every tool call has a name, an id that is unique in the history, and exactly one result. All results
///     of an assistant message come before any other message.
///   - Only user messages before the first question are summaries (ChatMessage::summary).
///   - Only user messages, and assistant messages without tool calls, have interruptions. User messages have
///     neither `steered` nor `truncated`. An assistant message with a mark has no reasoning.
///   - Only user and tool messages have images, documents and sounds, only assistant messages have tool
///   calls,
///     and only tool messages have a tool_call_id and a call_end.
///
/// The last user message may be unanswered. Agent::conversation() is always valid.
///
/// @threadsafe
AGENTCORE_API bool is_valid_history(const std::vector<ChatMessage>& messages);

/// The result of repair_history().
struct RepairedHistory {
  std::vector<ChatMessage> messages;  ///< A valid history.
  std::vector<std::string> changes;   ///< One sentence for each change; messages are counted from 1.
};

/// Makes a valid history from any messages: from a history that ends in the middle of a turn, or that comes
/// from elsewhere. Idempotent. A valid history that ends with a final answer, or with an interrupted turn, is
/// not changed. The changes:
///
///   - A tool call without a result gets the result "cancelled".
///   - A user message without a final answer is marked as stopped, also if it is the last one, unless it is
///     already marked as interrupted.
///   - An assistant message that follows a final answer, or a part of an answer, is joined with it.
///   - A part of an answer before a steered message is marked as `steered`.
///   - An id of a tool call that is missing or not unique is replaced, in its result, too.
///   - An interruption mark is removed from a user message that has a final answer.
///   - Only what no provider accepts is dropped: results without a call, assistant messages before the first
///     user message, tool calls without a name, system messages after the first message, and fields that a
///     message of its role must not have, such as images in an answer.
///
///     agentcore::RepairedHistory repaired = agentcore::repair_history(std::move(messages));
///     for (const std::string& change : repaired.changes) std::puts(change.c_str());
///
/// @threadsafe
AGENTCORE_API RepairedHistory repair_history(std::vector<ChatMessage> messages);

/// Returns a JSON array: the `messages` of a chat-completions request, with these further fields of agentcore
/// where they are not empty:
///
///     "interruption"      of a message: the name of an Interruption other than `none`
///     "pinned"            of a message: true
///     "steered"           of a message: true
///     "summary"           of a message: true
///     "outcome"           of a tool message: the name of a ToolOutcome, of ChatMessage::call_end
///     "success"           of a tool message with the outcome `completed`: true
///     "reasoning_blocks"  of a message: objects with "dialect" and "data", and what is known of "server",
///                         "model", "account" and "prefix"
///     "window_id"         of a tool call: its window, unless the name is "<window>__<action>"
///     "action_id"         of a tool call
///     "order"             of a message whose items do not stand as a chat-completions request has them
///                         (reasoning, one text, images, tool calls): "text", "reasoning", "tool_call" or
///                         "image" for each item. Its `content` is a list, with a part for each text and
///                         image; the part of a text may have "refusal", "id" and "phase" of TextItem
///
/// A document is a part of the type "file", with "file_url" in place of "file_data" if it has a URL; a sound
/// is one of the type "input_audio", with its "media_type" and, if it has one, its "url".
///
/// Remove these fields before you send the array to a provider that rejects unknown fields. All data of a
/// message is preserved, except for the `data` and `media_type` of an image with a URL, which have no meaning
/// there. An image in base64 becomes a data URL, which is read back as `data`. Invalid UTF-8 is replaced by
/// U+FFFD. Any vector can be written, valid or not.
///
/// This is format 5. Format 4 had no "order", and of a block of reasoning only the "server"; format 3 had no
/// "outcome" and no "success", format 2 no interruption of an assistant message and no "summary", and format
/// 1 had only "reasoning_blocks". A reader of format 5 reads all of them.
///
/// @threadsafe
AGENTCORE_API std::string history_to_json(const std::vector<ChatMessage>& messages);

/// Reads such an array, written by agentcore or by another program:
///
///   - Unknown fields are ignored.
///   - Content in parts ([{"type":"text","text":...}]) is joined to one text; images ("image_url") become the
///     parts of the message.
///   - Arguments that are a JSON object are converted to its text.
///   - The role `developer` is read as `system`.
///   - A tool call named "<window>__<action>" is an action of that window, unless "window_id" specifies
///     another one.
///   - A missing or null field counts as empty, but `role` and `function` are required, and `content` must be
///     present in every message except those of the role assistant.
///
/// The result is not checked: call repair_history() if it may not be a valid history. The length of `json` is
/// not limited here; the caller must limit it.
///
/// Error: Errc::invalid_history with the position ("message 3: role is missing", counted from 1), for text
/// that is not JSON, more than 64 levels, a value of the wrong type, content that is neither text nor an
/// image, or an unknown role, interruption or outcome.
///
///     auto messages = agentcore::history_from_json(text);
///     if (messages) spec.history = agentcore::repair_history(*std::move(messages)).messages;
///
/// @threadsafe
AGENTCORE_API Result<std::vector<ChatMessage>> history_from_json(std::string_view json);

}  // namespace agentcore
