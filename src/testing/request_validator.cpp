#include "core/json_depth.hpp"
#include "testing/request_check.hpp"
#include "testing/request_rules.hpp"

#include <agentcore/testing/request_validator.hpp>

namespace agentcore::testing {
namespace {

using detail::testing::RequestForm;

// The form of requests to a path; `usual` for a path that says nothing.
RequestForm form_at(std::string_view path, RequestForm usual) noexcept {
  path = path.substr(0, path.find('?'));
  if (path.ends_with("/chat/completions")) return RequestForm::chat;
  if (path.ends_with("/responses")) return RequestForm::responses;
  return path.ends_with("/messages") ? RequestForm::messages : usual;
}

// The provider whose form it is.
std::string_view maker_of(RequestForm form) noexcept {
  if (form == RequestForm::messages) return "anthropic";
  return form == RequestForm::responses ? "openai-responses" : "openai";
}

void check_form(const nlohmann::json& body, detail::testing::RequestCheck& check) {
  switch (check.rules().form) {
    case RequestForm::chat:
      return detail::testing::check_chat(body, check);
    case RequestForm::responses:
      return detail::testing::check_responses(body, check);
    case RequestForm::messages:
      return detail::testing::check_messages(body, check);
  }
}

}  // namespace

std::vector<std::string> validate_request(std::string_view provider, std::string_view body,
                                          std::string_view path) {
  const detail::testing::RequestRules* row = detail::testing::request_rules(provider);
  if (row == nullptr) return {"there are no rules for a provider of that name"};
  detail::testing::RequestRules rules = *row;
  if (const RequestForm form = form_at(path, row->form); form != row->form) {
    rules = *detail::testing::request_rules(maker_of(form));
    rules.images = row->images;
    rules.unsigned_reasoning = row->unsigned_reasoning;
  }
  constexpr std::size_t deepest = 1000;
  if (detail::core::json_depth(body) > deepest) return {"the body is nested too deeply"};
  const nlohmann::json json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object()) return {"the body is not the text of a JSON object in UTF-8"};
  detail::testing::RequestCheck check(rules);
  check.common(json);
  check_form(json, check);
  return check.take();
}

}  // namespace agentcore::testing
