// DocumentRules: agents that are imported are those that were exported, and an import that is refused changes
// nothing. Written from checkpoint.hpp, not from the code.
#pragma once

#include "sim/verdict.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/checkpoint.hpp>
#include <agentcore/clock.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace agentcore::sim {

class DocumentRules {
 public:
  // An agent when its document was made.
  struct OfAgent {
    std::string id, parent;
    bool may_be_missing = false;  // it is perhaps being deleted, or works for one tool call
    bool is_exact = false;        // it had no turn in progress
    std::vector<ChatMessage> history, context;
    std::vector<QueuedMessage> mail;
    AgentStatus status = {};
    AgentRole role = AgentRole::normal;
    std::string model;
    Spent own, below;
  };
  struct Document {
    std::string text;
    std::vector<OfAgent> agents;  // the first is the one that was named
    bool renamed = false;         // see rename()
  };
  // How a document was imported.
  struct Import {
    bool roles = false;
    bool is_code_complete = true;
    Agent parent = {};
    bool is_paused = false, is_held = false;  // what is above them; a hold perhaps without what is below it
    bool all_may_be_paused = false;
    TimePoint now = {};
  };

  explicit DocumentRules(Verdict& verdict) : verdict_(verdict) {}

  static OfAgent seen(const Agent& agent, bool has_no_turn);
  // Another id, for a document that is imported beside the agents of which it was made.
  static std::string rename(const std::string& id);
  static Document renamed(const Document& document);
  // A document that must be refused; `how` chooses what is wrong with it.
  static std::string damaged(const std::string& text, std::uint32_t how);

  // Of which agent of the document each one is made, as far as that is known; else null. Ids that were not
  // chosen are new: those agents are known by their places.
  static std::vector<const OfAgent*> sources(const Document& document, const ImportReport& made);
  // What an import has made, before anything else happens.
  void check(const Document& document, const ImportReport& made, const Import& how) const;
  void check_refusal(const Error& error, bool is_damaged) const;
  // The document of what was made of a document, at once, is the same.
  void check_again(const Document& document, const std::string& again) const;

 private:
  void check_agent(const OfAgent& was, const Agent& is, bool is_closed_for_code, const Import& how) const;
  void check_mail(const OfAgent& was, const Agent& is, TimePoint now) const;

  Verdict& verdict_;
};

}  // namespace agentcore::sim
