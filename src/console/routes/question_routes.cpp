// The routes of questions to people.
#include "console/events/agent_json.hpp"
#include "console/routes/arguments.hpp"
#include "console/routes/refused.hpp"
#include "console/routes/router.hpp"
#include "console/routes/twice.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/tool_policy.hpp>

#include <utility>

namespace agentcore::detail::console {
namespace {

std::optional<Response> list_questions(RouteCall& call) {
  Json questions = Json::array();
  for (const OpenQuestion& question : call.tree().questions()) questions.push_back(to_json(question));
  return json_response({{"questions", std::move(questions)}});
}

Response answered(const RouteCall& call, const Result<void>& result) {
  if (!result) throw Refused(result.code());
  return twice([&] { return json_response({{"ok", true}, {"questionId", call.ids[0]}}); });
}

std::optional<Response> answer(RouteCall& call) {
  const Arguments arguments(call.request, {"text"});
  return answered(call, call.tree().answer(call.ids[0], arguments.text("text")));
}

std::optional<Response> approve(RouteCall& call) {
  const Arguments arguments(call.request, {"scope"});
  const auto scope = arguments.one_of<GrantScope>(
      "scope", {{"once", GrantScope::once}, {"agent", GrantScope::agent}, {"subtree", GrantScope::subtree}});
  return answered(call, call.tree().approve(call.ids[0], scope));
}

std::optional<Response> decline(RouteCall& call) {
  const Arguments arguments(call.request, {"reason"});
  return answered(call, call.tree().decline(call.ids[0], arguments.reason_or("")));
}

}  // namespace

std::vector<Route> question_routes() {
  return {{"GET", "/api/questions", RouteUse::read, list_questions},
          {"POST", "/api/questions/*/answer", RouteUse::write, answer, Waits::store},
          {"POST", "/api/questions/*/approve", RouteUse::write, approve, Waits::store},
          {"POST", "/api/questions/*/decline", RouteUse::write, decline, Waits::store}};
}

}  // namespace agentcore::detail::console
