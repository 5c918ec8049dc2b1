// StoredForest: the agents that a store has, read and checked, but for their conversations. Needs no tree.
#pragma once

#include "core/internal_api.hpp"
#include "persist/found_state.hpp"
#include "persist/mail_record.hpp"
#include "persist/mail_writer.hpp"
#include "persist/read_range.hpp"
#include "persist/spec_json.hpp"
#include "persist/tree_record.hpp"
#include "turn/grants.hpp"

#include <agentcore/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace agentcore::detail::persist {

struct AGENTCORE_INTERNAL_API ForestAgent {
  std::uint64_t key = 0;
  AgentRecord record;
  const ForestAgent* parent = nullptr;  // null: it is a root
  std::vector<MailRecord> mail;         // in the order of taking
  std::vector<StoredMail> mail_records;
  std::vector<turn::StoredGrant> grants;
  std::size_t depth = 1;
  FoundState found;
  bool forks_go = false;      // its forks are deleted, too (Scope::with_forks)
  bool origin_moved = false;  // AgentRecord::origin is not as stored: that agent is deleted

  // In a tree that is not the first one of its Runtime, a generated id has the number of that tree besides.
  std::string id() const;
};

class AGENTCORE_INTERNAL_API StoredForest {
 public:
  // Error: nothing of it may be used. One range is read, so that it is the state after one commit, also while
  // another process writes.
  Result<void> read(const ReadRange& read);

  const TreeRecord& tree() const noexcept { return tree_; }
  bool is_empty() const noexcept { return is_empty_; }
  // In the order of creation: parents before children.
  std::vector<std::unique_ptr<ForestAgent>>& agents() noexcept { return agents_; }
  const std::vector<std::unique_ptr<ForestAgent>>& agents() const noexcept { return agents_; }
  // By their numbers.
  std::unordered_map<std::uint64_t, StoredSpec>& specs() noexcept { return specs_; }
  const std::unordered_map<std::uint64_t, StoredSpec>& specs() const noexcept { return specs_; }
  // The keys of agents of which there is a record of Kind::context, but that are gone, or send all messages.
  const std::vector<std::uint64_t>& unowned_contexts() const noexcept { return unowned_contexts_; }
  // Null: there is none with that id.
  const ForestAgent* find(std::string_view id) const;

 private:
  void add(const RecordKey& key, std::string_view body);
  void add_tree(std::string_view body);
  void add_spec(std::uint64_t number, std::string_view body);
  void add_agent(std::uint64_t key, std::string_view body);
  void add_mail(const RecordKey& key, std::string_view body);
  void add_grant(const RecordKey& key, std::string_view body);
  void find_origin(ForestAgent& agent) const;
  // `kind`: of the record that refers to it.
  ForestAgent& agent_of(std::string_view kind, const RecordKey& key);
  bool is_valid(MessageId message) const noexcept;
  void check_ids() const;
  void check_cells(const std::unordered_set<std::uint32_t>& cells) const;

  TreeRecord tree_;
  bool is_empty_ = true;
  std::unordered_map<std::uint64_t, StoredSpec> specs_;
  std::vector<std::unique_ptr<ForestAgent>> agents_;
  std::unordered_map<std::uint64_t, ForestAgent*> by_key_;
  std::unordered_map<core::NodeId, const ForestAgent*> by_node_;
  std::vector<std::uint64_t> unowned_contexts_;
};

// The tree record, or why the store cannot be restored.
Result<TreeRecord> tree_of(std::string_view body);
// The error of a store whose record cannot be restored. `kind`: of the record.
Error corrupt_record(std::string_view kind, std::uint64_t owner, std::string_view why);

}  // namespace agentcore::detail::persist
