// The routes of events, receipts and usage.
#include "console/events/agent_json.hpp"
#include "console/events/event_stream.hpp"
#include "console/routes/arguments.hpp"
#include "console/routes/refused.hpp"
#include "console/routes/router.hpp"

#include <agentcore/agent_tree.hpp>

#include <memory>
#include <utility>

namespace agentcore::detail::console {
namespace {

constexpr std::uint64_t receipts_per_page = 100;
constexpr std::uint64_t most_receipts_per_page = 1000;
constexpr std::size_t most_text_agents = 32;

EventFilter filter_of(RouteCall& call) {
  EventFilter filter;
  AgentDirectory& directory = call.core.feed.directory();
  for (const auto& [name, id] : call.request.query) {
    if (name != "subtree" && name != "text") continue;
    AgentEntry* const entry = directory.find(id);
    if (name == "subtree") {
      if (entry == nullptr) throw Refused(Errc::agent_not_found);
      filter.subtree = entry->serial();
    } else if (entry != nullptr) {  // an agent may be deleted while its viewer connects again
      if (filter.text.size() == most_text_agents)
        throw Refused(400, "invalid_request", "the text of at most 32 agents can be followed");
      filter.text.push_back(entry->serial());
      filter.viewed.push_back(call.core.feed.view_text(*entry));
    }
  }
  return filter;
}

std::optional<Response> follow_events(RouteCall& call) {
  call.tree();
  call.check_viewers();
  EventFilter filter = filter_of(call);
  const EventLog& log = *call.core.log;
  const std::string* last = call.request.header("last-event-id");
  if (last == nullptr) last = call.request.parameter("lastEventId");
  std::uint64_t after = log.last();
  bool resets = false;
  if (last != nullptr && !last->empty()) {
    const auto number = log.number_of(*last);
    resets = !number || !log.can_continue(*number);
    if (!resets) after = *number;
  }
  call.reply.send({.content_type = "text/event-stream"},
                  std::make_unique<EventStream>(call.core.log, std::move(filter), after, resets));
  return std::nullopt;
}

std::optional<Response> list_receipts(RouteCall& call) {
  const std::uint64_t after = number_in_query(call.request, "after", 0, UINT64_MAX - 1).value_or(0);
  const std::uint64_t limit =
      number_in_query(call.request, "limit", 1, most_receipts_per_page).value_or(receipts_per_page);
  const ReceiptList& receipts = call.core.receipts;
  std::string list;
  std::uint64_t number = std::max(receipts.first(), after + 1), count = 0;
  for (; number <= receipts.last() && count < limit; ++number, ++count)
    list.append(list.empty() ? "" : ",").append(receipts.at(number));
  const std::string next = number <= receipts.last() ? std::to_string(number - 1) : "null";
  return Response{.body = "{\"receipts\":[" + list + "],\"next\":" + next + "}"};
}

std::optional<Response> show_usage(RouteCall& call) {
  call.tree();
  Usage total;
  std::uint64_t turns = 0;
  std::optional<double> cost;
  for (const auto& [serial, entry] : call.core.feed.directory().entries()) {
    total += entry.usage;
    turns += entry.turns;
    if (entry.cost) cost = cost.value_or(0) + *entry.cost;
  }
  Json json = to_json(total);
  json.set("turns", turns);
  json.set("cost", cost ? Json(*cost) : Json(nullptr));
  return json_response({{"total", std::move(json)}, {"agents", call.core.feed.directory().size()}});
}

}  // namespace

std::vector<Route> overview_routes() {
  return {
      {"GET", "/api/events", RouteUse::read, follow_events, Waits::never, false, "subtree text lastEventId"},
      {"GET", "/api/receipts", RouteUse::read, list_receipts, Waits::never, false, "after limit"},
      {"GET", "/api/usage", RouteUse::read, show_usage}};
}

}  // namespace agentcore::detail::console
