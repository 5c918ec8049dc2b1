#include "console/top/follower.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace console_app::top {
namespace {

using namespace std::chrono_literals;

constexpr auto first_wait = 500ms;
constexpr auto longest_wait = 8000ms;
constexpr auto select_wait = 60ms;    // a key that is held down selects many agents
constexpr auto refresh_wait = 100ms;  // one event seldom comes alone
constexpr auto refresh_interval =
    30s;  // the console keeps the text of an agent for a minute after it is asked for

}  // namespace

Follower::Follower(Api& api, Timers& timers, Agents& agents, Questions& questions, Conversation& conversation)
    : api_(api),
      timers_(timers),
      agents_(agents),
      questions_(questions),
      conversation_(conversation),
      parser_([this](const std::string& id, const std::string& data) { receive(id, data); }),
      wait_(first_wait) {
}

void Follower::start() {
  load();
}

// ---- the tree ----

void Follower::load() {
  loaded_ = false;
  api_.cancel(stream_);
  api_.cancel(reading_);
  timers_.cancel(retry_);
  agents_.begin_reload();
  first_.clear();
  load_page("");
}

void Follower::load_page(const std::string& query) {
  reading_ = api_.get("api/agents?limit=1000" + query, [this](const Answer& page) {
    reading_ = 0;
    if (page.ok())
      take_page(page);
    else
      lose(page.problem);
  });
}

void Follower::take_page(const Answer& page) {
  if (first_.empty()) first_ = text_in(page.json, "lastEventId");
  for (const Json& agent : list_in(page.json, "agents")) agents_.upsert(agent);
  if (const std::uint64_t next = number_in(page.json, "next"); next != 0)
    return load_page("&after=" + std::to_string(next));
  agents_.end_reload();
  load_questions();
}

// Read after the agents, and before the events since then: these close what was closed in between.
void Follower::load_questions() {
  reading_ = api_.get("api/questions", [this](const Answer& answer) {
    reading_ = 0;
    if (!answer.ok()) return lose(answer.problem);
    questions_.take(answer.json);
    begin_following();
  });
}

void Follower::begin_following() {
  position_ = event_id(first_);
  loaded_ = true;
  const AgentNode* const selected = agents_.selected();
  conversation_.open(selected != nullptr ? selected->id : "");
  open_stream();
  load_conversation();
}

// ---- the events ----

void Follower::open_stream() {
  api_.cancel(stream_);
  timers_.cancel(retry_);
  parser_.restart();
  stream_ = api_.follow(position_.text(), conversation_.agent_id(),
                        {.on_open =
                             [this] {
                               connected_ = true;
                               problem_.clear();
                               wait_ = first_wait;
                             },
                         .on_data =
                             [this](std::string_view bytes) {
                               if (!parser_.take(bytes)) lose("an event of the server is too large");
                             },
                         .on_end = [this](const Answer& answer) { end_stream(answer); }});
}

void Follower::receive(const std::string& id, const std::string& data) {
  if (!loaded_) return;  // what follows a reset is part of what is being read
  if (data.empty()) {    // a heartbeat: no event up to here concerns this viewer
    if (event_id(id).is_after(position_)) position_ = event_id(id);
    return;
  }
  const Json event = Json::parse(data, nullptr, false);
  const std::string type = text_in(event, "type");
  const EventId at = event_id(id);
  if (type == "reset" || type == "lagged" || (!type.empty() && at.epoch != position_.epoch)) return load();
  if (!at.is_after(position_)) return;
  position_ = at;
  agents_.apply(event);
  questions_.apply(event);
  if (!conversation_.apply(at, event)) refresh();
}

void Follower::end_stream(const Answer& answer) {
  stream_ = 0;
  lose(answer.status == 200 ? fmt::format("{} has closed the connection", api_.url()) : answer.problem);
}

// The connection is made again, later and later.
void Follower::lose(std::string problem) {
  connected_ = false;
  problem_ = std::move(problem);
  api_.cancel(stream_);
  timers_.cancel(retry_);
  retry_ = timers_.start(SteadyClock::now() + wait_, [this] {
    retry_ = {};
    if (loaded_)
      open_stream();
    else
      load();
  });
  wait_ = std::min<std::chrono::milliseconds>(wait_ * 2, longest_wait);
}

// ---- the conversation and the queue ----

void Follower::follow_selected() {
  const AgentNode* const selected = agents_.selected();
  const std::string id = selected != nullptr ? selected->id : "";
  if (!loaded_ || id == conversation_.agent_id()) return;
  conversation_.open(id);
  api_.cancel(reading_conversation_);
  timers_.cancel(select_);
  select_ = timers_.start(SteadyClock::now() + select_wait, [this] {
    select_ = {};
    if (!loaded_) return;
    if (stream_ != 0) open_stream();
    load_conversation();
  });
}

void Follower::refresh() {
  if (reading_conversation_ != 0) conversation_changed_ = true;
  if (reading_conversation_ != 0 || select_ != Timers::Id()) return;
  if (refresh_.first > SteadyClock::now() + refresh_wait) timers_.cancel(refresh_);
  if (refresh_ != Timers::Id()) return;
  refresh_ = timers_.start(SteadyClock::now() + refresh_wait, [this] {
    refresh_ = {};
    load_conversation();
  });
}

void Follower::load_conversation() {
  api_.cancel(reading_conversation_);
  timers_.cancel(refresh_);
  conversation_changed_ = false;
  if (conversation_.agent_id().empty()) return;
  load_queue();
  conversation_.begin_load();
  reading_conversation_ = api_.get(Api::agent_path(conversation_.agent_id()) + "/conversation?limit=50",
                                   [this](const Answer& page) {
                                     reading_conversation_ = 0;
                                     if (page.ok())
                                       conversation_.take_page(page.json);
                                     else
                                       conversation_.fail(page.problem);
                                     refresh_ = timers_.start(SteadyClock::now() + refresh_interval, [this] {
                                       refresh_ = {};
                                       load_conversation();
                                     });
                                     if (std::exchange(conversation_changed_, false)) refresh();
                                   });
}

// Nothing but the length of the queue is taken from this answer: events may be newer.
void Follower::load_queue() {
  api_.cancel(reading_queue_);
  const std::string id = conversation_.agent_id();
  reading_queue_ = api_.get(Api::agent_path(id), [this, id](const Answer& answer) {
    reading_queue_ = 0;
    if (const Json* const agent = member(answer.json, "agent"); answer.ok() && agent != nullptr)
      agents_.apply({{"type", "queue"}, {"agentId", id}, {"length", number_in(*agent, "queueLength")}});
  });
}

}  // namespace console_app::top
