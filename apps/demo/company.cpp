#include "demo/company.hpp"

#include <algorithm>

namespace demo {

using namespace agentcore;

Company::Company(Runtime& runtime, const Model& model) : runtime_(runtime), model_(model), tree_(runtime) {
  states_ = tree_.on<StateChanged>([this](const StateChanged& change) {
    if (Member* member = find(change.agent.id())) member->state = change.to;
  });
  events_ = tree_.on_event([this](const Event& event) { on_event(event); });
  hire("planner", "", "You plan a quiet week at the sea. Think aloud, at length.");
  hire("scout", "planner", "You look for quiet beaches. Describe what you see, at length.");
  hire("maps", "scout", "You describe routes to beaches, at length.");
  hire("weather", "scout", "You describe the weather of a coast, at length.");
  hire("writer", "planner", "You write a travel diary, at length.");
  hire("drafter", "writer", "You draft the first chapter of a travel diary, at length.");
  hire("critic", "writer", "You criticise a travel diary, at length.");
}

void Company::hire(const std::string& id, const std::string& boss, const std::string& role) {
  auto member = std::make_unique<Member>();
  member->id = id;
  member->llm = std::make_unique<HttpLlmClient>(
      runtime_,
      HttpLlmOptions{.base_url = model_.base_url,
                     .api_key = model_.api_key,
                     .model = model_.name,
                     .headers = {"x-agent-id: " + id, "x-standin-tokens: 0", "x-standin-rate: 25"}});
  AgentSpec spec{.id = id, .system_prompt = role, .llm = member->llm.get()};
  const Member* above = boss.empty() ? nullptr : find(boss);
  member->level = above ? above->level + 1 : 0;
  member->agent =
      (above ? above->agent.create_child(std::move(spec)) : tree_.create(std::move(spec))).value();
  members_.push_back(std::move(member));
}

void Company::begin() {
  for (const auto& member : members_)
    static_cast<void>(member->agent.send("Begin, " + member->id + ". I will say when to stop."));
}

Member* Company::find(const std::string& id) {
  const auto place =
      std::find_if(members_.begin(), members_.end(), [&](const auto& m) { return m->id == id; });
  return place == members_.end() ? nullptr : place->get();
}

std::vector<Member*> Company::below(const std::string& id) {
  std::vector<Member*> found;
  for (const auto& member : members_) {
    if (!found.empty() && member->level <= found.front()->level) break;
    if (!found.empty() || member->id == id) found.push_back(member.get());
  }
  return found;
}

bool Company::all_have_text() const {
  return std::all_of(members_.begin(), members_.end(), [](const auto& member) { return member->tokens > 0; });
}

std::string Company::first_failure() const {
  for (const auto& member : members_)
    if (!member->failure.empty()) return member->id + ": " + member->failure;
  return {};
}

void Company::on_event(const Event& event) {
  Member* member = find(event.agent().id());
  if (!member) return;
  if (const auto* delta = event.get<DeltaReceived>()) {
    member->text += delta->text;
    ++(member->halted ? member->tokens_after_stop : member->tokens);
  } else if (const auto* end = event.get<TurnEnded>()) {
    if (end->result->outcome == TurnOutcome::failed) member->failure = end->result->error.message;
  } else if (event.get<Settled>()) {
    member->settled = true;
  } else if (event.get<AgentDeleted>()) {
    member->gone = true;
  }
}

}  // namespace demo
