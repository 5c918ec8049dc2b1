#include "schema/facts.hpp"

#include "schema/reasons.hpp"
#include "schema/schema.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>

namespace agentcore::detail::schema {
namespace {

using nlohmann::json;

// Compiling a schema recurses through its references: each level takes 0.9 kB of stack.
constexpr std::size_t max_ref_levels = 384;
constexpr std::size_t max_ref_steps = 16;     // in a chain of references to references
constexpr std::size_t max_reason_part = 200;  // bytes, of the place of a pattern and of its error

// Keywords whose value is a schema; a list of schemas, or one; an object whose members are schemas.
constexpr std::string_view single_schema[] = {
    "additionalItems", "additionalProperties", "contains", "else", "if", "not", "propertyNames", "then"};
constexpr std::string_view listed_schemas[] = {"allOf", "anyOf", "items", "oneOf"};
constexpr std::string_view named_schemas[] = {"definitions", "dependencies", "patternProperties",
                                              "properties"};

// Integers in the compiler's type: signed.
bool is_divisor(const json& value) {
  return value.is_number() && value.get<double>() > 0 &&
         (!value.is_number_integer() || value.get<std::int64_t>() > 0);
}

bool contains(const auto& keywords, const std::string& word) {
  return std::ranges::find(keywords, word) != std::end(keywords);
}

std::string quoted(const std::string& text) {
  return json(text.substr(0, 100)).dump(-1, ' ', true, json::error_handler_t::replace);
}

void replace_all(std::string& text, std::string_view from, char to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
    text.replace(at, from.size(), 1, to);
}

// Decodes the escapes of one name in a reference; false if they are invalid. The order is the compiler's.
bool unescape(std::string& name) {
  replace_all(name, "~1", '/');
  replace_all(name, "~0", '~');
  for (auto at = name.find('%'); at != std::string::npos; at = name.find('%', at + 1)) {
    unsigned value = 0;
    const char* const digits = name.data() + at + 1;
    if (name.size() - at < 3 || std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2)
      return false;
    name.replace(at, 3, 1, static_cast<char>(value));
  }
  return true;
}

const json* child(const json& value, std::string name) {
  if (!unescape(name)) return nullptr;
  if (value.is_object()) {
    const auto found = value.find(name);
    return found == value.end() ? nullptr : &*found;
  }
  std::size_t index = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, index);
  if (!value.is_array() || error != std::errc{} || stop != end || index >= value.size()) return nullptr;
  return &value[index];
}

const json* resolve_once(const json& root, std::string_view ref) {
  if (!ref.starts_with('#')) return nullptr;
  ref.remove_prefix(1);
  const json* value = &root;
  while (value && !ref.empty()) {
    if (!ref.starts_with('/')) return nullptr;
    ref.remove_prefix(1);
    const std::string name(ref.substr(0, ref.find('/')));
    if (name.empty()) return nullptr;
    ref.remove_prefix(name.size());
    value = child(*value, name);
  }
  return value;
}

const std::string* ref_of(const json& schema) {
  if (!schema.is_object()) return nullptr;
  const auto ref = schema.find("$ref");
  return ref == schema.end() ? nullptr : ref->get_ptr<const std::string*>();
}

std::size_t depth_of(const json& value) {
  std::size_t deepest = 0;
  for (const json& part : value)
    if (part.is_structured()) deepest = std::max(deepest, depth_of(part));
  return deepest + 1;
}

// The JSON pointer to the member or item `name` of the value at `place`.
std::string within(const std::string& place, std::string name) {
  for (auto at = name.find_first_of("~/"); at != name.npos; at = name.find_first_of("~/", at + 2))
    name.replace(at, 1, name[at] == '~' ? "~0" : "~1");
  return place + "/" + name;
}

// Visits all schemas inside a schema.
class Reader {
 public:
  Reader(json& root, SchemaFacts& facts) : root_(root), facts_(facts) {}

  std::string read() {
    found_.push_back({&root_, "#"});
    while (!found_.empty() && wrong_.empty()) {
      const Found next = std::move(found_.back());
      found_.pop_back();
      visit(*next.schema, next.place);
    }
    for (json* const schema : identified_) schema->erase("id");
    return wrong_;
  }

 private:
  struct Found {
    json* schema;
    std::string place;
  };

  void wrong(std::string why) {
    if (wrong_.empty()) wrong_ = std::move(why);
  }

  void visit(json& schema, const std::string& place) {
    if (!schema.is_object() || !visited_.insert(&schema).second) return;
    if (const auto id = schema.find("id"); id != schema.end() && id->is_string())
      identified_.push_back(&schema);
    if (const std::string* const ref = ref_of(schema)) return follow(*ref);
    for (auto& [key, value] : schema.items()) {
      keyword(key, value, place);
      const bool listed = contains(listed_schemas, key);
      if (contains(single_schema, key) || (listed && !value.is_array()))
        found_.push_back({&value, within(place, key)});
      else if (listed || contains(named_schemas, key))
        for (auto& [name, part] : value.items()) found_.push_back({&part, within(within(place, key), name)});
    }
  }

  void follow(const std::string& ref) {
    auto* const target = const_cast<json*>(resolve_ref(root_, ref));
    if (!target)
      return wrong("its $ref " + quoted(ref) +
                   " leads nowhere within it; only \"#\" and \"#/...\" are supported");
    if (refs_.insert(ref).second) levels_ += depth_of(*target);
    if (levels_ > max_ref_levels) return wrong("it has too many references");
    // The compiler confuses the two.
    if (target->contains("propertyNames")) return wrong("its $ref leads to a schema with `propertyNames`");
    found_.push_back({target, ref});
  }

  void keyword(const std::string& key, const json& value, const std::string& place) {
    if (key == "pattern" && value.is_string())
      return pattern(value.get_ref<const std::string&>(), within(place, key));
    if (key == "patternProperties" && value.is_object())
      for (const auto& [name, schema] : value.items()) pattern(name, within(place, key));
    else if (key == "multipleOf" && !is_divisor(value))
      wrong("its `multipleOf` is not a number above 0, or too large");
    else if (key == "const")
      facts_.constants.push_back(value);
    else if (key == "enum" && value.is_array())
      facts_.constants.insert(facts_.constants.end(), value.begin(), value.end());
  }

  void pattern(const std::string& text, const std::string& place) {
    if (facts_.patterns.contains(text)) return;
    if (Result<Pattern> compiled = Pattern::compile(text))
      facts_.patterns.emplace(text, std::move(*compiled));
    else
      wrong("the pattern " + to_words(json(text)) + " at " + cut(place, max_reason_part) +
            " cannot be used: " + cut(compiled.error().message, max_reason_part));
  }

  json& root_;
  SchemaFacts& facts_;
  std::vector<Found> found_;       // not visited yet
  std::vector<json*> identified_;  // those with an `id`
  std::set<const json*> visited_;
  std::set<std::string> refs_;
  std::size_t levels_ = 0;  // the depth that its references can reach
  std::string wrong_;
};

}  // namespace

bool deeper_than(const json& value, std::size_t levels) {
  if (!value.is_structured()) return false;
  if (levels == 0) return true;
  return std::ranges::any_of(value, [levels](const json& part) { return deeper_than(part, levels - 1); });
}

const json* resolve_ref(const json& root, std::string_view ref) {
  const json* value = resolve_once(root, ref);
  for (std::size_t steps = 0; value && ref_of(*value); ++steps)
    value = steps < max_ref_steps ? resolve_once(root, *ref_of(*value)) : nullptr;
  return value;
}

std::string read_facts(json& root, SchemaFacts& facts) {
  if (root.is_object())
    if (const auto draft = root.find("$schema"); draft != root.end() && draft->is_string())
      facts.draft4 = draft->get_ref<const std::string&>().find("draft-04") != std::string::npos;
  return Reader(root, facts).read();
}

}  // namespace agentcore::detail::schema
