#include "sim/document_rules.hpp"

#include <agentcore/history.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

#include <nlohmann/json.hpp>

namespace agentcore::sim {
namespace {

using nlohmann::json;

constexpr std::string_view rule = "documents";

bool is_chosen(const std::string& id) {
  return !id.starts_with('@');
}

json changed(const std::string& text, const char* pointer, json value) {
  json object = json::parse(text);
  object[json::json_pointer(pointer)] = std::move(value);
  return object;
}

json with_a_second_of_an_id(const std::string& text) {
  json object = json::parse(text);
  json& agents = object["agents"];
  agents.front()["agent"]["name"] = "i0";
  json second = agents.front();
  second["agent"]["parent"] = 1;
  agents.push_back(std::move(second));
  return object;
}

// What is too late, or waits for an agent that is stopped, is not imported: see check_mail(). The stop of an
// ancestor is noted below it as soon as it settles, and what a stop of its own says there. A person is
// stopped by an ancestor alone.
json settled(const std::string& text) {
  json object = json::parse(text);
  const json specs = object["specs"];
  json& agents = object["agents"];
  std::vector<bool> closes(agents.size());
  for (std::size_t i = 0; i < agents.size(); ++i) {
    json& agent = agents[i]["agent"];
    agents[i].erase("mail");
    for (json& message : agents[i]["messages"]) message.erase("tasks");  // which words of it are of tasks
    const auto parent = agent.value("parent", std::size_t{0});
    const bool is_below = parent != 0 && closes[parent - 1];
    const bool is_person = specs.at(agent.value("spec", std::size_t{0})).value("role", 0) == 2;
    if (is_person && !is_below) agent.erase("gate");
    closes[i] = is_below || agent.value("gate", 0) == 2;
    if (is_below && agent.value("stopped_by_ancestor", false)) agent.erase("gate");
    if (is_below && agent.contains("gate")) agent["gate"] = "its own";
    agent.erase("stopped_by_ancestor");
  }
  return object;
}

std::string parent_of(const Agent& agent) {
  const auto parent = agent.parent();
  return parent ? parent.value().id() : std::string();
}

// What the last turn alone has left out, because a summary could not be made, is sent again.
bool is_sent_again(std::vector<ChatMessage> now, std::vector<ChatMessage> before) {
  const auto summaries_in = [](std::vector<ChatMessage>& messages) {
    const auto others = std::stable_partition(messages.begin(), messages.end(),
                                              [](const ChatMessage& message) { return message.summary; });
    std::vector<ChatMessage> summaries(messages.begin(), others);
    messages.erase(messages.begin(), others);
    return summaries;
  };
  if (summaries_in(now) != summaries_in(before) || now.size() < before.size()) return false;
  const bool has_prompt = !before.empty() && before.front().role == Role::system;
  if (has_prompt && now.front() != before.front()) return false;
  if (before.empty()) return true;
  // What was left out was the oldest, also of a turn after its message.
  auto next = before.begin();
  for (const ChatMessage& message : now)
    if (next != before.end() && message == *next) ++next;
  return next == before.end() && now.back() == before.back();
}

std::string texts_of(const std::vector<QueuedMessage>& mail) {
  std::string texts;
  for (const QueuedMessage& message : mail)
    texts += (texts.empty() ? "" : ", ") + message.message.text.substr(0, 5) +
             (message.message.priority == MessagePriority::urgent ? "!" : "");
  return texts;
}

bool is_same(const Spent& one, const Spent& other) {
  return one.turns == other.turns && one.tokens == other.tokens && one.cost == other.cost;
}

}  // namespace

DocumentRules::OfAgent DocumentRules::seen(const Agent& agent, bool has_no_turn) {
  OfAgent seen;
  seen.id = agent.id();
  seen.parent = parent_of(agent);
  if (const auto status = agent.status()) seen.status = status.value();
  const AgentState state = seen.status.state;
  seen.is_exact = has_no_turn && (state == AgentState::idle || state == AgentState::stopped);
  if (auto history = agent.conversation()) seen.history = std::move(history.value());
  if (auto context = agent.context()) seen.context = std::move(context.value());
  if (auto queued = agent.queued()) seen.mail = std::move(queued.value());
  std::erase_if(seen.mail, &QueuedMessage::simulated);
  seen.role = agent.role().value_or(AgentRole::normal);
  seen.model = agent.model().value_or("");
  seen.own = agent.spent().value_or(Spent());
  seen.below = agent.spent(Scope::subtree).value_or(Spent());
  return seen;
}

std::string DocumentRules::rename(const std::string& id) {
  return is_chosen(id) ? 'i' + id : id;
}

DocumentRules::Document DocumentRules::renamed(const Document& document) {
  Document other = document;
  json object = json::parse(document.text);
  for (json& agent : object["agents"])
    if (const auto name = agent["agent"].find("name"); name != agent["agent"].end())
      *name = rename(name->get<std::string>());
  other.text = object.dump();
  for (OfAgent& agent : other.agents) {
    agent.id = rename(agent.id);
    agent.parent = rename(agent.parent);
  }
  other.renamed = true;
  return other;
}

std::string DocumentRules::damaged(const std::string& text, std::uint32_t how) {
  const std::size_t at = how * 7919 % text.size();
  switch (how % 12) {
    case 0:
      return text.substr(0, at);
    case 1:
      return text.substr(0, at) + '\x01' + text.substr(at);
    case 2:
      return text.substr(0, at) + '\xff' + text.substr(at);
    case 3:
      return changed(text, "/version", 1'000'000).dump();
    case 4:
      return changed(text, "/format", "agentcore-others").dump();
    case 5:
      return changed(text, "/agents", json::array()).dump();
    case 6:
      return changed(text, "/agents/0/agent/parent", 99).dump();
    case 7:
      return changed(text, "/agents/0/agent/spec", 99).dump();
    case 8:
      return with_a_second_of_an_id(text).dump();
    case 9:
      return changed(text, "/agents/0/messages", json::array({{{"role", "tool"}, {"content", "a result"}}}))
          .dump();
    case 10:
      return changed(text, "/specs", json::array({json::object({{"mailbox_limit", 0}})})).dump();
    default:
      return std::array{"", "null", "[]", "{}"}[how / 12 % 4];
  }
}

std::vector<const DocumentRules::OfAgent*> DocumentRules::sources(const Document& document,
                                                                  const ImportReport& made) {
  const bool has_all =
      std::ranges::equal(made.agents, document.agents, [](const Agent& is, const OfAgent& was) {
        return is.id() == was.id || (!is_chosen(is.id()) && !is_chosen(was.id));
      });
  std::vector<const OfAgent*> found;
  for (const Agent& agent : made.agents) {
    const std::string id = agent.id();
    const auto was = std::ranges::find(document.agents, id, &OfAgent::id);
    if (has_all)
      found.push_back(&document.agents[found.size()]);
    else if (found.empty() && !document.agents.empty())
      found.push_back(&document.agents.front());
    else
      found.push_back(is_chosen(id) && was != document.agents.end() ? &*was : nullptr);
  }
  return found;
}

void DocumentRules::check(const Document& document, const ImportReport& made, const Import& how) const {
  std::set<std::string> ids;
  const std::vector<const OfAgent*> sources_of = sources(document, made);
  std::size_t mail = 0;
  std::set<std::string> unbound;
  for (const std::string& line : made.unbound) unbound.insert(line.substr(0, line.find(':')));
  verdict_.require(unbound.empty() || !how.is_code_complete, rule,
                   "all code is there, and some was not found: " + (unbound.empty() ? "" : *unbound.begin()));
  for (const Agent& agent : made.agents) {
    const std::string id = agent.id();
    verdict_.require(ids.insert(id).second, rule, "an agent is reported twice: " + id);
    mail += agent.queue_length().value_or(0);
    const bool is_first = &agent == &made.agents.front();
    const OfAgent* const was = sources_of[static_cast<std::size_t>(&agent - made.agents.data())];
    if (is_first)
      verdict_.require(agent.parent() ? agent.parent().value() == how.parent : how.parent == Agent(), rule,
                       "the first agent is at another place: " + id);
    if (was == nullptr) {
      verdict_.require(!is_chosen(id), rule, "an agent that was not exported: " + id);
      continue;
    }
    if (!is_first && is_chosen(was->parent))
      verdict_.require(parent_of(agent) == was->parent, rule,
                       id + " is a child of " + parent_of(agent) + ", and was one of " + was->parent);
    check_agent(*was, agent, unbound.contains(id), how);
  }
  verdict_.require(made.messages == mail, rule, "ImportReport::messages is another number than that waits");
  for (const OfAgent& was : document.agents)
    verdict_.require(was.may_be_missing || ids.contains(was.id), rule, "an agent is missing: " + was.id);
}

void DocumentRules::check_agent(const OfAgent& was, const Agent& is, bool is_closed_for_code,
                                const Import& how) const {
  const std::string& id = was.id;
  const AgentStatus status = is.status().value();
  const bool was_closed = !can_process(was.status.state) || was.status.stop_pending;
  const bool is_closed = !can_process(status.state);
  const bool is_user = is.role().value() == AgentRole::user;
  verdict_.require(is_closed || !was_closed || is_user, rule, "a stopped agent is open: " + id);
  if (is_closed_for_code)
    verdict_.require(is_closed || is_user, rule, "an agent without its code is open: " + id);
  else
    verdict_.require(!is_closed || was_closed, rule, "an open agent is stopped: " + id);
  const bool is_paused_there = was.status.paused || how.is_paused;
  verdict_.require(status.paused == is_paused_there || (status.paused && how.all_may_be_paused), rule,
                   "another pause than at the export: " + id);
  if (!is_closed && !was_closed && !how.is_held)
    verdict_.require(status.queue_held == was.status.queue_held, rule,
                     "another hold than at the export: " + id);
  verdict_.require(is.role().value() == (how.roles ? was.role : AgentRole::normal), rule,
                   "another role than asked for: " + id);
  verdict_.require(is.model().value() == was.model, rule, "another model: " + id);
  const auto history = is.conversation();
  if (!history) return;
  const std::vector<ChatMessage>& now = history.value();
  const bool begins_so =
      now.size() <= was.history.size() && std::equal(now.begin(), now.end(), was.history.begin());
  verdict_.require(begins_so, rule, "another conversation: " + id);
  verdict_.require(!was.is_exact || now.size() == was.history.size(), rule,
                   "a part of the conversation is missing: " + id);
  if (begins_so && now.size() < was.history.size())
    verdict_.require(was.history[now.size()].role == Role::user, rule,
                     "more than a turn in progress is missing: " + id);
  if (was.is_exact)
    verdict_.require(is_sent_again(is.context().value(), was.context), rule,
                     "another context: " + id + ": " + history_to_json(was.context).substr(0, 300) + " is " +
                         history_to_json(is.context().value()).substr(0, 300));
  verdict_.require(is_same(is.spent().value(), was.own), rule,
                   "what was used of its budget is another: " + id);
  verdict_.require(is_same(is.spent(Scope::subtree).value(), was.below), rule,
                   "what was used of the budget of its subtree is another: " + id);
  verdict_.require(is.spent().value().tokens_reserved == 0, rule, "tokens are reserved: " + id);
  if (!is_closed && !status.stop_pending) check_mail(was, is, how.now);
}

void DocumentRules::check_mail(const OfAgent& was, const Agent& is, TimePoint now) const {
  const auto waits = [now](const QueuedMessage& message) {
    return !message.deadline || *message.deadline > now;
  };
  std::vector<QueuedMessage> mail = is.queued().value();
  std::erase_if(mail, [&](const QueuedMessage& message) { return !waits(message); });
  // One that was steered, and stood before urgent ones, is one of many then.
  std::vector<QueuedMessage> before = was.mail;
  for (auto* const queue : {&before, &mail})
    std::stable_partition(queue->begin(), queue->end(), [](const QueuedMessage& one) {
      return one.message.priority == MessagePriority::urgent;
    });
  auto next = mail.begin();
  for (const QueuedMessage& message : before) {
    if (!waits(message)) continue;
    const bool is_there =
        next != mail.end() && next->message.text == message.message.text &&
        next->message.sender == message.message.sender && next->message.kind == message.message.kind &&
        next->message.priority == message.message.priority && bool(next->deadline) == bool(message.deadline);
    verdict_.require(is_there, rule,
                     "a message does not wait in its place: " + message.message.text.substr(0, 10) + " of " +
                         was.id + " (" + texts_of(was.mail) + " are " + texts_of(mail) + ')');
    if (!is_there) return;
    ++next;
  }
  verdict_.require(next == mail.end(), rule, "more messages wait than at the export: " + was.id);
}

void DocumentRules::check_refusal(const Error& error, bool is_damaged) const {
  verdict_.require(!error.message.empty(), rule, "an import is refused without a word");
  if (!is_damaged || error.code == Errc::out_of_memory) return;
  const bool is_clear = error.code == Errc::invalid_config || error.code == Errc::invalid_history ||
                        error.code == Errc::agent_limit;
  verdict_.require(is_clear, rule, "a damaged document is refused as " + std::string(to_string(error.code)));
}

void DocumentRules::check_again(const Document& document, const std::string& again) const {
  const OfAgent& first = document.agents.front();  // a person is stopped by an ancestor alone
  if (first.role == AgentRole::user && (!can_process(first.status.state) || first.status.stop_pending))
    return;
  verdict_.require(again == document.text || settled(again) == settled(document.text), rule,
                   "the document of what was imported is another: " + document.text.substr(0, 400) + " is " +
                       again.substr(0, 400));
}

}  // namespace agentcore::sim
