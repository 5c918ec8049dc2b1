#include "persist/context_record.hpp"

#include "llm/history_json.hpp"
#include "persist/history_record.hpp"
#include "persist/json_fields.hpp"
#include "persist/record_text.hpp"

#include <algorithm>
#include <cstddef>

namespace agentcore::detail::persist {

bool sends_all(const turn::SentContext& context) noexcept {
  return context.summaries.empty() && !context.lost_messages &&
         std::find(context.messages.begin(), context.messages.end(), false) == context.messages.end();
}

namespace {

std::string runs_json(const std::vector<bool>& marks) {
  std::string runs = "[";
  bool sent = true;
  std::size_t length = 0;
  for (const bool mark : marks) {
    if (mark != sent) {
      RecordText::add_number(runs, length);
      runs += ',';
      length = 0;
      sent = mark;
    }
    ++length;
  }
  RecordText::add_number(runs, length);
  return runs += ']';
}

std::string summary_json(const turn::Summary& summary) {
  RecordText text;
  text.add_json("message", to_json(summary.message, nullptr));
  text.add("tokens", summary.tokens);
  text.add("end", summary.end);
  return text.take();
}

// `least`: the end of the summary before it.
turn::Summary read_summary(const json& entry, std::size_t least, std::size_t most) {
  turn::Summary summary;
  if (!entry.is_object()) refuse_field("summaries", "has an entry of another form");
  Result<ChatMessage> message = llm::message_from_json(member_of(entry, "message"));
  if (!message) refuse_field("summaries", "has a message that is invalid: " + message.error().message);
  summary.message = *std::move(message);
  need(entry, "tokens", summary.tokens);
  need(entry, "end", summary.end);
  if (summary.end < least || summary.end > most)
    refuse_field("summaries", "stand for messages that are not there");
  return summary;
}

}  // namespace

// The marks of messages are the lengths of runs: first of those that are sent, then of those that are not,
// and so on.
std::string to_json(const turn::SentContext& context) {
  RecordText text;
  text.add_json("runs", runs_json(context.messages));
  text.put("lost_messages", context.lost_messages);
  if (!context.summaries.empty())
    text.add_json("summaries", RecordText::array(context.summaries, summary_json));
  return text.take();
}

turn::SentContext read_context(std::string_view text, std::size_t most) {
  const ParsedRecord parsed(text);
  const json& object = *parsed;
  turn::SentContext context;
  bool sent = true;
  read_each(member_of(object, "runs"), "runs", [&](const json& run) {
    std::size_t length = 0;
    read_value(run, "runs", length);
    if (length > most - context.messages.size()) refuse_field("runs", "mark more messages than there are");
    context.messages.insert(context.messages.end(), length, sent);
    sent = !sent;
  });
  get(object, "lost_messages", context.lost_messages);
  get_each(object, "summaries", [&](const json& entry) {
    const std::size_t least = context.summaries.empty() ? 0 : context.summaries.back().end;
    context.summaries.push_back(read_summary(entry, least, most));
  });
  return context;
}

}  // namespace agentcore::detail::persist
