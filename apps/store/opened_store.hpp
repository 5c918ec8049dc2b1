// OpenedStore: a file of a store that is only read, also while a host writes it.
#pragma once

#include "failure.hpp"
#include "persist/stored_conversation.hpp"
#include "persist/stored_forest.hpp"
#include "persist/unowned_records.hpp"
#include "turn/sent_context.hpp"

#include <agentcore/sqlite_store.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace store_tool {

namespace persist = agentcore::detail::persist;

// All functions throw Failure.
class OpenedStore {
 public:
  explicit OpenedStore(std::string file);

  const std::string& file() const noexcept { return file_; }
  // The agents after the last commit.
  persist::StoredForest forest();
  // Nothing: the agent has changed since forest(); begin again with that.
  std::optional<persist::StoredConversation> conversation(const persist::ForestAgent& agent);
  // Which messages of the agent are sent; nothing: all.
  std::optional<agentcore::detail::turn::SentContext> context(const persist::ForestAgent& agent,
                                                              std::size_t messages);
  // The record of a spec.
  std::string spec_text(std::uint64_t number);
  // Looks for damage of the file. A text for each problem.
  std::vector<std::string> check();
  // Copies the store as it is after the last commit. `replaces`: `target` may exist.
  void back_up(const std::string& target, bool replaces);
  // Looks for records that belong to no agent. A text for each problem.
  std::vector<std::string> unowned();

 private:
  struct Unowned {
    std::vector<persist::UnownedRecords> messages;
    std::vector<std::uint64_t> contexts;
  };
  Unowned find_unowned();
  std::string record(const agentcore::RecordKey& key);
  bool is_unchanged(const persist::ForestAgent& agent);
  Failure failure(const agentcore::Error& error) const;

  std::string file_;
  std::unique_ptr<agentcore::SqliteStore> store_;
};

}  // namespace store_tool
