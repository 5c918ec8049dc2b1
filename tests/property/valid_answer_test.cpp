// Turns with a response format, against generated schemas and answers: the text of a turn that completed
// matches, whatever the model wrote.
#include "support/drive/tree_fixture.hpp"
#include "support/prop.hpp"

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

const std::vector<std::string> type_names = {"integer", "string", "boolean", "array", "object", "null"};

// A schema of an object with some members, of which some are required.
struct ObjectSchema {
  std::vector<std::string> types;  // of the members "m0", "m1", ...
  std::vector<bool> required;
  bool open = false;  // other members are allowed
  bool any = false;   // ResponseFormat::Kind::json_object

  std::string text() const {
    json schema{{"type", "object"}, {"additionalProperties", open}, {"properties", json::object()}};
    for (std::size_t i = 0; i < types.size(); ++i) {
      const std::string name = "m" + std::to_string(i);
      schema["properties"][name] = {{"type", types[i]}};
      if (required[i]) schema["required"].push_back(name);
    }
    return schema.dump();
  }

  // The meaning of text(), without a library for schemas.
  bool accepts(const std::string& answer) const {
    const json value = json::parse(answer, nullptr, false);
    if (!value.is_object() || any) return value.is_object();
    std::size_t known = 0;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const auto member = value.find("m" + std::to_string(i));
      if (member == value.end() && required[i]) return false;
      if (member == value.end()) continue;
      ++known;
      const bool same = types[i] == "integer" ? member->is_number_integer() : types[i] == member->type_name();
      if (!same) return false;
    }
    return open || known == value.size();
  }
};

ObjectSchema any_schema() {
  ObjectSchema schema;
  for (int left = *rc::gen::inRange(0, 4); left > 0; --left) {
    schema.types.push_back(*rc::gen::elementOf(type_names));
    schema.required.push_back(*rc::gen::arbitrary<bool>());
  }
  schema.open = *rc::gen::arbitrary<bool>();
  schema.any = *rc::gen::weightedElement<bool>({{3, false}, {1, true}});
  return schema;
}

json any_member(const std::string& type) {
  if (*rc::gen::inRange(0, 6) == 0) return json::parse(*rc::gen::element<std::string>("null", "1", "[]"));
  if (type == "integer") return *rc::gen::arbitrary<int>();
  if (type == "string") return *rc::gen::element<std::string>("", "```json", "\u00e4");
  if (type == "boolean") return *rc::gen::arbitrary<bool>();
  if (type == "array") return json::array({1, "x"});
  return type == "object" ? json{{"k", 1}} : json();
}

// Often an answer that matches, or nearly.
std::string any_answer(const ObjectSchema& schema) {
  json value = json::object();
  for (std::size_t i = 0; i < schema.types.size(); ++i)
    if (*rc::gen::inRange(0, 5) != 0) value["m" + std::to_string(i)] = any_member(schema.types[i]);
  if (*rc::gen::inRange(0, 4) == 0) value["other"] = 1;
  std::string text = value.dump();
  switch (*rc::gen::inRange(0, 10)) {
    case 0:
      return "```json\n" + text + "\n```";
    case 1:
      return text.substr(0, *rc::gen::inRange<std::size_t>(0, text.size()));
    case 2:
      return *rc::gen::arbitrary<std::string>();
    case 3:
      return "[" + text + "]";
    case 4:
      return " " + text + "\n";
    default:
      return text;
  }
}

// What is inside of the code fence of any_answer(), if it has one.
std::string without_fence(const std::string& text) {
  const std::string begin = "```json\n", end = "\n```";
  if (!text.starts_with(begin) || !text.ends_with(end)) return text;
  return text.substr(begin.size(), text.size() - begin.size() - end.size());
}

AgentSpec spec_for(const ObjectSchema& schema, std::uint16_t max_repairs) {
  AgentSpec spec;
  spec.limits.repairs = max_repairs;
  if (schema.any)
    spec.model.response_format = {.kind = ResponseFormat::Kind::json_object};
  else
    spec.model.response_format = {.kind = ResponseFormat::Kind::json_schema, .schema = schema.text()};
  return spec;
}

void run_turn() {
  const ObjectSchema schema = any_schema();
  const auto limit = *rc::gen::inRange<std::uint16_t>(0, 4);
  TreeFixture t;
  std::shared_ptr<const TurnResult> result;
  const Subscription ends = t.tree->on<TurnEnded>([&](const TurnEnded& end) { result = end.result; });
  t.ask(t.root("a", spec_for(schema, limit)));
  bool last_accepted = false;
  std::string said, last;  // the history keeps what the model said; the result is the JSON alone
  std::size_t answers = 0;
  for (; !result; ++answers) {
    RC_ASSERT(answers <= limit);
    RC_ASSERT(!last_accepted);
    said = last = any_answer(schema);
    t.llm->answer("a", last);
    if (const std::string inner = without_fence(last); schema.accepts(inner)) last = inner;
    last_accepted = schema.accepts(last);
    t.settle();
  }
  RC_ASSERT(t.llm->histories_were_valid());
  RC_ASSERT(t.llm->calls() == answers);
  RC_ASSERT(result->text == last);
  RC_ASSERT(result->success() == last_accepted);
  const auto history = t["a"].conversation().value();
  RC_ASSERT(is_valid_history(history));
  RC_ASSERT(history.size() == (last_accepted ? 2U : 1U));
  if (last_accepted)
    RC_ASSERT(history.back().content() == said);
  else
    RC_ASSERT(result->error.code == Errc::invalid_answer && answers == limit + 1U);
}

}  // namespace

TEST_CASE("a turn completes only with an answer that matches", "[property][turn][X52]") {
  prop("it completes with the first answer that matches, or fails after the last one", run_turn);
}
