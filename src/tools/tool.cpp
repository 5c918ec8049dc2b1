// The context of a tool, the delivery of its result, and the tools that are made of functions.
#include "core/validate.hpp"
#include "tools/call_scope.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore {

const Agent& ToolContext::agent() const noexcept {
  return scope_->agent;
}
const std::string& ToolContext::call_id() const noexcept {
  return scope_->call_id;
}
std::uint64_t ToolContext::turn() const noexcept {
  return scope_->turn;
}
std::string ToolContext::idempotency_key() const {
  return scope_->idempotency_key;
}
StopToken ToolContext::stop() const noexcept {
  return scope_->stop;
}
TimePoint ToolContext::deadline() const noexcept {
  return std::min(scope_->deadline, scope_->begin->ends_at());
}

void ToolContext::progress(std::string text) const {
  if (scope_->engine->on_loop_thread()) return scope_->owner->on_progress(*scope_, std::move(text));
  scope_->engine->post([scope = scope_, text = std::move(text)]() mutable {
    scope->owner->on_progress(*scope, std::move(text));
  });
}

namespace {

void check_timeout(std::optional<Duration> timeout) {
  detail::core::Validation("Question").not_negative("timeout", timeout.value_or(Duration::zero())).raise();
}

}  // namespace

void ToolContext::ask(Question question, std::function<void(const Answer&)> closed) const {
  detail::core::require_function(closed != nullptr, "ToolContext::ask: closed");
  check_timeout(question.timeout);
  if (scope_->engine->on_loop_thread())
    return scope_->owner->on_ask(*scope_, std::move(question), std::move(closed));
  scope_->engine->post(
      [scope = scope_, question = std::move(question), closed = std::move(closed)]() mutable {
        scope->owner->on_ask(*scope, std::move(question), std::move(closed));
      });
}

SendResult ToolContext::send(const Agent& to, Message message) const {
  const Errc refused = scope_->owner->refusal_of(*scope_);
  return refused == Errc::none ? to.send(std::move(message)) : SendResult{refused};
}

Result<Agent> ToolContext::create_child(const Agent& parent, AgentSpec spec) const {
  const Errc refused = scope_->owner->refusal_of(*scope_);
  if (refused == Errc::none) return parent.create_child(std::move(spec));
  return Error{refused, "the tool call may create no agent: " + std::string(to_string(refused))};
}

void ToolDone::operator()(ToolResult result) const {
  completion_->finish(std::move(result));
}

Tool make_tool(ToolSpec spec, ToolFunction function) {
  detail::core::require_function(function != nullptr, "make_tool: the function of '" + spec.name + "'");
  return {std::move(spec),
          [function = std::move(function)](const nlohmann::json& arguments, const ToolContext& context,
                                           const ToolDone& done) { done(function(arguments, context)); }};
}

namespace {

// Runs on the executor's thread. Exceptions are caught there.
ToolResult result_of(const ToolFunction& function, const nlohmann::json& arguments,
                     const ToolContext& context) noexcept {
  try {
    return function(arguments, context);
  } catch (const std::exception& error) {
    return ToolResult::failed(std::string("the tool failed: ") + error.what());
  } catch (...) {
    return ToolResult::failed("the tool failed: an exception that is no std::exception");
  }
}

}  // namespace

Tool make_blocking_tool(ToolSpec spec, SharedOrBorrowed<Executor> executor, ToolFunction function) {
  if (!executor)
    throw std::invalid_argument("make_blocking_tool: the executor of '" + spec.name +
                                "' is null; pass one, e.g. a ThreadPool");
  detail::core::require_function(function != nullptr,
                                 "make_blocking_tool: the function of '" + spec.name + "'");
  return {std::move(spec), [executor = std::move(executor),
                            shared = std::make_shared<const ToolFunction>(std::move(function))](
                               const nlohmann::json& arguments, const ToolContext& context, ToolDone done) {
            detail::tools::ContextAccess::hand_over(context);
            executor->submit([shared, arguments, context, done = std::move(done)] {
              if (!detail::tools::ContextAccess::begin(context)) return done(ToolResult::failed("cancelled"));
              done(result_of(*shared, arguments, context));
            });
          }};
}

Tool make_ask_human_tool(std::optional<Duration> timeout) {
  check_timeout(timeout);
  ToolSpec spec;
  spec.name = "ask_human";
  spec.description =
      "Asks the person a question and waits for the answer. Use it when you cannot go on without.";
  spec.parameters = R"({"type":"object","properties":{"question":{"type":"string"},)"
                    R"("choices":{"type":"array","items":{"type":"string"},"maxItems":20}},)"
                    R"("required":["question"],"additionalProperties":false})";
  spec.timeout = no_limit;  // the question has its own
  spec.replay = ToolReplay::safe;
  return {std::move(spec),
          [timeout](const nlohmann::json& arguments, const ToolContext& context, ToolDone done) {
            Question question;
            question.text = arguments.at("question").get<std::string>();
            question.choices = arguments.value("choices", std::vector<std::string>());
            question.timeout = timeout;
            context.ask(std::move(question), [done = std::move(done)](const Answer& answer) {
              switch (answer.outcome) {
                case QuestionOutcome::answered:
                  return done(ToolResult::done(answer.text));
                case QuestionOutcome::declined:
                  return done(ToolResult::failed(answer.text.empty()
                                                     ? "the person declined to answer"
                                                     : "the person declined to answer: " + answer.text));
                case QuestionOutcome::timed_out:
                  return done(ToolResult::failed("the person did not answer in time"));
                case QuestionOutcome::cancelled:
                  return done(ToolResult::failed("cancelled"));
              }
            });
          }};
}

}  // namespace agentcore
