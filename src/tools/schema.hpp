// Schemas of tool arguments: what a model may pass to a tool, and the words that tell it what was wrong.
#pragma once

#include <agentcore/error.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::tools {

inline constexpr std::size_t max_schema_depth = 64;  // of a schema, and of the arguments
inline constexpr std::size_t max_matched_bytes =
    1024;  // of a string or a name that a pattern is matched with
inline constexpr std::size_t max_check_steps = 1'000'000;  // see Schema::check

// A JSON schema, draft 4, 6 or 7. What it does not support: docs/design/tool-arguments.md. Immutable; made
// and used on the loop thread. @loop_thread
class Schema {
 public:
  // Reads the text of a schema of an object; an empty text allows no arguments. Errc::invalid_config with the
  // reason when it is none: not JSON, nested deeper than max_schema_depth, a `type` besides "object", a
  // `$ref` to somewhere else (nothing is ever fetched), a pattern that Pattern::compile() refuses. Throws
  // nothing but std::bad_alloc.
  static Result<std::shared_ptr<const Schema>> parse(std::string_view text);

  // As parse(), for a schema of any value and without the rule for an empty text.
  static Result<std::shared_ptr<const Schema>> parse_any(std::string_view text);

  // Empty when the arguments fit, else the first reason why not, in words for the model, of some hundred
  // bytes: "params.k is required". They may be anything: deeper than max_schema_depth, or costing more than
  // max_check_steps comparisons, they do not fit. Never throws but for a lack of memory.
  std::string check(const nlohmann::json& arguments) const;

  struct Compiled;
  explicit Schema(std::unique_ptr<const Compiled> compiled) noexcept;
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;
  ~Schema();

 private:
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace agentcore::tools
