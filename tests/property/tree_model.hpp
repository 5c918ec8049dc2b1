// The reference model of AgentTree: plain maps and recursion, one thread, no epochs, no words. It says what
// every verb answers, the states after it, and what has been reported when the loop is idle.
#pragma once

#include <agentcore/agentcore.hpp>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace agentcore::test {

struct Reply {
  bool ok = false;
  bool done = false;
  Errc reason = Errc::none;
  bool operator==(const Reply&) const = default;
};

struct ModelSpec {
  AgentRole role = AgentRole::normal;
  bool auto_resume = false;
  bool handler = false;
  bool deaf = false;  // its model calls ignore their stop
};

class TreeModel {
 public:
  static constexpr std::size_t mailbox_limit = 3;
  static constexpr std::size_t max_depth = 4;
  static constexpr std::size_t max_agents = 7;

  TreeModel();

  // At once. An empty parent means a root; an empty id in stop() and resume() means all.
  Errc create(const std::string& parent, const std::string& id, ModelSpec spec);
  Reply send(const std::string& id, const std::string& text);
  Reply abort(const std::string& id, bool drop_queue);
  Reply stop(const std::string& id, bool cascade, const std::string& caller);
  Reply resume(const std::string& id, bool cascade);
  Reply terminate(const std::string& id, const std::string& caller);

  // From the model client, for the oldest or newest of the calls that are open there under that id.
  void delta(const std::string& id, bool newest);
  void outcome(const std::string& id, bool newest, ChatOutcome::Kind kind);

  // The loop comes to rest.
  void settle();
  // The grace of everything that is being stopped runs out.
  void give_up();

  std::map<std::string, AgentState> states() const;
  std::size_t queue_length(const std::string& id) const;
  std::string history(const std::string& id) const;

  std::vector<std::string> events;   // as Recorder writes them, without states and deltas
  std::vector<std::string> reports;  // "stop a: b c failed: c dropped: 2"

 private:
  enum class Gate { open, self, tree, terminate };
  struct Node;
  struct Call {
    std::string id;
    Node* node = nullptr;  // null: given up
    int turn = 0;
    int late = 0;
    bool cut = false;
    std::string text;
  };
  struct Node {
    std::string id;
    ModelSpec spec;
    Node* parent = nullptr;
    std::size_t depth = 0;
    std::vector<Node*> kids;
    AgentState own = AgentState::idle;
    Gate gate = Gate::open;
    bool alone = false;  // its last stop left its children alone
    bool kept = false;   // a stop found it closed: no resume of an ancestor opens it
    bool busy = false;   // a call of it was open when the loop began
    bool by_parent = false, direct = false, deleting = false, widening = false, walked = false,
         walked_alone = false, counted = false, abandoned = false;
    std::deque<std::string> queue;
    std::vector<std::string> history;
    Call* current = nullptr;  // of the turn that is under way
    bool active = false, aborted = false;
    int turns = 0;
    std::vector<Call*> calls;
  };
  enum class Verb { abort, stop, resume, terminate };
  struct Op {
    Verb verb;
    Node* node;
    bool effect = true;
    bool cascade = true;
    std::size_t clear = 0;
  };
  struct Job {
    Verb verb;
    Node* root;
    bool effect;  // else it only waits for the end that another one brings
    bool cascade;
    std::vector<std::string> done, failed;
    std::size_t dropped = 0;
  };

  Node* find(const std::string& id);
  const Node* find(const std::string& id) const { return const_cast<TreeModel*>(this)->find(id); }
  static bool closes(const Node& n) { return n.gate >= Gate::tree; }
  static bool closed_above(const Node& n);
  static bool deleted_above(const Node& n);
  static bool open(const Node& n) { return n.gate == Gate::open && !closed_above(n); }
  static AgentState visible(const Node& n);
  Errc refuse_caller(const Node& n, const std::string& caller) const;

  Call* call_of(const std::string& id, bool newest);
  void end(Call* call, ChatOutcome::Kind kind);
  void start(const Op& op);
  void interrupt(Node& n);
  void resume_below(Node& n);
  void mark(Node& n);
  bool settle_below(Node& n);
  void let_go(Node* n);
  bool finish(Node& n);
  void stop_now(Node& n);
  void remove(Node& n);
  void drop(Node& n, std::size_t messages, const std::string& reason);
  void record(const Node& n, std::size_t dropped, Verb verb);
  void complete(Node& n, bool gone);
  void report(const Job& job);
  void run_turns();

  std::vector<std::unique_ptr<Node>> nodes_;  // for ever
  Node* trunk_;
  std::map<std::string, Node*> alive_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<Call*> client_;  // open at the client, oldest first
  std::vector<Op> ops_;
  std::vector<Job> jobs_;
};

}  // namespace agentcore::test
