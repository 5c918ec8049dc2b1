#include "tree/turn_requests.hpp"

#include "core/validate.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/options.hpp"

#include <cassert>
#include <new>
#include <utility>

namespace agentcore::detail::tree {

using core::Node;

namespace {

const turn::TurnData* data_of(const Node& node) noexcept {
  return static_cast<const turn::TurnData*>(node.data.get());
}

}  // namespace

Result<std::vector<ChatMessage>> TurnRequests::conversation(core::NodeId id) const {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  Node* node = tree_.resolve(id);
  if (!node || !node->spec) return std::vector<ChatMessage>();
  if (auto loaded = tree_.load(*node); !loaded) return loaded.error();
  const std::string& prompt = turn::system_prompt_of(*node->spec);
  const turn::TurnData* data = data_of(*node);
  return data ? data->conversation.rendered(prompt) : turn::Conversation{}.rendered(prompt);
}

Result<ConversationPage> TurnRequests::page(core::NodeId id, std::size_t count,
                                            std::optional<std::size_t> end) const {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  Node* node = tree_.resolve(id);
  if (!node || !node->spec) return ConversationPage();
  if (auto loaded = tree_.load(*node); !loaded) return loaded.error();
  const turn::TurnData* data = data_of(*node);
  const std::string& prompt = turn::system_prompt_of(*node->spec);
  if (!data) return turn::page_of(turn::Conversation{}, prompt, count, end);
  ConversationPage page = turn::page_of(data->conversation, prompt, count, end);
  if (const turn::ActiveTurn* const active = turn::active_turn(*node))
    for (const turn::PendingCall& call : active->calls) {
      const std::size_t index = call.message + (prompt.empty() ? 0 : 1);
      if (call.state != turn::PendingCall::State::done && index - page.first < page.messages.size())
        page.open_calls.push_back(index);
    }
  return page;
}

std::string TurnRequests::model(core::NodeId id) const {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  const Node* node = tree_.resolve(id);
  return node && node->spec ? node->spec->model : std::string();
}

Result<std::vector<ChatMessage>> TurnRequests::context(core::NodeId id) const {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  Node* node = tree_.resolve(id);
  if (!node || !node->spec) return std::vector<ChatMessage>();
  if (auto loaded = tree_.load(*node); !loaded) return loaded.error();
  const std::string& prompt = turn::system_prompt_of(*node->spec);
  const turn::TurnData* data = data_of(*node);
  return data
             ? data->conversation.rendered(prompt, data->sent.now(), data->sent.summary(), 0, data->sent.cuts)
             : turn::Conversation{}.rendered(prompt);
}

Spent TurnRequests::spent(core::NodeId id, bool subtree) const {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  const Node* node = tree_.resolve(id);
  const turn::TurnData* data = node ? data_of(*node) : nullptr;
  if (!data || !data->accounts) return {};
  return subtree ? data->accounts->subtree.spent() : data->accounts->own.spent();
}

ChangeResult TurnRequests::grant(core::NodeId id, const Budget& budget, bool subtree) {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  Node* node = tree_.reach(id);
  if (!node) {
    Error problem = tree_.missing(no_agent_text);
    return {problem.code, std::move(problem.message)};
  }
  const LoopEntry entry(tree_.lifetime);
  try {
    if (const auto problem = core::Validation("Budget").budget("", budget).problem())
      return {problem->code, problem->message};
    turns_.grant(*node, budget, subtree);
    if (persist::Recorder* const recorder = tree_.recorder()) recorder->note_change(node->id());
    return {};
  } catch (const std::bad_alloc&) {  // the previous budget is unchanged
    return {Errc::out_of_memory, "out of memory"};
  }
}

ChangeResult TurnRequests::change_spec(core::NodeId id, const std::function<void(AgentSpec&)>& change) {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  Node* node = tree_.reach(id);
  if (!node || !node->spec) {
    Error problem = tree_.missing("no such agent (any more)");
    return {problem.code, std::move(problem.message)};
  }
  const LoopEntry entry(tree_.lifetime);
  try {
    auto changed = std::make_shared<AgentSpec>(*node->spec);
    changed->system_prompt = turn::system_prompt_of(*node->spec);
    changed->history.clear();
    change(*changed);
    if (const auto problem = check_spec(*changed)) return {problem->code, problem->message};
    if (node->data && changed->tools != node->spec->tools)
      static_cast<turn::TurnData&>(*node->data).sent.windows.clear();  // numbered by the registry
    turn::use_tools(*changed, tree_.engine);
    // TurnData::answer_check stays: no change concerns the response format.
    // A function on the stack may refer to the old spec.
    tree_.replaced_specs.push_back(node->spec);
    node->spec = std::move(changed);
    if (persist::Recorder* const recorder = tree_.recorder()) recorder->note_change(node->id());
    return {};
  } catch (const std::bad_alloc&) {  // the spec before is unchanged
    return {Errc::out_of_memory, "out of memory"};
  }
}

AnswerResult TurnRequests::answer(std::string_view question_id, const Answer& answer) {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  if (tree_.engine->closed()) return {Errc::runtime_gone};
  if (tree_.is_closed()) return {Errc::question_not_found};
  const LoopEntry entry(tree_.lifetime);
  // A permission is given by approve() alone: a host may pass on what a person has written, e.g. "no".
  const turn::AskedQuestion* const asked = turns_.questions().find(question_id);
  if (asked && asked->covers && answer.outcome == QuestionOutcome::answered) return {Errc::is_an_approval};
  return turns_.questions().answer(question_id, answer);
}

AnswerResult TurnRequests::approve(std::string_view question_id, GrantScope scope) {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  if (tree_.engine->closed()) return {Errc::runtime_gone};
  if (tree_.is_closed()) return {Errc::question_not_found};
  const LoopEntry entry(tree_.lifetime);
  return turns_.permissions().approve(question_id, scope);
}

std::vector<Grant> TurnRequests::grants() const {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  return tree_.is_closed() ? std::vector<Grant>{} : turns_.permissions().grants();
}

ChangeResult TurnRequests::revoke(std::uint64_t grant_id) {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  if (tree_.engine->closed()) return {Errc::runtime_gone, std::string(runtime_gone_text)};
  const LoopEntry entry(tree_.lifetime);
  if (!tree_.is_closed() && turns_.permissions().revoke(grant_id)) return {};
  return {Errc::grant_not_found, "no grant has the id " + std::to_string(grant_id)};
}

std::vector<OpenQuestion> TurnRequests::questions() const {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  return tree_.is_closed() ? std::vector<OpenQuestion>{} : turns_.questions().open();
}

std::vector<RunningTask> TurnRequests::tasks() const {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  return tree_.is_closed() ? std::vector<RunningTask>{} : turns_.tasks();
}

MessageInfo TurnRequests::message(MessageId id) const {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  if (tree_.is_closed()) return {};
  const core::NameTable& names = tree_.table.names();
  if (const turn::EndedTurns::Entry* const ended = turns_.ended().find(id))
    if (const Node* const node = tree_.table.find(ended->agent))
      return {MessageInfo::Stage::ended, names.name_of(*node, ended->agent), ended->turn, ended->result};
  const std::uint32_t number = tree_.pool.find(id);
  if (!number || tree_.pool.id_of(number) != id || tree_.pool.is_withdrawn(tree_.pool[number])) return {};
  const core::NodeId agent = tree_.pool[number].agent.load(std::memory_order_relaxed);
  Node* const node = tree_.table.find(agent);
  if (!node) return {};
  if (node->message.load(std::memory_order_relaxed) == number)
    return {MessageInfo::Stage::running, names.name_of(*node, agent), node->turns, nullptr};
  mailbox::collect(*node, tree_.pool);
  if (!tree_.waits(*node, number)) return {};  // a verb has dropped it
  return {MessageInfo::Stage::queued, names.name_of(*node, agent), 0, nullptr};
}

}  // namespace agentcore::detail::tree
