#include "console/events/agent_json.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>

namespace agentcore::detail::console {
namespace {

// The ids of the descendants that a receipt lists. Their number has no limit.
constexpr std::size_t listed_descendants = 100;

Json or_null(bool known, Json value) {
  return known ? std::move(value) : Json(nullptr);
}

// How many bytes a text in base64 stands for.
std::size_t decoded_bytes(std::string_view base64) noexcept {
  const std::size_t letters = base64.substr(0, base64.find_last_not_of('=') + 1).size();
  return letters / 4 * 3 + letters % 4 * 3 / 4;
}

std::int64_t microseconds(TimePoint from, TimePoint to) noexcept {
  return std::chrono::duration_cast<std::chrono::microseconds>(to - from).count();
}

}  // namespace

Json to_json(const Usage& usage) {
  return {{"promptTokens", usage.prompt_tokens},
          {"completionTokens", usage.completion_tokens},
          {"totalTokens", usage.total_tokens},
          {"cachedTokens", usage.cached_tokens},
          {"complete", usage.complete}};
}

Json to_json(const AgentEntry& entry) {
  const Result<AgentStatus> status = entry.agent.status();
  const Result<std::size_t> waiting = entry.agent.queue_length();
  Json usage = to_json(entry.usage);
  usage.set("turns", entry.turns);
  usage.set("cost", or_null(entry.cost.has_value(), entry.cost.value_or(0)));
  Json json = {{"id", entry.id},
               {"parentAgentId", or_null(!entry.parent_id.empty(), entry.parent_id)},
               {"serial", entry.serial()},
               {"depth", entry.depth},
               {"model", entry.agent.model().value_or(std::string())},
               {"role", to_string(entry.agent.role().value_or(AgentRole::normal))},
               {"computeStatus", status ? to_string(status->state) : "terminating"},
               {"paused", status && status->paused},
               {"queueHeld", status && status->queue_held},
               {"stopPending", nullptr},
               {"queueLength", waiting ? *waiting : 0},
               {"createdAt", to_milliseconds(entry.created)},
               {"lastActiveAt", to_milliseconds(entry.active)}};
  if (const auto when = pending_stop_of(entry.agent)) json.set("stopPending", to_string(*when));
  json.set("usage", usage);
  return json;
}

Json to_json(const OpenQuestion& question) {
  return {{"id", question.id},
          {"kind", to_string(question.kind)},
          {"agentId", question.agent_id},
          {"callId", question.call_id},
          {"tool", question.tool},
          {"text", question.text},
          {"choices", question.choices}};
}

Json to_json(const StopRecord& record, std::uint64_t number) {
  const std::size_t listed = std::min(record.descendants.size(), listed_descendants);
  Json json = {{"number", number},
               {"verb", to_string(record.verb)},
               {"agentId", record.agent_id},
               {"cause", to_string(record.cause)},
               {"caller", record.caller},
               {"reason", record.reason},
               {"when", to_string(record.when)},
               {"cascade", record.cascade},
               {"calledAt", to_milliseconds(record.called.wall)},
               {"closedAt", nullptr},
               {"closedAfterUs", nullptr},
               {"settledAt", to_milliseconds(record.settled.wall)},
               {"settledAfterUs", microseconds(record.called.monotonic, record.settled.monotonic)}};
  if (record.closed) {
    json.set("closedAt", to_milliseconds(record.closed->wall));
    json.set("closedAfterUs", microseconds(record.called.monotonic, record.closed->monotonic));
  }
  json.set("descendants",
           std::vector<std::string>(record.descendants.begin(),
                                    record.descendants.begin() + static_cast<std::ptrdiff_t>(listed)));
  json.set("descendantCount", record.descendants.size());
  json.set("abandoned", record.abandoned);
  json.set("messagesDropped", record.messages_dropped);
  json.set("operations", record.operations.size());
  json.set("tokensCounted", record.tokens_counted());
  json.set("tokensAtMost", record.tokens_at_most());
  json.set("afterGate", record.after_gate);
  json.set("discarded", record.discarded);
  return json;
}

Json to_json(const ContentPart& part) {
  const bool is_address = !part.url.empty();
  return {{"kind", to_string(part.kind)},
          {"name", part.name},
          {"mediaType", part.media_type},
          {"bytes", is_address ? Json(nullptr) : Json(decoded_bytes(part.data))}};
}

}  // namespace agentcore::detail::console
