// What still refers to an agent, for leak tests.
#include "tree/agent_reads.hpp"
#include "tree/mailboxes.hpp"
#include "tree/tree_core.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/testing/references.hpp>

namespace agentcore {

struct detail::TestAccess {
  static std::size_t count_references(const AgentTree& tree, std::string_view id) {
    const tree::TreeCore& core = *tree.core_;
    const core::AgentTable& table = core.shared_.table;
    const core::References refers(table, table.names().find(id));
    return tree::count_entries(core.shared_, id) + tree::count_mail(core.shared_, refers) +
           core.shared_.steers.count(refers) + core.shared_.acknowledgements.count(refers) +
           core.shared_.control.count(refers) + core.shared_.forks.count(refers) +
           core.settler_.count(refers) + core.turns_.count(refers) +
           (core.shared_.cuts ? core.shared_.cuts->count(refers) : 0) + core.shared_.hub.count(refers);
  }
};

std::size_t testing::count_references(const AgentTree& tree, std::string_view id) {
  return detail::TestAccess::count_references(tree, id);
}

}  // namespace agentcore
