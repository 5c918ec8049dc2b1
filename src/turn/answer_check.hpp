// AnswerCheck: does the text of an answer have the form that the agent's spec asks for?
#pragma once

#include "schema/schema.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/error.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::detail::turn {

// The check for one format with ResponseFormat::validate. Immutable. @loop_thread
class AnswerCheck {
 public:
  // Without a schema any JSON object is valid.
  explicit AnswerCheck(std::shared_ptr<const schema::Schema> schema = nullptr) noexcept
      : schema_(std::move(schema)) {}

  // Empty if the text is valid, else the first reason why not, worded for the model, at most about 1000
  // bytes: "answer.age is required". Any text is accepted; one in a Markdown code fence counts as what is in
  // the fence. Throws only when out of memory.
  std::string problem_of(std::string_view text) const;
  // The message to a model whose answer was refused for that reason.
  std::string correction(const std::string& problem) const;

 private:
  std::shared_ptr<const schema::Schema> schema_;
};

// The checks of a tree's agents. Agents with the same schema share a check, so that it is compiled once. A
// check lives as long as an agent uses it. @loop_thread
class AnswerChecks {
 public:
  // The check for `format`, whose schema is the text of a JSON object; null if the format has none.
  // Errc::invalid_config if the schema cannot be compiled.
  Result<std::shared_ptr<const AnswerCheck>> get(const ResponseFormat& format);
  // The number of schemas that are remembered.
  std::size_t size() const noexcept { return known_.size(); }

 private:
  void forget_unused();

  std::map<std::string, std::weak_ptr<const AnswerCheck>, std::less<>> known_;  // by the text of the schema
  std::size_t most_ = 16;  // entries; with more, those without an agent are removed
};

}  // namespace agentcore::detail::turn
