// Histories as data: checked and repaired. Pure functions, usable on any thread.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

// True when `messages` can be sent to a provider as they are (G8): at most one system message, and that one
// first; every answer after a question; two questions in a row only where the first was interrupted; an
// answer in words only where it was not; every tool call with an id of its own and exactly one result, before
// anything else is said; interruptions and pictures only in questions. Each Agent::conversation() is valid.
bool is_valid_history(const std::vector<ChatMessage>& messages);

struct RepairedHistory {
  std::vector<ChatMessage> messages;
  std::vector<std::string> changes;  // one sentence for each thing that was not as it should be
};

// Makes a valid history of any: of one that was broken off in the middle of a turn, or that comes from
// elsewhere. A call without a result gets the result "cancelled"; a question without an answer is marked as
// stopped, the last one too; two answers in a row become one; an id that is missing or taken is replaced.
// Dropped is only what no provider takes: results without a call, answers before the first question, calls
// without a name, further system messages, pictures outside a question. What is valid already, and has its
// last answer, stays as it is. Idempotent.
RepairedHistory repair_history(std::vector<ChatMessage> messages);

// Returns a JSON array: the `messages` of a chat-completions request, with these further fields of agentcore
// where they are not empty:
//   "interruption"      of a message: "aborted", "stopped" or "failed"
//   "pinned"            of a message: true
//   "reasoning_blocks"  of a message: objects with "dialect", "data" and, if it is known, "server"
//   "window_id"         of a tool call: its window, unless the name is "<window>__<action>"
//   "action_id"         of a tool call
// Remove these fields before you send the array to a provider that refuses unknown fields. Nothing of a
// message is lost, but for the `data` and `media_type` of a picture with a URL, which have no meaning there.
// A data URL (a picture in base64) is read back as `data`. Broken UTF-8 is replaced by U+FFFD. Any vector can
// be written.
//
// This is format 2. Format 1 had only "reasoning_blocks". A reader of either format reads both.
std::string history_to_json(const std::vector<ChatMessage>& messages);

// Reads such an array, from us or from elsewhere. Unknown fields are ignored; content in parts
// ([{"type":"text","text":...}]) is joined, and pictures ("image_url") are the message's parts; arguments
// that are an object are written as its text; `developer` counts as `system`; a call named
// "<window>__<action>" is an action of that window, unless "window_id" names another. A null or missing field
// counts as empty, but for `role`, `function` and the content of anything but an answer. The result is not
// checked: call repair_history(), if it may not be valid.
//
// Error: invalid_history, with the place ("message 3: role is missing", counted from 1): for what is not
// JSON, nested deeper than 64 levels, of another type than it should be, content that is neither text nor a
// picture, or an unknown interruption. The caller limits the length of `json`.
Result<std::vector<ChatMessage>> history_from_json(std::string_view json);

}  // namespace agentcore
