#include "llm/dialects/openai_chat_message.hpp"

#include "core/json_depth.hpp"
#include "llm/dialects/call_id.hpp"
#include "llm/dialects/own_reasoning.hpp"
#include "llm/dialects/wire_format.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

// The block as JSON, if it is an object. Blocks come from servers and from stored histories.
std::optional<nlohmann::json> read_block(const ReasoningBlock& block) {
  if (core::json_depth(block.data) > core::max_json_depth) return std::nullopt;
  nlohmann::json data = nlohmann::json::parse(block.data, nullptr, false);
  return data.is_object() ? std::optional(std::move(data)) : std::nullopt;
}

// The entry of the call with that id, or else the entry at that position: an id that was missing or a
// duplicate was replaced, so it is not the id that the provider gave.
nlohmann::json* call_of(const nlohmann::json& data, nlohmann::json& calls) {
  const auto same_id = [id = data.find("id"), &data](const nlohmann::json& call) {
    return id != data.end() && call["id"] == *id;
  };
  if (const auto found = std::ranges::find_if(calls, same_id); found != calls.end()) return &*found;
  const auto place = data.find("tool_call");
  if (place == data.end() || !place->is_number_unsigned()) return nullptr;
  const auto number = place->get<std::size_t>();
  return number < calls.size() && !calls[number].contains("extra_content") ? &calls[number] : nullptr;
}

bool is_of_message(const nlohmann::json& data) {
  const auto extra = data.find("extra_content");
  return extra != data.end() && extra->is_object() && !data.contains("tool_call") && !data.contains("id");
}

void give_extra_back(const nlohmann::json& data, nlohmann::json& calls) {
  const auto extra = data.find("extra_content");
  if (extra == data.end() || !extra->is_object() || is_of_message(data)) return;
  if (nlohmann::json* const call = call_of(data, calls)) (*call)["extra_content"] = *extra;
}

void give_details_back(const nlohmann::json& data, nlohmann::json& entry) {
  const auto details = data.find("reasoning_details");
  if (details == data.end() || !details->is_array() || details->empty()) return;
  const auto is_entry = [](const nlohmann::json& detail) { return detail.is_object(); };
  if (std::ranges::all_of(*details, is_entry)) entry["reasoning_details"] = *details;
}

// In place of reasoning that does not go back, for servers that refuse an answer without any.
void hold_place(ReasoningRule::Placeholder placeholder, const char* field, bool has_calls,
                nlohmann::json& entry) {
  if (placeholder == ReasoningRule::Placeholder::blank_text) {
    if (!entry.contains(field)) entry[field] = " ";
  } else if (placeholder == ReasoningRule::Placeholder::google_signature && has_calls) {
    nlohmann::json& first = entry["tool_calls"][0];
    if (!first.contains("extra_content"))
      first["extra_content"]["google"]["thought_signature"] = "skip_thought_signature_validator";
  }
}

}  // namespace

void add_reasoning(const ChatMessage& message, const ReasoningRule& rule, bool offers_tools,
                   nlohmann::json& entry) {
  if (message.role != Role::assistant) return;
  const bool has_calls = !message.tool_calls().empty();
  const bool goes = goes_with(rule, has_calls, offers_tools);
  const char* const field = rule.field == ReasoningRule::Field::reasoning ? "reasoning" : "reasoning_content";
  for (const ReasoningBlock& block : message.reasoning()) {
    const auto data = is_of(block, Dialect::openai_chat) ? read_block(block) : std::nullopt;
    if (!data) continue;
    if (is_of_message(*data)) entry["extra_content"] = data->at("extra_content");
    if (!goes) continue;
    if (const auto text = data->find("reasoning_content"); text != data->end() && text->is_string())
      entry[field] = *text;
    give_details_back(*data, entry);
    if (has_calls) give_extra_back(*data, entry["tool_calls"]);
  }
  if (goes) hold_place(rule.placeholder, field, has_calls, entry);
}

void fit_call_ids(std::size_t length, nlohmann::json& entry) {
  constexpr std::size_t longest = 40;  // OpenAI's limit
  const auto fit = [length](nlohmann::json& id) {
    id = call_id(id.get_ref<const std::string&>(), length, longest);
  };
  if (const auto calls = entry.find("tool_calls"); calls != entry.end())
    for (nlohmann::json& call : *calls) fit(call["id"]);
  if (const auto id = entry.find("tool_call_id"); id != entry.end()) fit(*id);
}

}  // namespace agentcore::detail::llm
