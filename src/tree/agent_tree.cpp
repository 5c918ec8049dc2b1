// AgentTree: checks options and ids, and forwards to the core.
#include "core/agent_access.hpp"
#include "core/stored_changes.hpp"
#include "core/task_mark.hpp"
#include "core/validate.hpp"
#include "core/without_exceptions.hpp"
#include "loop/engine.hpp"
#include "tree/call_verbs.hpp"
#include "tree/options.hpp"
#include "tree/resume.hpp"
#include "tree/stop.hpp"
#include "tree/tree_core.hpp"

#include <agentcore/agent_tree.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace agentcore {
namespace {

using detail::loop::wrong_thread;

// Why no agent was found.
Error unknown(detail::tree::TreeCore& core, std::string_view id) {
  const Errc reason = core.queries().missing();
  if (reason == Errc::runtime_gone) return {reason, std::string(detail::tree::runtime_gone_text)};
  if (id.empty()) return {Errc::missing_agent_id, "the agent id is empty"};
  return {reason, "no agent has the id '" + std::string(id) + "'"};
}

}  // namespace

AgentTree::AgentTree(Runtime& runtime, TreeOptions options)
    : core_((detail::tree::check_options(options),
             new detail::tree::TreeCore(detail::loop::engine_of(runtime), options))) {
}

Result<std::unique_ptr<AgentTree>> AgentTree::make(Runtime& runtime, TreeOptions options) {
  return detail::core::make<AgentTree>(runtime, std::move(options));
}

AgentTree::~AgentTree() {
  if (core_->queries().in_forked_child()) return;  // see core::HomeProcess
  static_cast<void>(
      core_->queries().refuses_thread("AgentTree::~AgentTree"));  // logged; the end cannot be refused
  core_->close();
  core_->release();
}

Result<RestoreReport> AgentTree::restore(Ref<Store> store, RestoreOptions options) {
  if (core_->queries().refuses_thread("AgentTree::restore")) return wrong_thread("AgentTree::restore");
  return core_->store_verbs().restore(std::move(store), std::move(options));
}
Result<void> AgentTree::flush() {
  if (core_->queries().refuses_thread("AgentTree::flush")) return wrong_thread("AgentTree::flush");
  return core_->store_verbs().flush();
}

void detail::core::set_task_mark(const Agent& agent, bool marked) noexcept {
  if (AgentAccess::core(agent))
    AgentAccess::core(agent)->store_verbs().set_task_mark(AgentAccess::node(agent), marked);
}
bool detail::core::has_task_mark(const Agent& agent) noexcept {
  return AgentAccess::core(agent) &&
         AgentAccess::core(agent)->store_verbs().has_task_mark(AgentAccess::node(agent));
}
std::uint64_t detail::core::turns_begun(const Agent& agent) noexcept {
  return AgentAccess::core(agent)
             ? AgentAccess::core(agent)->store_verbs().turns_begun(AgentAccess::node(agent))
             : 0;
}
bool detail::core::has_steered(const Agent& agent) noexcept {
  return AgentAccess::core(agent) &&
         AgentAccess::core(agent)->store_verbs().has_steered(AgentAccess::node(agent));
}
bool detail::core::when_stored(AgentTree& tree, std::function<void(const Result<void>&)> done,
                               std::optional<std::string> stop_of) {
  return AgentAccess::core(tree)->store_verbs().when_stored(std::move(done), std::move(stop_of));
}

Result<Agent> AgentTree::create(AgentSpec spec) {
  if (core_->queries().refuses_thread("AgentTree::create")) return wrong_thread("AgentTree::create");
  return core_->factory().create(core_->queries().root_sentinel(), std::move(spec));
}
Result<Agent> AgentTree::create_shared(const SharedAgentSpec& spec) {
  if (core_->queries().refuses_thread("AgentTree::create")) return wrong_thread("AgentTree::create");
  return core_->factory().create(core_->queries().root_sentinel(), spec, {});
}

Result<Agent> AgentTree::find(std::string_view id) const {
  const detail::core::NodeId node = core_->queries().find(id);
  if (!node) return unknown(*core_, id);
  return detail::core::AgentAccess::make(core_, node);
}

VerbResult AgentTree::stop_all(StopOptions options) {
  return detail::tree::stop_for_host(core_->shared(), core_->queries().root_sentinel(), std::move(options));
}
VerbResult AgentTree::resume_all(ResumeOptions options) {
  return detail::tree::resume(core_->shared(), core_->queries().root_sentinel(), options);
}
VerbResult AgentTree::pause_all(PauseOptions options) {
  return detail::tree::pause(core_->shared(), core_->queries().root_sentinel(), std::move(options));
}
VerbResult AgentTree::unpause_all() {
  const UnpauseResult result = detail::tree::unpause(core_->shared(), core_->queries().root_sentinel());
  return {result.status, result.reason};
}

AnswerResult AgentTree::answer(std::string_view question_id, std::string text) {
  if (core_->queries().refuses_thread("AgentTree::answer")) return {Errc::wrong_thread};
  return core_->requests().answer(question_id, {QuestionOutcome::answered, std::move(text)});
}
AnswerResult AgentTree::approve(std::string_view question_id, GrantScope scope) {
  if (core_->queries().refuses_thread("AgentTree::approve")) return {Errc::wrong_thread};
  return core_->requests().approve(question_id, scope);
}
AnswerResult AgentTree::decline(std::string_view question_id, std::string reason) {
  if (core_->queries().refuses_thread("AgentTree::decline")) return {Errc::wrong_thread};
  return core_->requests().answer(question_id, {QuestionOutcome::declined, std::move(reason)});
}
std::vector<OpenQuestion> AgentTree::questions() const {
  if (core_->queries().refuses_thread("AgentTree::questions")) return {};
  return core_->requests().questions();
}
std::vector<Grant> AgentTree::grants() const {
  if (core_->queries().refuses_thread("AgentTree::grants")) return {};
  return core_->requests().grants();
}
ChangeResult AgentTree::revoke(std::uint64_t grant_id) {
  if (core_->queries().refuses_thread("AgentTree::revoke")) {
    Error problem = wrong_thread("AgentTree::revoke");
    return {problem.code, std::move(problem.message)};
  }
  return core_->requests().revoke(grant_id);
}
std::vector<RunningTask> AgentTree::tasks() const {
  if (core_->queries().refuses_thread("AgentTree::tasks")) return {};
  return core_->requests().tasks();
}
MessageInfo AgentTree::message(MessageId id) const {
  if (core_->queries().refuses_thread("AgentTree::message")) return {};
  return core_->requests().message(id);
}
VerbResult AgentTree::cancel_task(std::string_view task_id, CancelOptions options) {
  return detail::tree::cancel_task(core_->shared(), task_id, std::move(options));
}

std::size_t AgentTree::size() const noexcept {
  return core_->queries().size();
}
std::vector<Agent> AgentTree::roots() const {
  if (core_->queries().refuses_thread("AgentTree::roots")) return {};
  return core_->queries().children(core_->queries().root_sentinel());
}
void AgentTree::walk(const std::function<void(const Agent&)>& visit) const {
  detail::core::require_function(visit != nullptr, "AgentTree::walk: visit");
  if (core_->queries().refuses_thread("AgentTree::walk")) return;
  core_->queries().walk(visit);
}
bool AgentTree::busy() const noexcept {
  if (core_->queries().refuses_thread("AgentTree::busy")) return false;
  return core_->busy();
}

Subscription AgentTree::on_event(std::function<void(const Event&)> callback) {
  detail::core::require_function(callback != nullptr, "AgentTree::on_event: callback");
  return subscribe(detail::all_event_kinds, std::move(callback));
}

Subscription AgentTree::subscribe(detail::EventKinds kinds, std::function<void(const Event&)> callback) {
  detail::core::require_function(callback != nullptr, "AgentTree::on: callback");
  if (core_->queries().refuses_thread("AgentTree::on")) return {};
  return core_->queries().bound(core_->hub().subscribe(kinds, std::move(callback)));
}

}  // namespace agentcore
