// ToolRules: what is said of tool calls agrees with what the tools have noted themselves (G9, G10, G14).
#pragma once

#include "sim/call_key.hpp"
#include "sim/verdict.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/event.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace agentcore::sim {

class ToolRules {
 public:
  explicit ToolRules(Verdict& verdict) : verdict_(verdict) {}

  // What the tool notes.
  void begun(const ToolContext& context, bool may_repeat);
  // After a restore: what had begun and not ended is reported as of unknown effect, or has its end in the
  // history of its agent.
  void check_restored(const AgentTree& tree);
  // A result, whose text begins with the key of its call; or it dropped its ToolDone or threw.
  void gave(const std::string& agent, const ToolContext& context, bool result);
  void see(const Event& event);
  // A verb has ended it: cancel_call() or complete_call() returned `done`.
  void ended_by_verb(const std::string& agent, const std::string& call_id, bool with_result);
  // A message is the answer of a simulate(): no history has its calls, so a restart knows nothing of them.
  void simulated(MessageId id) { simulated_.insert(id); }
  // A flush begins, and has succeeded: the store has the end of each call that was reported before it. (Calls
  // that wait for a commit begin within it.)
  void flush_begins();
  void flushed();
  // What begins from now on in this process is in no store: the next one may begin it again.
  void store_is_left() noexcept { is_left_ = true; }
  // A call that was asked for before is `interrupted` if the store cannot say that it had not begun.
  // An end that the store has not heard of may come again.
  void process_ended() {
    for (auto& [id, note] : notes_) {
      note.open = note.begun_here && !note.ended && !note.may_repeat;
      if (std::exchange(note.is_unstored, false)) {
        note.begun = 0;
        note.made.clear();
      }
      note.begun_here = false;
      note.ended = note.completed = note.cancelled = note.given = false;
    }
    is_left_ = false;
    before_ = notes_;
    reported_.clear();
    made_.clear();
  }
  void asked(const std::string& agent, const std::string& call_id) {
    notes_.try_emplace(call_key(agent, call_id));
  }

 private:
  struct Note {
    std::size_t begun = 0;
    std::string agent = {}, call_id = {};
    std::string made = {};  // ToolContext::idempotency_key()
    bool may_repeat = false;
    bool is_simulated = false;
    bool is_unstored = false;  // it began after store_is_left()
    bool begun_here = false;   // in this process
    bool open = false;         // when the process ended
    std::size_t gave = 0;      // or threw
    bool result = false;       // what it gave first was a result
    std::string tool = {};     // of its ToolStarted
    bool ended = false;        // ToolEnded
    bool completed = false;    // with a result
    bool cancelled = false;    // by cancel_call()
    bool given = false;        // by complete_call()
    bool in_flush = false;     // its result, which the flush that runs writes
    bool stored = false;       // its result, in the store
  };

  void check(const ToolCallRecord& record, const Agent& agent);
  void is_of(const std::string& key, const std::string& text);
  void forget(const std::string& agent);
  static bool has_begun(const Note& note);

  Verdict& verdict_;
  bool is_left_ = false;
  std::map<std::string, Note> notes_;          // by call_key()
  std::map<std::string, Note> before_;         // of earlier processes
  std::map<std::string, MessageId> messages_;  // of the turn of each agent
  std::set<MessageId> simulated_;
  std::set<std::string> reported_;           // as of unknown effect, or in the history, by the last restore
  std::map<std::string, std::string> made_;  // the call of each idempotency key, in this process
};

}  // namespace agentcore::sim
