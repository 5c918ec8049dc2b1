#include "persist/context_record.hpp"

#include "llm/history_json.hpp"
#include "persist/json_fields.hpp"

#include <algorithm>
#include <cstddef>

namespace agentcore::detail::persist {

bool sends_all(const turn::SentContext& context) noexcept {
  return context.summaries.empty() && !context.lost_messages &&
         std::find(context.messages.begin(), context.messages.end(), false) == context.messages.end();
}

// The marks of messages are the lengths of runs: first of those that are sent, then of those that are not,
// and so on.
std::string to_json(const turn::SentContext& context) {
  json runs = json::array();
  bool sent = true;
  std::size_t length = 0;
  for (const bool mark : context.messages) {
    if (mark != sent) {
      runs.push_back(length);
      length = 0;
      sent = mark;
    }
    ++length;
  }
  runs.push_back(length);
  json object{{"runs", std::move(runs)}};
  put(object, "lost_messages", context.lost_messages);
  for (const turn::Summary& summary : context.summaries)
    object["summaries"].push_back({{"message", llm::message_to_json(summary.message)},
                                   {"tokens", summary.tokens},
                                   {"end", summary.end}});
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

turn::SentContext read_context(std::string_view text, std::size_t most) {
  const json object = parse_object(text);
  turn::SentContext context;
  bool sent = true;
  for (const json& run : object.at("runs")) {
    const auto length = run.get<std::size_t>();
    if (length > most - context.messages.size())
      throw json::other_error::create(501, "it marks more messages than there are", &run);
    context.messages.insert(context.messages.end(), length, sent);
    sent = !sent;
  }
  get(object, "lost_messages", context.lost_messages);
  const auto summaries = object.find("summaries");
  if (summaries == object.end()) return context;
  for (const json& entry : *summaries) {
    Result<ChatMessage> message = llm::message_from_json(entry.at("message"));
    if (!message) throw json::other_error::create(501, message.error().message, &entry);
    context.summaries.push_back(
        {*std::move(message), entry.at("tokens").get<std::size_t>(), entry.at("end").get<std::size_t>()});
  }
  return context;
}

}  // namespace agentcore::detail::persist
