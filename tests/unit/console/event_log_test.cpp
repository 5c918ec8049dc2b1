// The log of events, and the streams that read it.
#include "console/events/event_log.hpp"

#include "console/events/event_stream.hpp"
#include "console/routes/write_limit.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

using namespace agentcore::detail::console;

namespace {

std::shared_ptr<const AgentPath> path(std::uint64_t serial, std::shared_ptr<const AgentPath> parent = {}) {
  return std::make_shared<const AgentPath>(AgentPath{serial, std::move(parent)});
}

std::string all_of(EventStream& stream, Stream::Next last = Stream::Next::wait) {
  std::string out;
  Stream::Next next = Stream::Next::more;
  while (next == Stream::Next::more) next = stream.fill(out, out.size() + 64);
  CHECK(next == last);
  constexpr std::string_view begin = "retry: 1000\n\n";
  if (out.starts_with(begin)) out.erase(0, begin.size());
  return out;
}

}  // namespace

TEST_CASE("events have numbers, and the oldest are dropped", "[console][events]") {
  EventLog log("e", 100);
  CHECK(log.last() == 0);
  for (int i = 1; i <= 10; ++i) log.append(nullptr, false, "{\"n\":" + std::to_string(i) + "}");
  CHECK(log.last() == 10);
  CHECK(log.first() > 1);
  CHECK(log.at(10).bytes == "id: e-10\ndata: {\"n\":10}\n\n");
  CHECK(log.number_of("e-10") == 10);
  for (const std::string id : {"f-10", "e-", "e-x", "e-1x", "e", "", "ee-1"}) CHECK_FALSE(log.number_of(id));
  CHECK(log.can_continue(10));
  CHECK(log.can_continue(log.first() - 1));
  CHECK_FALSE(log.can_continue(log.first() - 2));
  CHECK_FALSE(log.can_continue(11));
}

TEST_CASE("a viewer gets each event once, in order", "[console][events]") {
  const auto log = std::make_shared<EventLog>("e", 1 << 20);
  EventStream stream(log, {}, 0, false);
  CHECK(all_of(stream).empty());
  log->append(nullptr, false, "{}");
  log->append(nullptr, false, "[]");
  CHECK(all_of(stream) == "id: e-1\ndata: {}\n\nid: e-2\ndata: []\n\n");
  CHECK(all_of(stream).empty());
  EventStream later(log, {}, 1, false);
  CHECK(all_of(later) == "id: e-2\ndata: []\n\n");
}

TEST_CASE("a viewer gets the events of its subtree, and the text that it asked for", "[console][events]") {
  const auto log = std::make_shared<EventLog>("e", 1 << 20);
  const auto root = path(1), child = path(2, root), other = path(3);
  const auto has = [&](EventFilter filter, std::string_view json) {
    EventStream stream(log, std::move(filter), 0, false);
    return all_of(stream).find(json) != std::string::npos;
  };
  log->append(child, false, "\"state\"");
  log->append(child, true, "\"text\"");
  log->append(other, false, "\"other\"");
  log->append(nullptr, false, "\"all\"");
  CHECK(has({}, "state"));
  CHECK_FALSE(has({}, "text"));
  CHECK(has({.text = {2}}, "text"));
  CHECK(has({.subtree = 1}, "state"));
  CHECK_FALSE(has({.subtree = 1}, "other"));
  CHECK(has({.subtree = 1}, "all"));
  CHECK_FALSE(has({.subtree = 3}, "state"));
}

TEST_CASE("a viewer that is too far behind is told so, and ends", "[console][events][G15]") {
  const auto log = std::make_shared<EventLog>("e", 200);
  EventStream stream(log, {}, 0, false);
  for (int i = 0; i < 100; ++i) log->append(nullptr, false, "{}");
  CHECK(all_of(stream, Stream::Next::end) == "data: {\"type\":\"lagged\"}\n\n");
}

TEST_CASE("a viewer whose position is not in the log begins with a reset", "[console][events]") {
  const auto log = std::make_shared<EventLog>("e", 1 << 20);
  log->append(nullptr, false, "{}");
  EventStream stream(log, {}, log->last(), true);
  log->append(nullptr, false, "[]");
  CHECK(all_of(stream) == "id: e-1\ndata: {\"type\":\"reset\"}\n\nid: e-2\ndata: []\n\n");
}

TEST_CASE("the limit of writes fills again with time", "[console][http]") {
  WriteLimit limit(10);
  agentcore::TimePoint now{std::chrono::hours(1)};
  int taken = 0;
  while (limit.take(now)) ++taken;
  CHECK(taken == 20);
  CHECK_FALSE(limit.take(now));
  now += std::chrono::milliseconds(500);
  taken = 0;
  while (limit.take(now)) ++taken;
  CHECK(taken == 5);
}
