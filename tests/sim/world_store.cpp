// What the store of a tree at rest has, and what it must not have any more.
#include "sim/world.hpp"
#include "sim/world_run.hpp"
#include "support/store/store_faults.hpp"

#include <agentcore/history.hpp>

#include <cctype>
#include <exception>

namespace agentcore::sim {
namespace {

// The words with which World::message() begins a text: "m7", in the JSON of a record or of a history.
std::set<std::string> words_in(std::string_view json) {
  std::set<std::string> words;
  for (std::size_t at = json.find("\"m"); at != json.npos; at = json.find("\"m", at + 1)) {
    std::size_t end = at + 2;
    while (end < json.size() && std::isdigit(static_cast<unsigned char>(json[end])) != 0) ++end;
    const bool is_word = end > at + 2 && end < json.size() && (json[end] == '"' || json[end] == ' ');
    if (is_word) words.emplace(json.substr(at + 1, end - at - 1));
  }
  return words;
}

}  // namespace

// An agent as a person sees it: what a restart must not change.
std::map<std::string, std::string> World::seen_agents() {
  std::map<std::string, std::string> seen;
  std::vector<Agent> agents;
  run_->tree->walk([&](const Agent& agent) { agents.push_back(agent); });
  for (const Agent& agent : agents) {
    const auto history = agent.conversation();
    const auto parent = agent.parent();
    std::string text = "state " + std::string(to_string(agent.state().value())) + ", parent " +
                       (parent ? parent.value().id() : "none");
    text += ", history " + (history ? history_to_json(history.value()) : history.error().message);
    seen.emplace(agent.id(), std::move(text));
  }
  return seen;
}

void World::check_store() {
  if (setup_[Knob::store] == 0 || !run_->tree) return;
  const bool flushed = bool(run_->tree->flush());
  while (executor_.run_one()) {
  }
  poll_until_quiet();
  if (!flushed || !problem().empty() || killed_ || tree_is_destroyed_) return;
  try {
    for (const std::string& fault : test::faults_of(store_.records())) verdict_.fail("store", fault);
  } catch (const std::exception& unreadable) {
    return verdict_.fail("store", unreadable.what());
  }
  const std::map<std::string, std::string> before = seen_agents();
  std::set<std::string> known;
  for (const auto& [id, text] : before) known.merge(words_in(text));
  static_cast<void>(store_.records().read(
      {}, RecordKey{RecordKey::max, RecordKey::max, RecordKey::max},
      [&](const RecordKey& key, std::string_view body) {
        for (const std::string& word : words_in(body))
          verdict_.require(known.contains(word), "G13",
                           "the store has a message that no agent has: " + word + " in " +
                               std::to_string(key.kind) + '/' + std::to_string(key.owner));
        return true;
      }));
  if (!problem().empty()) return;
  // A flush that has succeeded says that a kill is the same as an orderly end.
  const bool killed = texts_ % 2 == 0;
  restart(killed);
  if (texts_ % 3 == 0) restart(killed);
  for (int i = 0; i < 100 && (killed_ || tree_is_destroyed_); ++i) restart(killed_);
  if (!problem().empty()) return;
  const std::map<std::string, std::string> after = seen_agents();
  for (const auto& [id, text] : before) {
    const auto found = after.find(id);
    verdict_.require(found != after.end(), "G14", "an agent is lost by a restart at rest: " + id);
    if (found != after.end())
      verdict_.require(found->second == text, "G14",
                       "a restart at rest has changed " + id + ": " + text.substr(0, 300) + " is " +
                           found->second.substr(0, 300));
  }
  for (const auto& [id, text] : after)
    verdict_.require(before.contains(id), "G14", "an agent came with a restart at rest: " + id);
}

}  // namespace agentcore::sim
