// Answers as data: the text of an answer is JSON that matches a schema, or the turn fails. A first answer
// that does not match is returned to the model with the reason.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

int main() {
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient llm{runtime};
  llm.enqueue({.deltas = {R"({"city":"Oslo",)", R"("degrees":"about seven"})"}});
  llm.enqueue({.deltas = {R"({"city":"Oslo",)", R"("degrees":7})"}});
  agentcore::AgentTree tree{runtime, {.llm = &llm}};

  // [snippet: structured]
  agentcore::AgentSpec spec;
  spec.model.response_format = {.kind = agentcore::ResponseFormat::Kind::json_schema,
                                .name = "weather",
                                .schema = R"({"type":"object","required":["city","degrees"],
                                              "properties":{"city":{"type":"string"},
                                                            "degrees":{"type":"number"}},
                                              "additionalProperties":false})"};
  spec.limits.repairs = 1;  // the default: the model is asked again once in a turn
  const agentcore::Agent agent = tree.create(std::move(spec)).value();

  std::string shown;  // what a view shows of the answer while it arrives
  auto deltas = tree.on<agentcore::DeltaReceived>([&](const auto& delta) { shown += delta.text; });
  auto refusals = tree.on<agentcore::ModelCallEnded>([&](const agentcore::ModelCallEnded& refused) {
    std::printf("refused: %s\n", refused.reason.c_str());  // "answer.degrees must be number"
    shown.clear();
  });
  double degrees = 0;
  auto ends = tree.on<agentcore::TurnEnded>([&](const agentcore::TurnEnded& end) {
    if (end.result->success())
      degrees = nlohmann::json::parse(end.result->text).at("degrees");  // it matches the schema
    else if (end.result->error.code == agentcore::Errc::invalid_answer)
      std::printf("%s\nthe answer: %s\n", end.result->error.message.c_str(), end.result->text.c_str());
  });
  // [/snippet]

  if (!agent.send("How warm is it in Oslo?")) return 1;
  const bool idle = runtime.run_until_idle().is_idle();
  std::printf("%s\n", shown.c_str());
  return idle && degrees == 7 && llm.calls() == 2 && agent.conversation().value().size() == 2 ? 0 : 1;
}
