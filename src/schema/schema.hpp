// Schemas of tool arguments and of answers: is what a model wrote valid, and if not, why.
#pragma once

#include <agentcore/error.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::detail::schema {

inline constexpr std::size_t max_schema_depth = 64;  // of a schema, and of a value
inline constexpr std::size_t max_matched_bytes =
    1024;  // of a string or a name that is matched with a pattern
inline constexpr std::size_t max_check_steps = 1'000'000;  // see Schema::check

// A JSON schema, draft 4, 6 or 7. Unsupported parts: docs/design/tool-arguments.md. Immutable; made and used
// on the loop thread. @loop_thread
class Schema {
 public:
  // Parses the text of a schema of an object; an empty text allows no arguments, and check() reports that.
  // Errc::invalid_config with the reason when the text is not a schema: not JSON, nested deeper than
  // max_schema_depth, a `type` besides "object", a `$ref` to another document (nothing is ever fetched), a
  // pattern that Pattern::compile() refuses. Throws nothing but std::bad_alloc.
  static Result<std::shared_ptr<const Schema>> parse(std::string_view text);

  // Like parse(), for a schema of any value and without the rule for an empty text.
  static Result<std::shared_ptr<const Schema>> parse_any(std::string_view text);

  // Empty when the value fits, else the first reason why not, worded for the model, of some hundred bytes:
  // "params.k is required"; `root` is the first word. Any value is accepted: if it is nested deeper than
  // max_schema_depth, or costs more than max_check_steps comparisons, it does not fit. Throws only when out
  // of memory.
  std::string check(const nlohmann::json& value, std::string_view root = "params") const;

  // True if a schema of arguments names any: the tool has parameters, required or not. False for one that
  // only says that they are an object.
  bool names_members() const noexcept;

  struct Compiled;
  explicit Schema(std::unique_ptr<const Compiled> compiled) noexcept;
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;
  ~Schema();

 private:
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace agentcore::detail::schema
