// Agent: forwards to the core that its tree shares with all handles.
#include "core/validate.hpp"
#include "tree/agent_changes.hpp"
#include "tree/agent_reads.hpp"
#include "tree/call_verbs.hpp"
#include "tree/handle_calls.hpp"
#include "tree/mailboxes.hpp"
#include "tree/pauses.hpp"
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

namespace tree = detail::tree;
using tree::on_any_thread;
using tree::on_loop_thread;

}  // namespace

std::string Agent::id() const {
  return core_ ? tree::name_of(core_->shared(), node_) : std::string();
}
Result<AgentState> Agent::state() const {
  return on_any_thread(core_, tree::state_of, node_);
}
Result<AgentStatus> Agent::status() const {
  return on_any_thread(core_, tree::status_of, node_);
}
bool Agent::exists() const noexcept {
  return core_ && tree::exists(core_->shared(), node_);
}
bool Agent::busy() const noexcept {
  return core_ && tree::is_busy(core_->shared(), node_);
}

SendResult Agent::steer(Message message, SteerOptions options) const {
  return on_any_thread(core_, tree::steer, node_, std::move(message), options);
}
SendResult Agent::send(Message message) const {
  return on_any_thread(core_, tree::send, node_, std::move(message), nullptr);
}
SendResult Agent::send(Message message, SendOptions options) const {
  if (!core_) return tree::refused<SendResult>();
  try {
    auto kept = options || options.deadline ? std::make_unique<SendOptions>(std::move(options)) : nullptr;
    return tree::send(core_->shared(), node_, std::move(message), std::move(kept));
  } catch (const std::bad_alloc&) {
    return SendResult{Errc::out_of_memory};
  }
}
SendResult Agent::simulate(std::string answer) const {
  return on_any_thread(core_, tree::simulate, node_, std::move(answer));
}

VerbResult Agent::abort(AbortOptions options) const {
  return on_any_thread(core_, tree::abort, node_, std::move(options));
}
VerbResult Agent::interrupt(InterruptOptions options) const {
  return on_any_thread(core_, tree::interrupt, node_, std::move(options));
}
VerbResult Agent::release_queue() const {
  return on_any_thread(core_, tree::release_queue, node_);
}
VerbResult Agent::pause(PauseOptions options) const {
  return on_any_thread(core_, tree::pause, node_, std::move(options));
}
UnpauseResult Agent::unpause() const {
  return on_any_thread(core_, tree::unpause, node_);
}
VerbResult Agent::renew() const {
  return on_any_thread(core_, tree::renew, node_);
}
VerbResult Agent::stop(StopOptions options) const {
  return on_any_thread(core_, tree::stop_for_host, node_, std::move(options));
}
VerbResult Agent::resume(ResumeOptions options) const {
  return on_any_thread(core_, tree::resume, node_, options, tree::ResumedBy::host);
}
VerbResult Agent::terminate(TerminateOptions options) const {
  return on_any_thread(core_, tree::terminate, node_, std::move(options));
}
VerbResult Agent::cancel_call(std::string_view call_id, CancelOptions options) const {
  return on_any_thread(core_, tree::cancel_call, node_, call_id, std::move(options));
}
VerbResult Agent::complete_call(std::string_view call_id, ToolResult result) const {
  return on_any_thread(core_, tree::complete_call, node_, call_id, std::move(result));
}

Result<Agent> Agent::create_child(AgentSpec spec) const {
  return on_loop_thread(core_, "Agent::create_child",
                        [&](auto&) { return core_->factory().create(node_, std::move(spec)); });
}
Result<Agent> Agent::create_shared(const SharedAgentSpec& spec) const {
  return on_loop_thread(core_, "Agent::create_child",
                        [&](auto&) { return core_->factory().create(node_, spec, {}); });
}

Result<Agent> Agent::parent() const {
  return on_loop_thread(core_, "Agent::parent", tree::parent_of, node_);
}
Result<std::vector<Agent>> Agent::children() const {
  return tree::read(*this, "Agent::children", tree::children_of);
}
Result<AgentRole> Agent::role() const {
  return tree::read(*this, "Agent::role", tree::role_of);
}
Result<std::vector<ChatMessage>> Agent::conversation() const {
  return tree::read(*this, "Agent::conversation", tree::conversation_of);
}
Result<std::vector<ChatMessage>> Agent::context() const {
  return tree::read(*this, "Agent::context", tree::context_of);
}

Result<ConversationPage> Agent::conversation_page(std::size_t count, std::optional<std::size_t> end) const {
  return tree::read(*this, "Agent::conversation_page", tree::page_of, count, end);
}
Result<std::vector<ConversationTurn>> Agent::turns() const {
  return on_loop_thread(core_, "Agent::turns",
                        [&](auto&) { return core_->conversation_verbs().turns_of(node_); });
}
Result<void> Agent::acknowledge(const Acknowledgement& seen) const {
  return on_any_thread(core_, [&](auto& shared) -> Result<void> {
    const Errc refused = tree::acknowledge(shared, node_, seen);
    if (refused == Errc::none) return {};
    try {
      if (refused == Errc::turn_over)
        return Error{refused, "the turn of message " + to_string(seen.message) + " is not in progress"};
      if (refused == Errc::invalid_config)
        return Error{refused, "Acknowledgement::call is 0; the first model call of a turn is 1"};
      return shared.missing(tree::no_agent_text);
    } catch (const std::bad_alloc&) {
      return Error{refused};  // without a text
    }
  });
}
Result<void> Agent::truncate_answer(MessageId message, std::size_t bytes) const {
  return on_loop_thread(core_, "Agent::truncate_answer", [&](auto&) {
    return core_->conversation_verbs().truncate_answer(node_, message, bytes);
  });
}
Result<std::vector<ChatMessage>> Agent::rewind(std::uint64_t turn) const {
  return on_loop_thread(core_, "Agent::rewind",
                        [&](auto&) { return core_->conversation_verbs().rewind(node_, turn); });
}
SendResult Agent::regenerate(SendOptions options) const {
  return on_loop_thread(core_, "Agent::regenerate", [&](auto&) {
    return core_->conversation_verbs().regenerate(node_, std::move(options));
  });
}
Result<Agent> Agent::fork(ForkOptions options) const {
  return on_loop_thread(core_, "Agent::fork",
                        [&](auto&) { return core_->factory().fork(node_, std::move(options)); });
}

Result<std::size_t> Agent::queue_length() const {
  if (const Result<AgentState> exists = state(); !exists) return exists.error();
  return tree::queue_length(core_->shared(), node_);
}
Result<std::size_t> Agent::drop_queue() const {
  return tree::read(*this, "Agent::drop_queue", tree::drop_queue);
}
Result<std::vector<QueuedMessage>> Agent::queued() const {
  return tree::read(*this, "Agent::queued", tree::queued);
}
Result<void> Agent::edit_queued(MessageId id, Message message) const {
  return on_loop_thread(core_, "Agent::edit_queued", tree::edit_queued, node_, id, std::move(message));
}
Result<void> Agent::remove_queued(MessageId id) const {
  return on_loop_thread(core_, "Agent::remove_queued", tree::remove_queued, node_, id);
}

Result<Spent> Agent::spent(Scope scope) const {
  return tree::read(*this, "Agent::spent", tree::spent_of, scope);
}
Result<void> Agent::grant(const Budget& budget, Scope scope) const {
  return on_loop_thread(core_, "Agent::grant", [&](auto& shared) {
    return tree::grant(shared, core_->turns(), node_, budget, scope);
  });
}

Result<std::string> Agent::model() const {
  return tree::read(*this, "Agent::model", tree::model_of);
}
Result<void> Agent::set_model(std::string model) const {
  return on_loop_thread(core_, "Agent::set_model", tree::change_spec, node_,
                        [&](AgentSpec& spec) { spec.model.name = std::move(model); });
}
Result<void> Agent::set_llm(SharedOrBorrowed<LlmClient> llm, std::string name) const {
  return on_loop_thread(core_, "Agent::set_llm", tree::change_spec, node_, [&](AgentSpec& spec) {
    spec.llm = std::move(llm);
    spec.code.llm = std::move(name);
  });
}
Result<void> Agent::set_system_prompt(std::string system_prompt) const {
  return on_loop_thread(core_, "Agent::set_system_prompt", tree::change_spec, node_,
                        [&](AgentSpec& spec) { spec.system_prompt = std::move(system_prompt); });
}
Result<void> Agent::set_tools(SharedOrBorrowed<ToolRegistry> tools, std::string name) const {
  return on_loop_thread(core_, "Agent::set_tools", tree::change_spec, node_, [&](AgentSpec& spec) {
    spec.tools = std::move(tools);
    spec.code.tools = std::move(name);
  });
}

Subscription Agent::on_event(std::function<void(const Event&)> callback) const {
  detail::core::require_function(callback != nullptr, "Agent::on_event: callback");
  return subscribe(detail::all_event_kinds, std::move(callback));
}
Subscription Agent::subscribe(detail::EventKinds kinds, std::function<void(const Event&)> callback) const {
  detail::core::require_function(callback != nullptr, "Agent::on: callback");
  if (!core_ || core_->shared().refuses_thread("Agent::on")) return {};
  detail::loop::Engine& engine = *core_->shared().engine;
  if (exists())
    return core_->shared().hub.subscribe(node_, kinds, std::move(callback)).of_loop(engine.weak_from_this());
  if (engine.on_loop_thread())  // after the end of the tree, any thread may come here
    engine.log(LogLevel::warning, "an observer was not added: its agent does not exist",
               {{"function", "Agent::on"}});
  return {};
}

std::size_t Agent::hash() const noexcept {
  return std::hash<const void*>{}(core_) ^ (std::hash<std::uint64_t>{}(node_)*0x9e37'79b9'7f4a'7c15U);
}

}  // namespace agentcore
