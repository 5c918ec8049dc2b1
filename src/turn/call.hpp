// Call: one tool call, or one background task, from its request until nothing is left of it.
#pragma once

#include "core/call_begin.hpp"
#include "core/node.hpp"
#include "core/operation_id.hpp"
#include "tools/registry.hpp"

#include <agentcore/llm_client.hpp>
#include <agentcore/shared_or_borrowed.hpp>
#include <agentcore/tool.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace agentcore::detail::turn {

// Names a tool call or a background task.
struct CallNames {
  std::string id;
  std::string window_id;  // empty: an ordinary tool
  std::string tool;
};

// How a verb ends a call. Made on the thread of the verb, written by the loop thread.
struct CallEnding {
  bool by_host = false;     // false: the call is cancelled
  std::string reason = {};  // of a cancel
  ToolResult result = {};   // of the host
};

// A tool call belongs to its turn, a background task to its agent; its operation, while that is registered,
// and the CallIndex refer to the same object. It is requested, perhaps handed over, begun, and ended, once:
// `state` says how far it has come for its turn, CallBegin whether its tool has begun, and the claim in the
// CallIndex who ends it. At every moment the history and the turn's steps hold its outcome as if the turn
// ended right then (G8, G9). @loop_thread, but for what the index guards.
struct Call : std::enable_shared_from_this<Call> {
  enum class State : std::uint8_t {
    waiting,   // not looked at yet
    asking,    // for its approval
    approved,  // by a person: it may begin
    storing,   // it may begin when the store has that (ToolReplay::never)
    running,   // its tool is at work, or waits for its begin (core::CallBegin)
    done,      // it has its result
  };

  // `epoch`: of its turn. A background task outlives the turn that starts it, and has none.
  Call(CallNames names_of, core::Node& owner, std::uint64_t turn_number, std::optional<std::uint32_t> of_turn)
      : names(std::move(names_of)), node(owner), agent(owner.id()), turn(turn_number), epoch(of_turn) {}

  bool is_task() const noexcept { return !epoch; }
  // True if its tool has begun since the last restart. False: it never will.
  bool has_begun() const noexcept { return begin && !begin->withdraw(); }
  // Its answer is done with: releases what only its begin needs.
  void release_request() noexcept {
    arguments = {};
    const tools::Found unused = std::exchange(found, {});  // its end may run the host's code
  }
  // The tree has closed: a tool may hold a handle of the tree, which would keep it in memory.
  void release_tools() noexcept {
    release_request();
    const SharedOrBorrowed<ToolRegistry> unused = std::exchange(tools, {});
  }

  const CallNames names;
  core::Node& node;
  const core::NodeId agent;
  const std::uint64_t turn;
  const std::optional<std::uint32_t> epoch;
  State state = State::waiting;
  bool start_emitted = false;   // ToolStarted was emitted: then ToolEnded follows
  bool begun_before = false;    // it has, or may have, begun before a restart, and is made again
  bool ends_turn = false;       // its result does (ToolResult::end_turn)
  bool takes_ending = false;    // a verb has ended it, and that is written after ToolStarted was delivered
  bool in_history = false;      // of a background task: its start is in the history
  std::size_t message = 0;      // of its result, in the conversation
  std::size_t step = 0;         // in the turn's result
  core::OperationId operation;  // from before its approval is requested, or it is begun, until it has ended
  std::shared_ptr<Call> task;   // the background task that it starts, until its tool has begun
  std::string arguments;        // the text of the model; once the tool was looked up, that of the tool
  tools::Found found;           // the tool, once it was looked up
  SharedOrBorrowed<ToolRegistry> tools;    // what the agent had when its operation was registered
  std::shared_ptr<core::CallBegin> begin;  // once its tool is about to start

 private:
  friend class CallIndex;
  // Guarded by the mutex of the index.
  bool over_ = false;                  // the loop or a verb has ended it
  std::unique_ptr<CallEnding> left_;   // by a verb, until the loop takes it
  StopSource stop_{std::nostopstate};  // of its operation, for the verb that ends it
};

}  // namespace agentcore::detail::turn
