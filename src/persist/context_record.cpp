#include "persist/context_record.hpp"

#include "llm/history_json.hpp"
#include "persist/fields.hpp"
#include "persist/history_record.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace agentcore::detail::persist {

bool sends_all(const turn::SentContext& context) noexcept {
  return context.summaries.empty() && !context.lost_messages &&
         std::find(context.messages.begin(), context.messages.end(), false) == context.messages.end();
}

namespace {

// The marks of messages are the lengths of runs: first of those that are sent, then of those that are not,
// and so on.
std::vector<std::size_t> runs_of(const std::vector<bool>& marks) {
  std::vector<std::size_t> runs{0};
  bool sent = true;
  for (const bool mark : marks) {
    if (mark != sent) runs.push_back(0);
    sent = mark;
    ++runs.back();
  }
  return runs;
}

std::vector<bool> marks_of(const std::vector<std::size_t>& runs, std::size_t most) {
  std::vector<bool> marks;
  bool sent = true;
  for (const std::size_t run : runs) {
    if (run > most - marks.size()) refuse_field("runs", "mark more messages than there are");
    marks.insert(marks.end(), run, sent);
    sent = !sent;
  }
  return marks;
}

void check_summaries(const std::vector<turn::Summary>& summaries, std::size_t most) {
  std::size_t least = 0;
  for (const turn::Summary& summary : summaries) {
    if (summary.end < least || summary.end > most)
      refuse_field("summaries", "stand for messages that are not there");
    least = summary.end;
  }
}

void message_field(FieldWriter& io, const char* name, const ChatMessage& message) {
  io.json_text(name, to_json(message, nullptr));
}
void message_field(FieldReader& io, const char* name, ChatMessage& message) {
  Result<ChatMessage> read = llm::message_from_json(io.member(name));
  if (!read) refuse_field("summaries", "has a message that is invalid: " + read.error().message);
  message = *std::move(read);
}

}  // namespace

template <typename Io, Of<turn::Summary> T>
void fields(Io& io, T& summary) {
  message_field(io, "message", summary.message);
  io.need("tokens", summary.tokens);
  io.need("end", summary.end);
}

namespace {

template <typename Io, typename Context>
void context_fields(Io& io, Context& context, std::vector<std::size_t>& runs) {
  io.need("runs", runs);
  io.field("lost_messages", context.lost_messages);
  io.list("summaries", context.summaries);
}

}  // namespace

std::string to_json(const turn::SentContext& context) {
  FieldWriter io;
  std::vector<std::size_t> runs = runs_of(context.messages);
  context_fields(io, context, runs);
  return io.take();
}

turn::SentContext read_context(std::string_view text, std::size_t most) {
  const ParsedRecord parsed(text);
  FieldReader io(*parsed);
  turn::SentContext context;
  std::vector<std::size_t> runs;
  context_fields(io, context, runs);
  context.messages = marks_of(runs, most);
  check_summaries(context.summaries, most);
  return context;
}

}  // namespace agentcore::detail::persist
