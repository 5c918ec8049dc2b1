#include "tree/call_verbs.hpp"

#include "core/stop_request.hpp"
#include "core/utf8.hpp"

#include <utility>

namespace agentcore::detail::tree {
namespace {

VerbResult end_call(TreeShared& tree, turn::CallKey key, turn::CallEnding&& how) {
  std::unique_ptr<turn::CallEnding> ending;
  auto op = prepared([&](ControlOp& made) {
    made.verb = key.agent ? Verb::end_call : Verb::end_task;
    made.agent = key.agent;
    made.call_id = key.id;
    ending = std::make_unique<turn::CallEnding>(std::move(how));
  });
  if (!op) return VerbResult::refused(Errc::out_of_memory);
  turn::CallVerdict verdict = tree.call_index.end(key, ending);
  if (verdict.reason != Errc::none) return VerbResult::no_effect(verdict.reason);
  core::request_stop(verdict.stop);
  tree.control.push(std::move(op));
  tree.waker->notify();
  return VerbResult::done();
}

}  // namespace

VerbResult cancel_call(TreeShared& tree, core::NodeId id, std::string_view call_id, CancelOptions&& options) {
  const Agent keep = tree.handle(id);  // a cut may run callbacks, and they may drop all other handles
  if (!tree.reach(id)) return VerbResult::refused(tree.missing());
  if (!core::is_utf8(options.reason)) return VerbResult::refused(Errc::invalid_utf8);
  return end_call(tree, {id, call_id}, {.reason = std::move(options.reason)});
}

VerbResult complete_call(TreeShared& tree, core::NodeId id, std::string_view call_id, ToolResult&& result) {
  const Agent keep = tree.handle(id);  // as in cancel_call()
  if (!tree.reach(id)) return VerbResult::refused(tree.missing());
  return end_call(tree, {id, call_id}, {.by_host = true, .result = std::move(result)});
}

VerbResult cancel_task(TreeShared& tree, std::string_view task_id, CancelOptions&& options) {
  const core::NodeId root = tree.table.root_sentinel().id();
  const Agent keep = tree.handle(root);  // as in cancel_call()
  if (!tree.reach(root)) return VerbResult::refused(tree.missing());
  if (!core::is_utf8(options.reason)) return VerbResult::refused(Errc::invalid_utf8);
  return end_call(tree, turn::task_key(task_id), {.reason = std::move(options.reason)});
}

}  // namespace agentcore::detail::tree
