#include "persist/agent_document.hpp"

#include "core/name_table.hpp"
#include "persist/context_record.hpp"
#include "persist/history_record.hpp"
#include "persist/json_fields.hpp"
#include "persist/record_text.hpp"

#include <agentcore/history.hpp>

#include <cstddef>
#include <limits>
#include <unordered_set>
#include <utility>

namespace agentcore::detail::persist {
namespace {

constexpr std::string_view format_name = "agentcore-agents";
constexpr std::size_t max_document_bytes = std::size_t{1} << 30;

// What ends the reading: an error as an exception.
struct CannotImport {
  Error error;
};

[[noreturn]] void refuse_document(const std::string& where, std::string_view why,
                                  Errc code = Errc::invalid_config) {
  throw CannotImport{{code, "the document of agents cannot be imported: " + where + std::string(why)}};
}

template <typename List, typename Write>
std::string array_of(const List& list, const Write& write) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != 0) text += ',';
    text += write(i);
  }
  return text += ']';
}

std::string messages_json(const StoredConversation& conversation) {
  auto place = conversation.turns.begin();
  return array_of(conversation.messages, [&](std::size_t i) {
    const bool begins = place != conversation.turns.end() && place->question == i;
    return to_json(conversation.messages[i], begins ? &*place++ : nullptr);
  });
}

std::string agent_json(const DocumentAgent& agent) {
  RecordText text;
  text.add_json("agent", to_json(agent.record));
  text.add_json("messages", messages_json(agent.conversation));
  if (agent.sent) text.add_json("context", to_json(*agent.sent));
  if (!agent.mail.empty())
    text.add_json("mail", array_of(agent.mail, [&](std::size_t i) { return to_json(agent.mail[i]); }));
  return text.take();
}

StoredConversation read_messages(const json& list, const std::string& where) {
  StoredConversation conversation;
  for (const json& entry : list) {
    StoredMessage stored = read_message(entry.dump());
    if (stored.place) {
      const std::uint64_t before = conversation.turns.empty() ? 0 : conversation.turns.back().turn;
      if (stored.message.role != Role::user || stored.place->turn <= before)
        refuse_document(where, "a turn begins with an invalid message", Errc::invalid_history);
      stored.place->question = conversation.messages.size();
      stored.place->message = {};  // an id of another tree
      stored.place->tasks = 0;
      conversation.turns.push_back(*stored.place);
    }
    conversation.messages.push_back(std::move(stored.message));
  }
  if (!is_valid_history(conversation.messages))
    refuse_document(where, "its messages are no valid history (is_valid_history())", Errc::invalid_history);
  if (!conversation.messages.empty() &&
      (conversation.turns.empty() || conversation.turns.front().question != 0))
    refuse_document(where, "its messages do not begin with a turn", Errc::invalid_history);
  return conversation;
}

turn::SentContext read_sent(const json& object, const StoredConversation& conversation,
                            const std::string& where) {
  turn::SentContext sent = read_context(object.dump(), conversation.messages.size());
  for (const turn::Summary& summary : sent.summaries)
    if (summary.end > conversation.messages.size())
      refuse_document(where, "a summary stands for messages that are not there");
  return sent;
}

AgentRecord read_record(const json& object, std::size_t number, std::size_t specs, const std::string& where) {
  AgentRecord record = read_agent(object.dump());
  if (!record.name.empty() && !core::NameTable::is_valid(record.name))
    refuse_document(where, "its id is invalid");
  if (record.spec >= specs) refuse_document(where, "its spec is not in the document");
  if (number == 0 ? record.parent != 0 : record.parent == 0 || record.parent > number)
    refuse_document(where, "its parent is not before it");
  if (record.turns > std::numeric_limits<std::uint32_t>::max() / 2)
    refuse_document(where, "its number of turns is out of range");
  if (record.gate == core::Gate::terminate) refuse_document(where, "it is being deleted");
  record.turn.reset();
  record.tasks.clear();
  record.history.clear();
  record.origin = 0;
  record.of_call = false;
  return record;
}

DocumentAgent read_one(const json& object, std::size_t number, std::size_t specs) {
  const std::string where = "agent " + std::to_string(number + 1) + ": ";
  DocumentAgent agent;
  agent.record = read_record(object.at("agent"), number, specs, where);
  agent.conversation = read_messages(object.at("messages"), where);
  if (!agent.conversation.turns.empty() && agent.conversation.turns.back().turn > agent.record.turns)
    refuse_document(where, "it has more turns than it says");
  if (const auto sent = object.find("context"); sent != object.end())
    agent.sent = read_sent(*sent, agent.conversation, where);
  if (const auto mail = object.find("mail"); mail != object.end())
    for (const json& entry : *mail) agent.mail.push_back(read_mail(entry.dump()));
  return agent;
}

AgentDocument read_all(std::string_view text) {
  if (text.size() > max_document_bytes) refuse_document("", "it is longer than 1 GiB");
  const json object = parse_object(text);
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
  for (const json& spec : object.at("specs")) document.specs.push_back(spec.dump());
  std::unordered_set<std::string> names;
  for (const json& entry : object.at("agents")) {
    document.agents.push_back(read_one(entry, document.agents.size(), document.specs.size()));
    const std::string& name = document.agents.back().record.name;
    if (!name.empty() && !names.insert(name).second)
      refuse_document("", "two agents have the id '" + name + "'");
  }
  if (document.agents.empty()) refuse_document("", "it has no agents");
  return document;
}

}  // namespace

std::string to_json(const AgentDocument& document) {
  RecordText text;
  text.add("format", format_name);
  text.add("version", AgentDocument::version_now);
  text.add_json("specs", array_of(document.specs, [&](std::size_t i) { return document.specs[i]; }));
  text.add_json("agents",
                array_of(document.agents, [&](std::size_t i) { return agent_json(document.agents[i]); }));
  return text.take();
}

Result<AgentDocument> read_document(std::string_view text) {
  try {
    return read_all(text);
  } catch (CannotImport& problem) {
    return std::move(problem.error);
  } catch (const json::exception& error) {
    return Error{
        Errc::invalid_config,
        std::string("the document of agents cannot be imported: it cannot be read: ") + error.what()};
  }
}

}  // namespace agentcore::detail::persist
