// Agent: forwards to the core that its tree shares with all handles.
#include "tree/tree_core.hpp"

#include <agentcore/agent.hpp>

#include <utility>

namespace agentcore {

Agent::Agent(tree::TreeCore* core, std::uint64_t node) noexcept : core_(core), node_(node) {
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

Agent::~Agent() {
  if (core_) core_->release();
}

namespace {

const Error no_agent{Errc::agent_not_found, "the handle refers to no agent"};

}  // namespace

std::string Agent::id() const {
  return core_ ? core_->name_of(node_) : std::string();
}
Result<AgentState> Agent::state() const {
  return core_ ? core_->state(node_) : no_agent;
}
bool Agent::exists() const noexcept {
  return core_ && core_->exists(node_);
}

SendResult Agent::send(Message message) const {
  return core_ ? core_->send(node_, std::move(message)) : SendResult{false, Errc::agent_not_found};
}

AbortResult Agent::abort(AbortOptions options) const {
  return core_ ? core_->abort(node_, std::move(options)) : AbortResult{false, false, Errc::agent_not_found};
}

StopResult Agent::stop(StopOptions options) const {
  return core_ ? core_->stop(node_, std::move(options)) : StopResult{false, false, Errc::agent_not_found};
}

ResumeResult Agent::resume(ResumeOptions options) const {
  return core_ ? core_->resume(node_, options) : ResumeResult{false, false, Errc::agent_not_found};
}

TerminateResult Agent::terminate(TerminateOptions options) const {
  return core_ ? core_->terminate(node_, std::move(options))
               : TerminateResult{false, false, Errc::agent_not_found};
}

Result<Agent> Agent::create_child(AgentSpec spec) const {
  if (!core_) return no_agent;
  return core_->create(node_, std::move(spec));
}

Result<Agent> Agent::create_shared(const SharedAgentSpec& spec) const {
  if (!core_) return no_agent;
  return core_->create(node_, spec, {});
}

Result<Agent> Agent::parent() const {
  if (!core_) return no_agent;
  return core_->parent(node_);
}

// What `read(core)` returns, or the error that the agent or the Runtime is gone.
template <typename Read>
auto Agent::read(Read&& read) const {
  using Value = Result<std::decay_t<decltype(read(*core_))>>;
  if (!core_) return Value(no_agent);
  if (const Result<AgentState> state = core_->state(node_); !state) return Value(state.error());
  return Value(read(*core_));
}

Result<std::vector<Agent>> Agent::children() const {
  return read([&](auto& core) { return core.children(node_); });
}
Result<std::size_t> Agent::queue_length() const {
  return read([&](auto& core) { return core.queue_length(node_); });
}
Result<std::size_t> Agent::clear_queue() const {
  return read([&](auto& core) { return core.clear_queue(node_); });
}
Result<std::vector<ChatMessage>> Agent::conversation() const {
  return read([&](auto& core) { return core.conversation(node_); });
}
Result<std::vector<ChatMessage>> Agent::context() const {
  return read([&](auto& core) { return core.context(node_); });
}
Result<Spent> Agent::spent() const {
  return read([&](auto& core) { return core.spent(node_, false); });
}
Result<Spent> Agent::subtree_spent() const {
  return read([&](auto& core) { return core.spent(node_, true); });
}
GrantResult Agent::grant(const Budget& budget) const {
  return core_ ? core_->grant(node_, budget, false) : GrantResult{false, no_agent.code, no_agent.message};
}
GrantResult Agent::grant_subtree(const Budget& budget) const {
  return core_ ? core_->grant(node_, budget, true) : GrantResult{false, no_agent.code, no_agent.message};
}

SendResult Agent::simulate(std::string answer) const {
  return send(Message{std::move(answer), {}, true});
}

std::size_t Agent::hash() const noexcept {
  return std::hash<const void*>{}(core_) ^ (std::hash<std::uint64_t>{}(node_)*0x9e37'79b9'7f4a'7c15U);
}

}  // namespace agentcore
