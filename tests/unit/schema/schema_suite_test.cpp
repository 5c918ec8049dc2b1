// The JSON Schema test suite, as packaged, against the check of tool arguments. What fails is listed below,
// so that a change of valijson, or of ours, shows.
#include "schema/schema.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

using namespace agentcore::detail::schema;
using nlohmann::json;

namespace {

const std::filesystem::path suite = "/usr/share/json-schema-test-suite/tests";

struct Outcome {
  std::size_t differing = 0;     // tests with another verdict than the suite's, or whose schema is refused
  std::set<std::string> groups;  // that they are in: "ref: remote ref, containing refs itself"
};

// The limits are explained in docs/design/tool-arguments.md.
const std::set<std::string> known_in_all = {
    // Only references within the schema.
    "definitions: invalid definition",
    "definitions: valid definition",
    "ref: Recursive references between schemas",
    "ref: remote ref, containing refs itself",
    "refRemote: base URI change",
    "refRemote: base URI change - change folder",
    "refRemote: base URI change - change folder in subschema",
    "refRemote: fragment within remote ref",
    "refRemote: ref within remote ref",
    "refRemote: remote ref",
    "refRemote: root ref in remote ref",
    // Optional: bounds are compared as doubles, patterns are those of std::regex.
    "bignum: integer comparison",
    "ecmascript-regex: ECMA 262 regex non-compliance",
};

// Optional: formats besides date, time and date-time are not checked.
const std::set<std::string> known_in_4 = {
    "format: validation of IP addresses",
    "format: validation of IPv6 addresses",
    "format: validation of URIs",
    "format: validation of e-mail addresses",
    "format: validation of host names",
    // As from draft 6 on, 1.0 is an integer.
    "zeroTerminatedFloats: some languages do not distinguish between different types of numeric value",
};
const std::set<std::string> known_in_6 = {
    "format: format: uri-template",
    "format: validation of IP addresses",
    "format: validation of IPv6 addresses",
    "format: validation of JSON-pointers (JSON String Representation)",
    "format: validation of URI References",
    "format: validation of URIs",
    "format: validation of e-mail addresses",
    "format: validation of host names",
};
const std::set<std::string> known_in_7 = {
    "content: validation of binary string-encoding",
    "content: validation of binary-encoded media type documents",
    "content: validation of string-encoded content based on media type",
    "email: validation of e-mail addresses",
    "hostname: validation of host names",
    "idn-email: validation of an internationalized e-mail addresses",
    "idn-hostname: validation of internationalized host names",
    "ipv4: validation of IP addresses",
    "ipv6: validation of IPv6 addresses",
    "iri-reference: validation of IRI References",
    "iri: validation of IRIs",
    "json-pointer: validation of JSON-pointers (JSON String Representation)",
    "regex: validation of regular expressions",
    "relative-json-pointer: validation of Relative JSON Pointers (RJP)",
    "uri-reference: validation of URI References",
    "uri-template: format: uri-template",
    "uri: validation of URIs",
};

void run_group(const std::string& file, const std::string& draft, json group, Outcome& outcome) {
  json& schema = group["schema"];
  if (schema.is_object()) schema["$schema"] = "http://json-schema.org/" + draft + "/schema#";
  const auto compiled = Schema::parse_any(schema.dump());
  for (const json& test : group["tests"]) {
    if (compiled && (*compiled)->check(test["data"]).empty() == test["valid"].get<bool>()) continue;
    ++outcome.differing;
    outcome.groups.insert(file + ": " + group["description"].get<std::string>());
  }
}

// Also the optional tests: big numbers, formats.
Outcome run_draft(const std::string& folder, const std::string& draft) {
  Outcome outcome;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(suite / folder)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream stream(entry.path());
    for (json& group : json::parse(stream))
      run_group(entry.path().stem().string(), draft, std::move(group), outcome);
  }
  return outcome;
}

}  // namespace

TEST_CASE("the check agrees with the JSON Schema test suite but for known limits", "[tools][Y9]") {
  if (!std::filesystem::exists(suite)) {
    WARN("json-schema-test-suite is not installed: nothing was compared");
    return;
  }
  struct Draft {
    std::string number;
    std::size_t differing;
    std::set<std::string> known;
  };
  for (Draft draft : {Draft{"4", 41, known_in_4}, Draft{"6", 55, known_in_6}, Draft{"7", 71, known_in_7}}) {
    CAPTURE(draft.number);
    draft.known.insert(known_in_all.begin(), known_in_all.end());
    const Outcome outcome = run_draft("draft" + draft.number, "draft-0" + draft.number);
    CHECK(outcome.groups == draft.known);
    CHECK(outcome.differing == draft.differing);
  }
}
