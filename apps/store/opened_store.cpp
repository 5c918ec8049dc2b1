#include "opened_store.hpp"

#include "persist/context_record.hpp"
#include "persist/host_store.hpp"
#include "persist/record_kinds.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace store_tool {

using agentcore::Errc;
using agentcore::Error;
using agentcore::RecordKey;

OpenedStore::OpenedStore(std::string file)
    : file_(std::move(file)), store_(value_of(agentcore::SqliteStore::open(file_, {.read_only = true}))) {
}

// The library names the file only in errors of the file itself.
Failure OpenedStore::failure(const Error& error) const {
  const bool names_file = error.message.starts_with(file_ + ": ");
  return {error.code, names_file ? error.message : file_ + ": " + error.message};
}

persist::StoredForest OpenedStore::forest() {
  persist::StoredForest forest;
  if (auto done = forest.read(persist::ranges_of(*store_)); !done) throw failure(done.error());
  return forest;
}

std::optional<persist::StoredConversation> OpenedStore::conversation(const persist::ForestAgent& agent) {
  std::string problem;
  try {
    auto read =
        persist::read_conversation(persist::ranges_of(*store_), agent.record.history, agent.record.turns);
    if (!read) throw failure(read.error());
    if (is_unchanged(agent)) return *std::move(read);
    return std::nullopt;
  } catch (const Failure&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (!is_unchanged(agent)) return std::nullopt;
  throw failure(
      {Errc::store_corrupt, "the conversation of agent '" + agent.id() + "' cannot be read: " + problem});
}

std::optional<agentcore::detail::turn::SentContext> OpenedStore::context(const persist::ForestAgent& agent,
                                                                         std::size_t messages) {
  if (!agent.record.has_context) return std::nullopt;
  const std::string text = record({static_cast<std::uint64_t>(persist::Kind::context), agent.key, 0});
  try {
    return persist::read_context(text, messages);
  } catch (const nlohmann::json::exception& error) {
    throw failure(
        {Errc::store_corrupt, "what is sent of agent '" + agent.id() + "' cannot be read: " + error.what()});
  }
}

std::string OpenedStore::spec_text(std::uint64_t number) {
  return record(persist::key_of(persist::Kind::spec, number));
}

std::string OpenedStore::record(const RecordKey& key) {
  std::string text;
  const auto done = store_->read(key, key, [&](const RecordKey&, std::string_view body) {
    text = body;
    return true;
  });
  if (!done) throw failure(done.error());
  return text;
}

std::vector<std::string> OpenedStore::check() {
  auto problems = store_->check();
  if (!problems) throw failure(problems.error());
  return *std::move(problems);
}

void OpenedStore::back_up(const std::string& target, bool replaces) {
  if (auto done = store_->back_up(target, {.replace = replaces}); !done) throw Failure(done.error());
}

OpenedStore::Unowned OpenedStore::find_unowned() {
  const persist::StoredForest found = forest();
  persist::OwnedRecords owned;
  for (const auto& agent : found.agents()) owned.add(agent->record.history);
  auto messages = owned.unowned_records(persist::ranges_of(*store_));
  if (!messages) throw failure(messages.error());
  return {*std::move(messages), found.unowned_contexts()};
}

// What a host that writes has added between two reads has an owner at the second look.
std::vector<std::string> OpenedStore::unowned() {
  const Unowned first = find_unowned();
  std::vector<std::string> problems;
  if (first.messages.empty() && first.contexts.empty()) return problems;
  const Unowned second = find_unowned();
  for (const persist::UnownedRecords& range : second.messages) {
    const auto same = [&](const persist::UnownedRecords& one) {
      return one.segment == range.segment && one.first == range.first;
    };
    if (std::any_of(first.messages.begin(), first.messages.end(), same))
      problems.push_back("segment " + std::to_string(range.segment) +
                         " has messages that no agent has, from number " + std::to_string(range.first) +
                         "; the next AgentTree::restore() erases them");
  }
  for (const std::uint64_t key : second.contexts)
    if (std::find(first.contexts.begin(), first.contexts.end(), key) != first.contexts.end())
      problems.push_back("context " + std::to_string(key) +
                         " belongs to no agent; the next AgentTree::restore() erases it");
  return problems;
}

bool OpenedStore::is_unchanged(const persist::ForestAgent& agent) {
  const RecordKey key = persist::key_of(persist::Kind::agent, agent.key);
  bool is_same = false;
  const auto done = store_->read(key, key, [&](const RecordKey&, std::string_view body) {
    is_same = to_json(persist::read_agent(body)) == to_json(agent.record);
    return true;
  });
  if (!done) throw failure(done.error());
  return is_same;
}

}  // namespace store_tool
