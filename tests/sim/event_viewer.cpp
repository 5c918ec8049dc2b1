#include "sim/event_viewer.hpp"

#include "sim/console_client.hpp"

#include <agentcore/turn_result.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace agentcore::sim {
namespace {

using nlohmann::json;

constexpr std::size_t most_texts = 4;  // the agents whose text it follows

struct LineOf {
  const std::string& id;

  std::string of(std::string_view type, std::string_view what = {}) const {
    return std::string(type).append(1, ' ').append(id).append(1, ' ').append(what);
  }
  template <typename T>
  std::string operator()(const T& /*event*/) const {
    return {};
  }
  std::string operator()(const AgentCreated& /*event*/) const { return of("created"); }
  std::string operator()(const StateChanged& event) const { return of("state", to_string(event.to)); }
  std::string operator()(const AgentDeleted& /*event*/) const { return of("deleted"); }
  std::string operator()(const Settled& /*event*/) const { return of("settled"); }
  std::string operator()(const TurnStarted& event) const {
    return of("turn_started", to_string(event.message));
  }
  std::string operator()(const ModelCallEnded& /*event*/) const { return of("reask"); }
  std::string operator()(const TurnEnded& event) const { return of("turn_ended", to_string(event.message)); }
  std::string operator()(const ConversationChanged& /*event*/) const { return of("conversation"); }
  std::string operator()(const CompactionChanged& /*event*/) const { return of("compaction"); }
  std::string operator()(const ContextTrimmed& /*event*/) const { return of("trimmed"); }
  std::string operator()(const ToolStarted& event) const { return of("tool_started", event.call_id); }
  std::string operator()(const ToolProgress& event) const { return of("tool_progress", event.call_id); }
  std::string operator()(const ToolEnded& event) const { return of("tool_ended", event.call_id); }
  std::string operator()(const ToolRefused& event) const { return of("tool_refused", event.call_id); }
  std::string operator()(const QuestionAsked& /*event*/) const { return of("question"); }
  std::string operator()(const QuestionClosed& /*event*/) const { return of("question_closed"); }
  std::string operator()(const TaskChanged& /*event*/) const { return of("task"); }
  std::string operator()(const MessageDropped& event) const {
    return of("message_dropped", to_string(event.id));
  }
  std::string operator()(const Steered& event) const { return of("steered", to_string(event.id)); }
  std::string operator()(const Discarded& /*event*/) const { return of("discarded"); }
  std::string operator()(const Abandoned& /*event*/) const { return of("abandoned"); }
  std::string operator()(const WindowClosed& /*event*/) const { return of("window_closed"); }
  std::string operator()(const AgentRestored& /*event*/) const { return of("restored"); }
};

// The member of an event that is the last word of its line.
std::string what_of(const std::string& type, const json& event) {
  const char* const member = type == "state"                                  ? "to"
                             : type == "turn_started" || type == "turn_ended" ? "taskId"
                             : type == "message_dropped" || type == "steered" ? "messageId"
                             : type.starts_with("tool_")                      ? "callId"
                                                                              : "";
  return event.value(member, "");
}

// Events that are not of the tree; and of a hold or a stop that is pending, which have one for each agent
// below.
bool has_line(const std::string& type) {
  for (const std::string_view other :
       {"queue", "queue_held", "stop_pending", "receipt", "text", "reasoning", "text_gap", "reset", "lagged"})
    if (type == other) return false;
  return true;
}

std::string text_or_none(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace

std::string line_of(const Event& event) {
  const std::string id = event.agent().id();
  if (const auto* stored = event.get<StopPersisted>()) return LineOf{stored->agent_id}.of("persisted");
  if (event.get<PauseChanged>() != nullptr)
    return LineOf{id}.of(event.agent() == Agent() ? "tree_paused" : "paused");
  return id.empty() ? std::string() : std::visit(LineOf{id}, detail::event_body(event));
}

bool EventViewer::follow(std::string access) {
  if (phase_ != Phase::off) return false;
  access_ = std::move(access);
  wait(TimePoint::min());
  return true;
}

void EventViewer::leave(bool in_order) {
  if (socket_) socket_->leave(in_order);
  socket_.reset();
  phase_ = Phase::off;
}

void EventViewer::forget() {
  socket_.reset();
  if (phase_ != Phase::off) wait(TimePoint::min());
}

void EventViewer::wait(TimePoint until) {
  if (socket_) socket_->leave(true);
  socket_.reset();
  phase_ = Phase::waiting;
  until_ = until;
}

bool EventViewer::connect(ClientNetwork& network) {
  received_.clear();
  has_head_ = begun_ = false;
  socket_ = network.connect_client();
  return socket_ != nullptr;
}

void EventViewer::ask(const std::string& target, const std::string& headers) {
  socket_->send("GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1:8700\r\n" + access_ + headers + "\r\n");
}

void EventViewer::begin(ClientNetwork& network, TimePoint now) {
  if (!connect(network)) return wait(now + std::chrono::seconds(1));
  if (!last_id_.empty() && loaded_) {
    ++streams_;
    continued_ += lines_.empty() ? 0 : 1;
    news_.emplace_back("follows");
    phase_ = Phase::following;
    std::string target = "/api/events";
    std::set<std::string> with_text;
    for (const auto& [id, agent] : agents_) {
      if (with_text.size() == most_texts) break;
      target += (with_text.empty() ? "?text=" : "&text=") + id;
      with_text.insert(id);
    }
    std::erase_if(texts_, [&](const auto& one) { return !with_text.contains(std::get<0>(one.first)); });
    return ask(target, "Last-Event-ID: " + last_id_ + "\r\n");
  }
  phase_ = Phase::loading;
  ++loads_;
  news_.emplace_back("loads");
  arrived_.clear();
  next_page_ = 0;
  last_id_.clear();
  load_next();
}

void EventViewer::load_next() {
  ask("/api/agents?limit=" + std::to_string(next_page_ == 0 ? 3 : 1000) +
          "&after=" + std::to_string(next_page_),
      "");
}

void EventViewer::move(ClientNetwork& network, TimePoint now) {
  if (phase_ == Phase::waiting && now >= until_) begin(network, now);
  if (!socket_) return;
  const bool is_late = reads_late_ && phase_ == Phase::following && !socket_->has_ended();
  const std::string bytes = socket_->receive(is_late ? may_read_ : std::string::npos);
  if (is_late) may_read_ -= bytes.size();
  received_ += bytes;
  const bool has_ended = socket_->has_ended();
  bool goes_on = true;
  while (goes_on && socket_)
    goes_on = phase_ == Phase::loading ? take_page(now) : has_head_ ? take_event() : take_head(now);
  if (phase_ == Phase::waiting && now >= until_) return begin(network, now);
  if (!socket_ || !has_ended) return;
  news_.emplace_back("is closed");
  if (phase_ == Phase::following && has_head_) return begin(network, now);  // the stream has ended
  wait(now + std::chrono::seconds(1));
}

bool EventViewer::take_page(TimePoint now) {
  const auto answer = answer_in(received_);
  if (!answer || !answer->length || received_.size() < answer->head + *answer->length) return false;
  const std::string body = received_.substr(answer->head, *answer->length);
  received_.erase(0, answer->head + *answer->length);
  if (answer->status != 200) return wait(now + std::chrono::seconds(1)), false;
  const json page = json::parse(body, nullptr, false);
  verdict_.require(page.is_object() && page.contains("agents"), "viewer",
                   "a page of agents is none: " + body);
  if (!page.is_object()) return false;
  if (next_page_ == 0) last_id_ = page.value("lastEventId", "");
  for (const json& agent : page["agents"]) enter(agent);
  has_pages_ = next_page_ != 0 || !page["next"].is_null();
  if (!page["next"].is_null()) {
    next_page_ = page["next"].get<std::uint64_t>();
    load_next();
    return true;
  }
  std::erase_if(agents_, [this](const auto& one) { return !arrived_.contains(one.first); });
  lines_.clear();
  texts_.clear();
  loaded_ = true;
  epoch_ = last_id_.substr(0, last_id_.find('-'));
  number_ = std::stoull(last_id_.substr(last_id_.find('-') + 1));
  phase_ = Phase::waiting;
  until_ = TimePoint::min();
  socket_->leave(true);
  socket_.reset();
  return false;
}

bool EventViewer::take_head(TimePoint now) {
  const auto answer = answer_in(received_);
  if (!answer) return false;
  if (answer->status != 200) return wait(now + std::chrono::seconds(1)), false;
  received_.erase(0, answer->head);
  has_head_ = true;
  return true;
}

// "id: ...\ndata: ...\n\n", or a part of it.
bool EventViewer::take_event() {
  const std::size_t end = received_.find("\n\n");
  if (end == received_.npos) return false;
  const std::string text = received_.substr(0, end + 1);
  received_.erase(0, end + 2);
  std::string id;
  json event;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    verdict_.require(begun_ || line == "retry: 1000", "viewer",
                     "a stream does not begin with retry: " + line);
    begun_ = true;
    if (line.starts_with("id: ")) id = line.substr(4);
    if (line.starts_with("data: ")) event = json::parse(line.substr(6), nullptr, false);
  }
  if (event.is_null() && id.empty()) return true;
  const std::string type = event.is_object() ? event.value("type", "") : std::string();
  verdict_.require(!id.empty() || type == "lagged", "viewer", "an event without an id: " + text);
  if (!id.empty()) take_id(id, type == "reset");
  if (event.is_null()) return true;
  verdict_.require(event.is_object(), "viewer", "an event that is no JSON object: " + text);
  if (type == "reset" || type == "lagged") {  // load everything again
    ++lags_;
    news_.push_back(type);
    loaded_ = false;
    wait(TimePoint::min());
    return false;
  }
  if (event.is_object()) apply(event);
  return true;
}

void EventViewer::take_id(std::string_view id, bool is_reset) {
  const std::size_t dash = std::min(id.find('-'), id.size());
  const std::string_view digits = id.substr(std::min(dash + 1, id.size()));
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_same = id.substr(0, dash) == epoch_;
  verdict_.require(is_same || is_reset, "viewer",
                   "an event of another process without a reset: " + std::string(id));
  // A position without an event repeats one.
  verdict_.require(!is_same || number >= number_, "viewer",
                   "ids that do not rise: " + std::string(id) + " after " + last_id_);
  epoch_ = id.substr(0, dash);
  number_ = number;
  last_id_ = id;
}

void EventViewer::enter(const json& agent) {
  ShownAgent& shown = agents_[agent.value("id", "")];
  arrived_[agent.value("id", "")] = true;
  shown = {.parent = text_or_none(agent["parentAgentId"]),
           .state = agent.value("computeStatus", ""),
           .stop_pending = text_or_none(agent["stopPending"]),
           .paused = agent.value("paused", false),
           .held = agent.value("queueHeld", false),
           .waiting = agent.value("queueLength", std::uint64_t{0}),
           .turns = agent["usage"].value("turns", std::uint64_t{0}),
           .tokens = agent["usage"].value("totalTokens", std::uint64_t{0})};
}

void EventViewer::apply(const json& event) {
  const std::string type = event.value("type", "");
  const bool is_created = type == "created";
  const std::string id = is_created ? event["agent"].value("id", "") : event.value("agentId", "");
  const std::string line = type + ' ' + id + ' ' + what_of(type, event);
  if (has_line(type)) lines_.push_back(line);
  if (type != "text" && type != "reasoning") news_.push_back(line);
  if (is_created) return enter(event["agent"]);
  if (type == "tree_paused") {
    std::vector<std::string> roots;
    for (const auto& [one, agent] : agents_)
      if (agent.parent.empty()) roots.push_back(one);
    pause(roots, event.value("paused", false));
    return pause(event.value("stillPaused", std::vector<std::string>()), true);
  }
  if (type == "text" || type == "reasoning")
    texts_[{id, event.value("turn", std::uint64_t{0}), event.value("call", std::uint64_t{0}),
            type == "reasoning"}] += event.value("text", "");
  if (type == "text_gap" || type == "deleted")
    std::erase_if(texts_, [&](const auto& one) { return std::get<0>(one.first) == id; });
  if (agents_.contains(id)) apply_to(id, type, event);
}

// As src/console/page/store.js does.
void EventViewer::apply_to(const std::string& id, const std::string& type, const json& event) {
  ShownAgent& agent = agents_.at(id);
  if (type == "deleted") {
    agents_.erase(id);
  } else if (type == "state") {
    agent.state = event.value("to", "");
    if (agent.state == "stopped" || agent.state == "terminating") agent.stop_pending.clear();
  } else if (type == "paused") {
    pause({id}, event.value("paused", false));
    pause(event.value("stillPaused", std::vector<std::string>()), true);
  } else if (type == "stop_pending") {
    agent.stop_pending = event.value("withdrawn", false) ? "" : event.value("when", "");
  } else if (type == "queue_held") {
    agent.held = event.value("held", false);
  } else if (type == "queue") {
    agent.waiting = event.value("length", std::uint64_t{0});
  } else if (type == "turn_ended") {
    ++agent.turns;
    agent.tokens += event["usage"].value("totalTokens", std::uint64_t{0});
  }
}

// An agent is paused with its ancestors.
void EventViewer::pause(const std::vector<std::string>& tops, bool paused) {
  for (const std::string& top : tops)
    for (auto& [id, agent] : agents_) {
      std::string at = id;
      while (!at.empty() && at != top) at = agents_.contains(at) ? agents_.at(at).parent : std::string();
      if (at == top) agent.paused = paused;
    }
}

bool EventViewer::is_current() const {
  return phase_ == Phase::following && has_head_ && begun_ && socket_ && !socket_->has_ended() &&
         received_.empty() && !socket_->has_bytes();
}

}  // namespace agentcore::sim
