// AgentTree: checks options and ids, and forwards to the core.
#include "core/agent_access.hpp"
#include "core/stored_changes.hpp"
#include "core/task_mark.hpp"
#include "core/validate.hpp"
#include "core/without_exceptions.hpp"
#include "loop/engine.hpp"
#include "tree/agent_changes.hpp"
#include "tree/agent_reads.hpp"
#include "tree/call_verbs.hpp"
#include "tree/handle_calls.hpp"
#include "tree/options.hpp"
#include "tree/pauses.hpp"
#include "tree/resume.hpp"
#include "tree/stop.hpp"
#include "tree/tree_core.hpp"

#include <agentcore/agent_tree.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace agentcore {
namespace {

namespace tree = detail::tree;
using tree::on_loop_thread;

// Why no agent was found.
Error unknown(tree::TreeCore& core, std::string_view id) {
  const Errc reason = core.shared().missing();
  if (reason == Errc::runtime_gone) return {reason, std::string(tree::runtime_gone_text)};
  if (id.empty()) return {Errc::missing_agent_id, "the agent id is empty"};
  return {reason, "no agent has the id '" + std::string(id) + "'"};
}

// False: this is not the loop thread, or the tree is closed.
bool may_read(tree::TreeCore& core, const char* function) {
  return !core.shared().refuses_thread(function) && !core.shared().is_closed();
}

}  // namespace

AgentTree::AgentTree(Runtime& runtime, TreeOptions options)
    : core_((tree::check_options(options), new tree::TreeCore(detail::loop::engine_of(runtime), options))) {
}

Result<std::unique_ptr<AgentTree>> AgentTree::make(Runtime& runtime, TreeOptions options) {
  return detail::core::make<AgentTree>(runtime, std::move(options));
}

AgentTree::~AgentTree() {
  if (core_->shared().engine->in_forked_child()) return;  // see core::HomeProcess
  static_cast<void>(
      core_->shared().refuses_thread("AgentTree::~AgentTree"));  // logged; the end cannot be refused
  core_->close();
  core_->release();
}

Result<RestoreReport> AgentTree::restore(SharedOrBorrowed<Store> store, RestoreOptions options) {
  return on_loop_thread(core_, "AgentTree::restore", [&](auto&) {
    return core_->store_verbs().restore(std::move(store), std::move(options));
  });
}
Result<void> AgentTree::flush() {
  return on_loop_thread(core_, "AgentTree::flush", [&](auto&) { return core_->store_verbs().flush(); });
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
  return on_loop_thread(core_, "AgentTree::create", [&](auto&) {
    return core_->factory().create(core_->shared().root(), std::move(spec));
  });
}
Result<Agent> AgentTree::create_shared(const SharedAgentSpec& spec) {
  return on_loop_thread(core_, "AgentTree::create",
                        [&](auto&) { return core_->factory().create(core_->shared().root(), spec, {}); });
}

Result<Agent> AgentTree::find(std::string_view id) const {
  const detail::core::NodeId node = tree::find_agent(core_->shared(), id);
  if (!node) return unknown(*core_, id);
  return detail::core::AgentAccess::make(core_, node);
}

VerbResult AgentTree::stop_all(StopOptions options) {
  return tree::stop_for_host(core_->shared(), core_->shared().root(), std::move(options));
}
VerbResult AgentTree::resume_all(ResumeOptions options) {
  return tree::resume(core_->shared(), core_->shared().root(), options);
}
VerbResult AgentTree::pause_all(PauseOptions options) {
  return tree::pause(core_->shared(), core_->shared().root(), std::move(options));
}
VerbResult AgentTree::unpause_all() {
  const UnpauseResult result = tree::unpause(core_->shared(), core_->shared().root());
  return {result.status, result.reason};
}

Result<void> AgentTree::answer(std::string_view question_id, std::string text) {
  return on_loop_thread(core_, "AgentTree::answer", tree::answer, core_->turns(), question_id,
                        Answer{QuestionOutcome::answered, std::move(text)});
}
Result<void> AgentTree::approve(std::string_view question_id, GrantScope scope) {
  return on_loop_thread(core_, "AgentTree::approve", tree::approve, core_->turns(), question_id, scope);
}
Result<void> AgentTree::decline(std::string_view question_id, std::string reason) {
  return on_loop_thread(core_, "AgentTree::decline", tree::answer, core_->turns(), question_id,
                        Answer{QuestionOutcome::declined, std::move(reason)});
}
std::vector<OpenQuestion> AgentTree::questions() const {
  return may_read(*core_, "AgentTree::questions") ? core_->turns().questions().open()
                                                  : std::vector<OpenQuestion>();
}
std::vector<Grant> AgentTree::grants() const {
  return may_read(*core_, "AgentTree::grants") ? core_->turns().permissions().grants() : std::vector<Grant>();
}
Result<void> AgentTree::revoke(std::uint64_t grant_id) {
  return on_loop_thread(core_, "AgentTree::revoke", tree::revoke, core_->turns(), grant_id);
}
std::vector<RunningTask> AgentTree::tasks() const {
  return may_read(*core_, "AgentTree::tasks") ? core_->turns().tasks() : std::vector<RunningTask>();
}
MessageInfo AgentTree::message(MessageId id) const {
  return may_read(*core_, "AgentTree::message") ? tree::message_info(core_->shared(), core_->turns(), id)
                                                : MessageInfo();
}
VerbResult AgentTree::cancel_task(std::string_view task_id, CancelOptions options) {
  return tree::cancel_task(core_->shared(), task_id, std::move(options));
}

std::size_t AgentTree::size() const noexcept {
  return core_->shared().is_closed() ? 0 : core_->shared().table.alive();
}
std::vector<Agent> AgentTree::roots() const {
  if (core_->shared().refuses_thread("AgentTree::roots")) return {};
  return tree::children_of(core_->shared(), core_->shared().root());
}
void AgentTree::walk(const std::function<void(const Agent&)>& visit) const {
  detail::core::require_function(visit != nullptr, "AgentTree::walk: visit");
  if (core_->shared().refuses_thread("AgentTree::walk")) return;
  tree::walk(core_->shared(), visit);
}
bool AgentTree::busy() const noexcept {
  if (core_->shared().refuses_thread("AgentTree::busy")) return false;
  return core_->busy();
}

Subscription AgentTree::on_event(std::function<void(const Event&)> callback) {
  detail::core::require_function(callback != nullptr, "AgentTree::on_event: callback");
  return subscribe(detail::all_event_kinds, std::move(callback));
}

Subscription AgentTree::subscribe(detail::EventKinds kinds, std::function<void(const Event&)> callback) {
  detail::core::require_function(callback != nullptr, "AgentTree::on: callback");
  if (core_->shared().refuses_thread("AgentTree::on")) return {};
  return core_->shared().hub.subscribe(kinds, std::move(callback)).of_loop(core_->shared().engine);
}

}  // namespace agentcore
