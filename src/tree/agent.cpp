// Agent: forwards to the core that its tree shares with all handles.
#include "core/validate.hpp"
#include "loop/engine.hpp"
#include "tree/call_verbs.hpp"
#include "tree/mailboxes.hpp"
#include "tree/resume.hpp"
#include "tree/stop.hpp"
#include "tree/tree_core.hpp"
#include "tree/turn_verbs.hpp"

#include <agentcore/agent.hpp>
#include <agentcore/event.hpp>

#include <memory>
#include <new>
#include <utility>

namespace agentcore {

Agent::Agent(detail::tree::TreeCore* core, std::uint64_t node) noexcept : core_(core), node_(node) {
  core_->retain();
}

Agent::Agent(const Agent& other) noexcept : core_(other.core_), node_(other.node_) {
  if (core_) core_->retain();
}

Agent& Agent::operator=(Agent other) noexcept {
  std::swap(core_, other.core_);
  std::swap(node_, other.node_);
  return *this;
}

// Out of line: most handles that are destroyed are empty.
void Agent::release() noexcept {
  core_->release();
}

namespace {

using detail::loop::wrong_thread;

const Error no_agent{Errc::agent_not_found,
                     "the Agent handle is empty; get one from AgentTree::create() or find()"};

}  // namespace

std::string Agent::id() const {
  return core_ ? core_->queries().name_of(node_) : std::string();
}
Result<AgentState> Agent::state() const {
  return core_ ? core_->queries().state(node_) : no_agent;
}
Result<AgentStatus> Agent::status() const {
  return core_ ? core_->queries().status(node_) : no_agent;
}
bool Agent::exists() const noexcept {
  return core_ && core_->queries().exists(node_);
}

bool Agent::busy() const noexcept {
  return core_ && core_->queries().busy(node_);
}

SteerResult Agent::steer(Message message, SteerOptions options) const {
  return core_ ? detail::tree::steer(core_->shared(), node_, std::move(message), options)
               : SteerResult{Errc::agent_not_found};
}

SendResult Agent::send(Message message) const {
  return core_ ? detail::tree::send(core_->shared(), node_, std::move(message))
               : SendResult{Errc::agent_not_found};
}

SendResult Agent::send(Message message, SendOptions options) const {
  if (!core_) return SendResult{Errc::agent_not_found};
  try {
    auto kept = options || options.deadline ? std::make_unique<SendOptions>(std::move(options)) : nullptr;
    return detail::tree::send(core_->shared(), node_, std::move(message), std::move(kept));
  } catch (const std::bad_alloc&) {
    return SendResult{Errc::out_of_memory};
  }
}

VerbResult Agent::abort(AbortOptions options) const {
  return core_ ? detail::tree::abort(core_->shared(), node_, std::move(options))
               : VerbResult::refused(Errc::agent_not_found);
}

VerbResult Agent::interrupt(InterruptOptions options) const {
  return core_ ? detail::tree::interrupt(core_->shared(), node_, std::move(options))
               : VerbResult::refused(Errc::agent_not_found);
}

VerbResult Agent::release_queue() const {
  return core_ ? detail::tree::release_queue(core_->shared(), node_)
               : VerbResult::refused(Errc::agent_not_found);
}

Result<bool> Agent::is_queue_held() const {
  return core_ ? core_->queries().is_queue_held(node_) : no_agent;
}

VerbResult Agent::pause(PauseOptions options) const {
  return core_ ? detail::tree::pause(core_->shared(), node_, std::move(options))
               : VerbResult::refused(Errc::agent_not_found);
}

UnpauseResult Agent::unpause() const {
  return core_ ? detail::tree::unpause(core_->shared(), node_)
               : UnpauseResult{VerbResult::refused(Errc::agent_not_found)};
}

VerbResult Agent::renew() const {
  return core_ ? detail::tree::renew(core_->shared(), node_) : VerbResult::refused(Errc::agent_not_found);
}

VerbResult Agent::stop(StopOptions options) const {
  return core_ ? detail::tree::stop_for_host(core_->shared(), node_, std::move(options))
               : VerbResult::refused(Errc::agent_not_found);
}

VerbResult Agent::resume(ResumeOptions options) const {
  return core_ ? detail::tree::resume(core_->shared(), node_, options)
               : VerbResult::refused(Errc::agent_not_found);
}

VerbResult Agent::terminate(TerminateOptions options) const {
  return core_ ? detail::tree::terminate(core_->shared(), node_, std::move(options))
               : VerbResult::refused(Errc::agent_not_found);
}

VerbResult Agent::cancel_call(std::string_view call_id, CancelOptions options) const {
  return core_ ? detail::tree::cancel_call(core_->shared(), node_, call_id, std::move(options))
               : VerbResult::refused(Errc::agent_not_found);
}

VerbResult Agent::complete_call(std::string_view call_id, ToolResult result) const {
  return core_ ? detail::tree::complete_call(core_->shared(), node_, call_id, std::move(result))
               : VerbResult::refused(Errc::agent_not_found);
}

Result<Agent> Agent::create_child(AgentSpec spec) const {
  if (!core_) return no_agent;
  if (core_->queries().refuses_thread("Agent::create_child")) return wrong_thread("Agent::create_child");
  return core_->factory().create(node_, std::move(spec));
}

Result<Agent> Agent::create_shared(const SharedAgentSpec& spec) const {
  if (!core_) return no_agent;
  if (core_->queries().refuses_thread("Agent::create_child")) return wrong_thread("Agent::create_child");
  return core_->factory().create(node_, spec, {});
}

Result<Agent> Agent::parent() const {
  if (!core_) return no_agent;
  if (core_->queries().refuses_thread("Agent::parent")) return wrong_thread("Agent::parent");
  return core_->queries().parent(node_);
}

// Returns `read(core)`, or the error that the agent or the Runtime does not exist any more. `function`: the
// name of a function of the loop thread; null: any thread may call it.
template <typename Read>
auto Agent::read(const char* function, Read&& read) const {
  using Value = Result<std::decay_t<decltype(read(*core_))>>;
  if (!core_) return Value(no_agent);
  if (function && core_->queries().refuses_thread(function)) return Value(wrong_thread(function));
  if (const Result<AgentState> state = core_->queries().state(node_); !state) return Value(state.error());
  return Value(read(*core_));
}

Result<std::vector<Agent>> Agent::children() const {
  return read("Agent::children", [&](auto& core) { return core.queries().children(node_); });
}
Result<std::size_t> Agent::queue_length() const {
  return read(nullptr, [&](auto& core) { return detail::tree::queue_length(core.shared(), node_); });
}
Result<std::size_t> Agent::clear_queue() const {
  return read("Agent::clear_queue",
              [&](auto& core) { return detail::tree::clear_queue(core.shared(), node_); });
}
Result<std::vector<QueuedMessage>> Agent::queued() const {
  return read("Agent::queued", [&](auto& core) { return detail::tree::queued(core.shared(), node_); });
}
namespace {

// Changes the spec of the agent in the core that it is called with.
template <typename Change>
auto spec_change(std::uint64_t node, Change change) {
  return [node, change = std::move(change)](auto& core) { return core.requests().change_spec(node, change); };
}

}  // namespace

// Returns `change(core)`, or why nothing was changed.
template <typename Change>
ChangeResult Agent::change_with(const char* function, Change&& change) const {
  if (!core_) return {no_agent.code, no_agent.message};
  if (!core_->queries().refuses_thread(function)) return change(*core_);
  Error problem = wrong_thread(function);
  return {problem.code, std::move(problem.message)};
}

ChangeResult Agent::edit_queued(MessageId id, Message message) const {
  return change_with("Agent::edit_queued", [&](auto& core) {
    return detail::tree::edit_queued(core.shared(), node_, id, std::move(message));
  });
}
ChangeResult Agent::remove_queued(MessageId id) const {
  return change_with("Agent::remove_queued",
                     [&](auto& core) { return detail::tree::remove_queued(core.shared(), node_, id); });
}
Result<std::vector<ChatMessage>> Agent::conversation() const {
  if (core_ && core_->queries().refuses_thread("Agent::conversation"))
    return wrong_thread("Agent::conversation");
  if (const Result<AgentState> exists = state(); !exists) return exists.error();
  return core_->requests().conversation(node_);
}
Result<std::vector<ChatMessage>> Agent::context() const {
  if (core_ && core_->queries().refuses_thread("Agent::context")) return wrong_thread("Agent::context");
  if (const Result<AgentState> exists = state(); !exists) return exists.error();
  return core_->requests().context(node_);
}
Result<Spent> Agent::spent() const {
  return read("Agent::spent", [&](auto& core) { return core.requests().spent(node_, false); });
}
Result<Spent> Agent::subtree_spent() const {
  return read("Agent::subtree_spent", [&](auto& core) { return core.requests().spent(node_, true); });
}
ChangeResult Agent::grant(const Budget& budget) const {
  return change_with("Agent::grant", [&](auto& core) { return core.requests().grant(node_, budget, false); });
}
ChangeResult Agent::grant_subtree(const Budget& budget) const {
  return change_with("Agent::grant_subtree",
                     [&](auto& core) { return core.requests().grant(node_, budget, true); });
}

Result<AgentRole> Agent::role() const {
  return read("Agent::role", [&](auto& core) { return core.queries().role(node_); });
}
Result<std::string> Agent::model() const {
  return read("Agent::model", [&](auto& core) { return core.requests().model(node_); });
}
ChangeResult Agent::set_model(std::string model) const {
  return change_with("Agent::set_model",
                     spec_change(node_, [&](AgentSpec& spec) { spec.model = std::move(model); }));
}
ChangeResult Agent::set_llm(Ref<LlmClient> llm, std::string name) const {
  return change_with("Agent::set_llm", spec_change(node_, [&](AgentSpec& spec) {
                       spec.llm = std::move(llm);
                       spec.code.llm = std::move(name);
                     }));
}
ChangeResult Agent::set_system_prompt(std::string system_prompt) const {
  return change_with("Agent::set_system_prompt", spec_change(node_, [&](AgentSpec& spec) {
                       spec.system_prompt = std::move(system_prompt);
                     }));
}
ChangeResult Agent::set_tools(Ref<ToolRegistry> tools, std::string name) const {
  return change_with("Agent::set_tools", spec_change(node_, [&](AgentSpec& spec) {
                       spec.tools = std::move(tools);
                       spec.code.tools = std::move(name);
                     }));
}

Subscription Agent::on_event(std::function<void(const Event&)> callback) const {
  detail::core::require_function(callback != nullptr, "Agent::on_event: callback");
  return subscribe(detail::all_event_kinds, std::move(callback));
}
Subscription Agent::subscribe(detail::EventKinds kinds, std::function<void(const Event&)> callback) const {
  detail::core::require_function(callback != nullptr, "Agent::on: callback");
  if (!core_ || core_->queries().refuses_thread("Agent::on")) return {};
  if (exists()) return core_->queries().bound(core_->hub().subscribe(node_, kinds, std::move(callback)));
  core_->queries().log_missing_agent("Agent::on");
  return {};
}

SendResult Agent::simulate(std::string answer) const {
  return core_ ? detail::tree::simulate(core_->shared(), node_, std::move(answer))
               : SendResult{Errc::agent_not_found};
}

std::size_t Agent::hash() const noexcept {
  return std::hash<const void*>{}(core_) ^ (std::hash<std::uint64_t>{}(node_)*0x9e37'79b9'7f4a'7c15U);
}

}  // namespace agentcore
