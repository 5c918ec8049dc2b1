#include "turn/answer_check.hpp"

#include "core/blank.hpp"
#include "core/fence.hpp"
#include "core/json_depth.hpp"

#include <agentcore/display.hpp>

#include <algorithm>

#include <nlohmann/json.hpp>

namespace agentcore::detail::turn {
namespace {

// True if a line of the text begins with the fence of a Markdown code block. No line of valid JSON does.
bool has_fence(std::string_view text) {
  for (std::size_t at = text.find("```"); at != text.npos; at = text.find("```", at + 3)) {
    const std::size_t before = at == 0 ? text.npos : text.find_last_not_of(" \t", at - 1);
    if (before == text.npos || text[before] == '\n') return true;
  }
  return false;
}

// The reason why the text is no JSON; "" if it is, then `value` holds it.
std::string parse_answer(std::string_view text, nlohmann::json& value) {
  if (core::is_blank(text)) return "the answer is empty";
  if (core::json_depth(text) > core::max_json_depth)
    return "the answer is nested deeper than " + std::to_string(core::max_json_depth) + " levels";
  try {
    value = nlohmann::json::parse(text);
    return {};
  } catch (const nlohmann::json::parse_error& error) {
    if (has_fence(text))
      return "the answer is not valid JSON: it has a Markdown code fence (```); it must be the JSON alone";
    return "the answer is not valid JSON: there is an error at byte " + std::to_string(error.byte) + " of " +
           std::to_string(text.size());
  } catch (const nlohmann::json::exception&) {
    return "the answer is not valid JSON: a number is out of range";
  }
}

}  // namespace

std::string AnswerCheck::problem_of(std::string_view text) const {
  nlohmann::json value;
  if (std::string problem = parse_answer(core::without_fence(text), value); !problem.empty()) return problem;
  if (schema_) return display(schema_->check(value, "answer"));
  return value.is_object() ? std::string() : "the answer is not a JSON object";
}

std::string AnswerCheck::correction(const std::string& problem) const {
  return "Your last answer was not accepted: " + problem + ". Answer again, with nothing but " +
         (schema_ ? "JSON that matches the required schema" : "one JSON object") +
         ": no words before or after it, and no Markdown.";
}

Result<std::shared_ptr<const AnswerCheck>> AnswerChecks::get(const ResponseFormat& format) {
  if (!format.validate || format.kind == ResponseFormat::Kind::text)
    return std::shared_ptr<const AnswerCheck>();
  const bool any_object = format.kind == ResponseFormat::Kind::json_object;
  const std::string text = any_object ? std::string() : format.schema;
  if (const auto known = known_.find(text); known != known_.end())
    if (auto check = known->second.lock()) return check;
  std::shared_ptr<const schema::Schema> schema;
  if (!any_object) {
    auto compiled = schema::Schema::parse_any(text);
    if (!compiled)
      return Error{Errc::invalid_config,
                   "AgentSpec::model.response_format.schema: " + compiled.error().message +
                       "; with ResponseFormat::validate = false it is sent, and answers are not checked"};
    schema = *std::move(compiled);
  }
  auto check = std::make_shared<const AnswerCheck>(std::move(schema));
  forget_unused();
  known_[text] = check;
  return std::shared_ptr<const AnswerCheck>(std::move(check));
}

void AnswerChecks::forget_unused() {
  if (known_.size() < most_) return;
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  most_ = std::max<std::size_t>(16, 2 * known_.size());
}

}  // namespace agentcore::detail::turn
