#include "llm/dialects/anthropic_thinking.hpp"

#include "llm/dialects/anthropic_messages_content.hpp"
#include "llm/dialects/own_reasoning.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t least_budget = 1024;
constexpr double least_top_p = 0.95;

Json member_of(const RequestBody& body, std::string_view name) {
  const std::string* const text = body.find(name);
  return text == nullptr ? Json() : Json::parse(*text, nullptr, false);
}

std::string type_of(const Json& value) {
  const auto type = value.is_object() ? value.find("type") : value.end();
  return value.is_object() && type != value.end() && type->is_string() ? type->get<std::string>() : "";
}

bool demands_call(const Json& choice) {
  const std::string type = type_of(choice);
  return type == "any" || type == "tool";
}

// True if nobody but this client has set the limit of the answer.
bool has_usual_limit(const ChatRequest& request, const BodyDefaults& defaults) {
  return !request.max_tokens && !defaults.max_tokens &&
         !Json::parse(defaults.extra_body, nullptr, false).contains("max_tokens");
}

void fit_budget(RequestBody& body, Json thinking, bool is_usual_limit, ThinkingChanges& changes) {
  const Json limit = member_of(body, "max_tokens");
  const auto budget = thinking.find("budget_tokens");
  if (budget == thinking.end() || !budget->is_number_integer() || !limit.is_number_integer()) return;
  const auto wanted = budget->get<std::int64_t>(), most = limit.get<std::int64_t>();
  if (wanted < most) return;
  if (is_usual_limit) {
    changes.has_other_budget = true;
    return body.set("max_tokens", std::to_string(wanted + most));
  }
  if (most <= least_budget) {
    changes.is_off_for_limit = true;
    return;
  }
  changes.has_other_budget = true;
  *budget = std::max(least_budget, most / 2);
  body.set("thinking", thinking.dump());
}

void fit_sampling(RequestBody& body, ThinkingChanges& changes) {
  const Json temperature = member_of(body, "temperature"), top_p = member_of(body, "top_p");
  const auto erase = [&](std::string_view name) {
    changes.has_usual_sampling = true;
    body.erase(name);
  };
  if (temperature.is_number() && temperature.get<double>() != 1.0) erase("temperature");
  if (top_p.is_number() && top_p.get<double>() < least_top_p) erase("top_p");
  if (body.find("top_k") != nullptr) erase("top_k");
}

}  // namespace

std::string_view ThinkingChanges::text() const noexcept {
  if (is_off_for_turn)
    return "a turn goes on without thinking: its first answer has no reasoning to send back";
  if (is_off_for_choice) return "a request goes without thinking: its tool_choice demands a call";
  if (is_off_for_limit)
    return "a request goes without thinking: its limit of tokens is not above the least budget of 1024";
  if (has_other_budget)
    return "budget_tokens of `thinking` is not below max_tokens: a request goes with others";
  if (has_usual_sampling) return "temperature, top_p or top_k are not sent: they do not go with thinking";
  return {};
}

ThinkingChanges fit_thinking(RequestBody& body, const ChatRequest& request, const BodyDefaults& defaults) {
  ThinkingChanges changes;
  if (body.find("thinking") == nullptr) return changes;
  const Json thinking = member_of(body, "thinking");
  const bool has_budget = type_of(thinking) == "enabled";
  if (!has_budget && type_of(thinking) != "adaptive") return changes;
  changes.is_off_for_turn = has_budget && lacks_reasoning(request.messages);
  changes.is_off_for_choice = !changes.is_off_for_turn && demands_call(member_of(body, "tool_choice"));
  const bool is_off = changes.is_off_for_turn || changes.is_off_for_choice;
  if (!is_off && has_budget && !defaults.interleaved_thinking)
    fit_budget(body, thinking, has_usual_limit(request, defaults), changes);
  if (!is_off && !changes.is_off_for_limit)
    fit_sampling(body, changes);
  else
    body.set("thinking", std::string(R"({"type":"disabled"})"));
  return changes;
}

ThinkingChanges thinking_changes(const ChatRequest& request, const BodyDefaults& defaults) {
  if (defaults.extra_body.find("thinking") == std::string::npos) return {};
  RequestBody body;
  set_anthropic_options(body, request, defaults);
  body.merge(defaults.extra_body);
  return fit_thinking(body, request, defaults);
}

}  // namespace agentcore::detail::llm
