// AgentTree: checks options and ids, and forwards to the core.
#include "core/agent_access.hpp"
#include "core/validate.hpp"
#include "tree/options.hpp"
#include "tree/tree_core.hpp"

#include <agentcore/agent_tree.hpp>

#include <utility>

namespace agentcore {
namespace {

// Why find(id) found no agent.
Errc unknown(const tree::TreeCore& core, std::string_view id) noexcept {
  const Errc reason = core.missing();
  return reason == Errc::agent_not_found && id.empty() ? Errc::missing_agent_id : reason;
}

}  // namespace

AgentTree::AgentTree(Runtime& runtime, TreeOptions options)
    : core_((tree::check_options(options), new tree::TreeCore(runtime.engine(), options))) {
}

AgentTree::~AgentTree() {
  core_->close();
  core_->release();
}

Result<Agent> AgentTree::create(AgentSpec spec) {
  return core_->create(core_->trunk(), std::move(spec));
}
Result<Agent> AgentTree::create_shared(const SharedAgentSpec& spec) {
  return core_->create(core_->trunk(), spec, {});
}

std::optional<Agent> AgentTree::find(std::string_view id) const {
  const core::NodeId node = core_->find(id);
  if (!node) return std::nullopt;
  return core::AgentAccess::make(core_, node);
}

Result<AgentState> AgentTree::state(std::string_view id) const {
  if (const core::NodeId node = core_->find(id)) return core_->state(node);
  const Errc reason = unknown(*core_, id);
  return Error{reason, reason == Errc::runtime_gone ? std::string(tree::runtime_gone_text)
                                                    : "no agent has the id '" + std::string(id) + "'"};
}

SendResult AgentTree::send(std::string_view id, Message message) {
  const core::NodeId node = core_->find(id);
  return node ? core_->send(node, std::move(message)) : SendResult{false, unknown(*core_, id)};
}

AbortResult AgentTree::abort(std::string_view id, AbortOptions options) {
  const core::NodeId node = core_->find(id);
  return node ? core_->abort(node, std::move(options)) : AbortResult{false, false, unknown(*core_, id)};
}

StopResult AgentTree::stop(std::string_view id, StopOptions options) {
  const core::NodeId node = core_->find(id);
  return node ? core_->stop(node, std::move(options)) : StopResult{false, false, unknown(*core_, id)};
}

ResumeResult AgentTree::resume(std::string_view id, ResumeOptions options) {
  const core::NodeId node = core_->find(id);
  return node ? core_->resume(node, options) : ResumeResult{false, false, unknown(*core_, id)};
}

TerminateResult AgentTree::terminate(std::string_view id, TerminateOptions options) {
  const core::NodeId node = core_->find(id);
  return node ? core_->terminate(node, std::move(options))
              : TerminateResult{false, false, unknown(*core_, id)};
}

StopResult AgentTree::stop_all(StopOptions options) {
  return core_->stop(core_->trunk(), std::move(options));
}
ResumeResult AgentTree::resume_all(ResumeOptions options) {
  return core_->resume(core_->trunk(), options);
}

AnswerResult AgentTree::answer(std::string_view question_id, std::string text) {
  return core_->answer(question_id, {QuestionOutcome::answered, std::move(text)});
}
AnswerResult AgentTree::decline(std::string_view question_id, std::string reason) {
  return core_->answer(question_id, {QuestionOutcome::declined, std::move(reason)});
}
std::vector<OpenQuestion> AgentTree::questions() const {
  return core_->questions();
}
std::vector<RunningTask> AgentTree::tasks() const {
  return core_->tasks();
}
bool AgentTree::cancel_task(std::string_view task_id) {
  return core_->cancel_task(task_id);
}

std::size_t AgentTree::size() const noexcept {
  return core_->size();
}
std::vector<Agent> AgentTree::roots() const {
  return core_->children(core_->trunk());
}
void AgentTree::walk(const std::function<void(const Agent&)>& visit) const {
  core::require_function(visit != nullptr, "AgentTree::walk: visit");
  core_->walk(visit);
}
bool AgentTree::busy() const noexcept {
  return core_->busy();
}

Subscription AgentTree::on_state_change(std::function<void(const StateChange&)> callback) {
  core::require_function(callback != nullptr, "AgentTree::on_state_change: callback");
  return core_->hub().on_state_change(std::move(callback));
}

Subscription AgentTree::on_event(std::function<void(const Event&)> callback) {
  core::require_function(callback != nullptr, "AgentTree::on_event: callback");
  return core_->hub().on_event(std::move(callback));
}

std::size_t AgentTree::references(std::string_view id) const {
  return core_->count_references(id);
}

}  // namespace agentcore
