#include "schema/schema.hpp"

#include "schema/checker.hpp"  // the only file that includes it: valijson is heavy

#include <exception>
#include <new>
#include <utility>

#include <valijson/schema_parser.hpp>

namespace agentcore::detail::schema {

struct Schema::Compiled {
  valijson::Schema root;
  SchemaFacts facts;
  bool allows_arguments = true;  // false: made of an empty text
  bool names_members = false;
};

namespace {

constexpr std::string_view no_arguments = R"({"type":"object","properties":{},"additionalProperties":false})";

using Draft = valijson::SchemaParser::Version;

Error unusable(const std::string& why, bool of_arguments = true) {
  const char* const what = of_arguments ? "not a usable schema of arguments: " : "not a usable schema: ";
  return {Errc::invalid_config, what + why};
}

// Why the text is not a schema of that draft, or nothing; then `compiled` holds the schema. Fetches nothing.
std::string compile(const json& schema, Draft draft, std::unique_ptr<Schema::Compiled>& compiled) {
  auto fresh = std::make_unique<Schema::Compiled>();
  try {
    valijson::SchemaParser(draft).populateSchema(NlohmannJsonAdapter(schema), fresh->root);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  }
  compiled = std::move(fresh);
  return {};
}

bool is_for_objects(const json& schema) {
  const json* target = &schema;
  if (const auto ref = schema.find("$ref"); ref != schema.end() && ref->is_string())
    target = resolve_ref(schema, ref->get_ref<const std::string&>());
  if (!target || !target->is_object()) return false;
  const auto type = target->find("type");
  return type == target->end() || *type == "object";
}

// A keyword that combines schemas counts: what it names is not looked for.
bool names_any(const json& schema) {
  if (!schema.is_object()) return false;
  for (const char* const keyword :
       {"properties", "patternProperties", "required", "dependencies", "allOf", "anyOf", "oneOf", "if"})
    if (const auto found = schema.find(keyword); found != schema.end() && !found->empty()) return true;
  const auto ref = schema.find("$ref");
  if (ref == schema.end() || !ref->is_string()) return false;
  const json* const target = resolve_ref(schema, ref->get_ref<const std::string&>());
  return target != nullptr && target != &schema && names_any(*target);
}

// The compiled schema, or the reason why there is none.
std::string read(json schema, std::unique_ptr<Schema::Compiled>& compiled) {
  SchemaFacts facts;
  if (deeper_than(schema, max_schema_depth))
    return "it is nested deeper than " + std::to_string(max_schema_depth) + " levels";
  if (std::string why = read_facts(schema, facts); !why.empty()) return why;
  std::string why = compile(schema, facts.draft4 ? Draft::kDraft4 : Draft::kDraft7, compiled);
  // A schema for draft 4 often does not name its draft.
  if (!compiled && !facts.draft4) compile(schema, Draft::kDraft4, compiled);
  if (!compiled) return why;
  compiled->facts = std::move(facts);
  return {};
}

Result<std::shared_ptr<const Schema>> made(json schema, bool of_arguments, bool allows_arguments = true) {
  std::unique_ptr<Schema::Compiled> compiled;
  const bool names_members = names_any(schema);
  if (const std::string why = read(std::move(schema), compiled); !compiled)
    return unusable(why, of_arguments);
  compiled->allows_arguments = allows_arguments;
  compiled->names_members = names_members;
  return std::make_shared<const Schema>(std::move(compiled));
}

}  // namespace

Schema::Schema(std::unique_ptr<const Compiled> compiled) noexcept : compiled_(std::move(compiled)) {
}
Schema::~Schema() = default;

Result<std::shared_ptr<const Schema>> Schema::parse(std::string_view text) {
  if (text.empty()) return made(json::parse(no_arguments), true, false);
  json schema = json::parse(text, nullptr, false);
  if (schema.is_discarded()) return unusable("it is not valid JSON");
  if (!schema.is_object()) return unusable("it is not a JSON object");
  if (deeper_than(schema, max_schema_depth) || is_for_objects(schema)) return made(std::move(schema), true);
  return unusable("its `type` must be \"object\"");
}

Result<std::shared_ptr<const Schema>> Schema::parse_any(std::string_view text) {
  json schema = json::parse(text, nullptr, false);
  return schema.is_discarded() ? unusable("it is not valid JSON", false) : made(std::move(schema), false);
}

bool Schema::names_members() const noexcept {
  return compiled_->names_members;
}

std::string Schema::check(const json& value, std::string_view root) const {
  const std::string name(root);
  if (deeper_than(value, max_schema_depth))
    return name + " is nested deeper than " + std::to_string(max_schema_depth) + " levels";
  CheckRun run{compiled_->facts, root};
  std::string reason;
  const bool fitting = fits({value, {}, run, &reason}, compiled_->root);
  if (run.refused) return name + run.refused;
  if (fitting) return {};
  if (!compiled_->allows_arguments) return reason + ": the tool takes no arguments; call it with {}";
  return reason.empty() ? name + " does not fit the schema" : reason;
}

}  // namespace agentcore::detail::schema
