#include "persist/agent_document.hpp"

#include "core/json_text.hpp"
#include "core/name_table.hpp"
#include "persist/context_record.hpp"
#include "persist/history_record.hpp"
#include "persist/json_fields.hpp"

#include <agentcore/display.hpp>
#include <agentcore/history.hpp>

#include <cstddef>
#include <unordered_set>
#include <utility>

namespace agentcore::detail::persist {
namespace {

constexpr std::string_view format_name = "agentcore-agents";

// What ends the reading: an error as an exception.
struct CannotImport {
  Error error;
};

[[noreturn]] void refuse_document(const std::string& where, std::string_view why,
                                  Errc code = Errc::invalid_config) {
  throw CannotImport{{code, "the document of agents cannot be imported: " + where + std::string(why)}};
}

std::string messages_json(const StoredConversation& conversation) {
  auto place = conversation.turns.begin();
  std::size_t i = 0;
  return core::JsonObjectText::array(conversation.messages, [&](const ChatMessage& message) {
    const bool begins = place != conversation.turns.end() && place->question == i++;
    return to_json(message, begins ? &*place++ : nullptr);
  });
}

std::string agent_json(const DocumentAgent& agent) {
  core::JsonObjectText text;
  text.add_json("agent", to_json(agent.record));
  text.add_json("messages", messages_json(agent.conversation));
  if (agent.sent) text.add_json("context", to_json(*agent.sent));
  if (!agent.mail.empty())
    text.add_json("mail", core::JsonObjectText::array(agent.mail,
                                                      [](const MailRecord& mail) { return to_json(mail); }));
  return text.take();
}

StoredConversation read_messages(const json& list, const std::string& where) {
  StoredConversation conversation;
  read_each(list, "messages", [&](const json& entry) {
    StoredMessage stored = read_message(entry.dump());
    if (stored.place) {
      const std::uint64_t before = conversation.turns.empty() ? 0 : conversation.turns.back().turn;
      if (stored.place->turn <= before)
        refuse_document(where, "a turn begins with an invalid message", Errc::invalid_history);
      stored.place->question = conversation.messages.size();
      stored.place->message = {};  // an id of another tree
      stored.place->tasks = 0;
      conversation.turns.push_back(*stored.place);
    }
    conversation.messages.push_back(std::move(stored.message));
  });
  if (!is_valid_history(conversation.messages))
    refuse_document(where, "its messages are no valid history (is_valid_history())", Errc::invalid_history);
  if (!begins_with_turn(conversation))
    refuse_document(where, "its messages do not begin with a turn", Errc::invalid_history);
  return conversation;
}

AgentRecord read_record(const json& object, std::size_t number, std::size_t specs, const std::string& where) {
  AgentRecord record = read_agent(object.dump());
  if (!record.name.empty() && !core::NameTable::is_valid(record.name))
    refuse_document(where, "its id is invalid");
  if (record.spec >= specs) refuse_document(where, "its spec is not in the document");
  if (number == 0 ? record.parent != 0 : record.parent == 0 || record.parent > number)
    refuse_document(where, "its parent is not before it");
  if (record.gate == core::Gate::terminate) refuse_document(where, "it is being deleted");
  record.turn.reset();
  record.tasks.clear();
  record.history.clear();
  record.origin = 0;
  record.of_call = false;
  return record;
}

DocumentAgent read_parts(const json& object, std::size_t number, std::size_t specs,
                         const std::string& where) {
  if (!object.is_object()) refuse_document(where, "it is not an object");
  DocumentAgent agent;
  agent.record = read_record(member_of(object, "agent"), number, specs, where);
  agent.conversation = read_messages(member_of(object, "messages"), where);
  if (!agent.conversation.turns.empty() && agent.conversation.turns.back().turn > agent.record.turns)
    refuse_document(where, "it has more turns than it says");
  get_object(object, "context", [&](const json& sent) {
    agent.sent = read_context(sent.dump(), agent.conversation.messages.size());
  });
  get_each(object, "mail", [&](const json& entry) { agent.mail.push_back(read_mail(entry.dump())); });
  return agent;
}

DocumentAgent read_one(const json& object, std::size_t number, std::size_t specs) {
  const std::string where = "agent " + std::to_string(number + 1) + ": ";
  try {
    return read_parts(object, number, specs, where);
  } catch (const json::exception& error) {
    refuse_document(where, std::string("it cannot be read: ") + display(error.what()));
  }
}

// Before anything of it is kept: a text may be a thousand times as large in memory.
void check_size(std::string_view text, const DocumentLimits& limits) {
  if (text.size() > limits.bytes)
    refuse_document("", "it has " + std::to_string(text.size()) + " bytes; ImportOptions::max_bytes is " +
                            std::to_string(limits.bytes));
}

void check_count(const json& agents, const DocumentLimits& limits) {
  if (agents.size() > limits.agents)
    refuse_document("",
                    "it has " + std::to_string(agents.size()) +
                        " agents, more than TreeOptions::max_agents (" + std::to_string(limits.max_agents) +
                        ") allows beside those of the tree",
                    Errc::agent_limit);
}

AgentDocument read_all(std::string_view text, const DocumentLimits& limits) {
  check_size(text, limits);
  const ParsedRecord parsed(text);
  const json& object = *parsed;
  std::string format;
  std::uint64_t version = 0;
  get(object, "format", format);
  get(object, "version", version);
  if (format != format_name)
    refuse_document("",
                    "it has not the member \"format\" with the value \"" + std::string(format_name) + '"');
  if (version == 0 || version > AgentDocument::version_now)
    refuse_document("", "its version is " + std::to_string(version) +
                            "; this version of the library reads up to " +
                            std::to_string(AgentDocument::version_now));
  AgentDocument document;
  const json& agents = member_of(object, "agents");
  check_count(agents, limits);
  read_each(member_of(object, "specs"), "specs",
            [&](const json& spec) { document.specs.push_back(spec.dump()); });
  std::unordered_set<std::string> names;
  read_each(agents, "agents", [&](const json& entry) {
    document.agents.push_back(read_one(entry, document.agents.size(), document.specs.size()));
    const std::string& name = document.agents.back().record.name;
    if (!name.empty() && !names.insert(name).second)
      refuse_document("", "two agents have the id '" + name + "'");
  });
  if (document.agents.empty()) refuse_document("", "it has no agents");
  return document;
}

AgentRecord portable(const AgentRecord& record, const AboveDocument* above) {
  AgentRecord left;
  left.name = record.name;
  left.parent = record.parent;
  left.spec = record.spec;
  left.gate = record.gate;
  if (record.gate == core::Gate::open && record.grade != core::Grade::none)
    left.gate = record.grade_below != core::Grade::none ? core::Gate::stop_tree : core::Gate::stop_self;
  left.stopped_by_ancestor = !above && record.stopped_by_ancestor;
  left.paused = record.paused;
  left.held = record.held;
  left.holds_below = record.holds_below;
  if (above && above->is_closed) left.gate = core::Gate::stop_tree;
  if (above && above->is_paused) left.paused = true;
  if (above && above->is_held) left.held = left.holds_below = true;
  left.turns = record.turns;
  left.tool_turns = record.tool_turns;
  left.summary_tokens = record.summary_tokens;
  left.ended_tasks = record.ended_tasks;
  left.tool_children = record.tool_children;
  left.own = record.own;
  left.subtree = record.subtree;
  return left;
}

// The turn is not in the document; what its question says of tasks that have ended is for the next one.
void leave_out_turn(DocumentAgent& agent) {
  StoredConversation& conversation = agent.conversation;
  if (conversation.turns.empty()) return;
  const turn::TurnPlace last = conversation.turns.back();
  agent.record.ended_tasks.insert(0, turn::tasks_of(conversation.messages[last.question], last));
  conversation.messages.resize(last.question);
  conversation.turns.pop_back();
  if (!agent.sent) return;
  turn::Conversation left;
  left.load(conversation.messages, conversation.turns);
  agent.sent->keep_first(conversation.messages.size(), left);
}

}  // namespace

void close_below_first(AgentDocument& document) noexcept {
  for (std::size_t i = 1; i < document.agents.size(); ++i) {
    AgentRecord& record = document.agents[i].record;
    if (record.gate != core::Gate::open) continue;
    record.gate = core::Gate::stop_self;
    record.stopped_by_ancestor = true;
  }
}

void make_portable(DocumentAgent& agent, bool in_turn, const AboveDocument* above) {
  agent.record = portable(agent.record, above);
  if (in_turn) leave_out_turn(agent);
  if (agent.sent && sends_all(*agent.sent)) agent.sent.reset();
  for (turn::TurnPlace& place : agent.conversation.turns) place.message = {};
  for (MailRecord& mail : agent.mail) mail.id = {};
}

std::string to_json(const AgentDocument& document) {
  core::JsonObjectText text;
  text.add("format", format_name);
  text.add("version", AgentDocument::version_now);
  text.add_json("specs",
                core::JsonObjectText::array(document.specs, [](const std::string& spec) { return spec; }));
  text.add_json("agents", core::JsonObjectText::array(document.agents, agent_json));
  return text.take();
}

Result<AgentDocument> read_document(std::string_view text, const DocumentLimits& limits) {
  try {
    return read_all(text, limits);
  } catch (CannotImport& problem) {
    return std::move(problem.error);
  } catch (const json::exception& error) {
    return Error{Errc::invalid_config,
                 std::string("the document of agents cannot be imported: it cannot be read: ") +
                     display(error.what())};
  }
}

}  // namespace agentcore::detail::persist
