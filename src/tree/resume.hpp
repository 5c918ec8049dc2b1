// The first halves of resume and renew. All @threadsafe. tree/stop.hpp says how verbs exclude each other.
#pragma once

#include "tree/tree_shared.hpp"

#include <agentcore/verbs.hpp>

#include <cstdint>

namespace agentcore::detail::tree {

// What resumes an agent. A message (AgentSpec::auto_resume) does not resume one whose lease has run out; nor
// one below a deferred stop, which would refuse the message, but for that of a tool call.
enum class ResumedBy : std::uint8_t { host, message, message_of_call };

VerbResult resume(TreeShared& tree, core::NodeId id, const ResumeOptions& options,
                  ResumedBy by = ResumedBy::host) AGENTCORE_RUNS_HOST_CODE;
VerbResult renew(TreeShared& tree, core::NodeId id) AGENTCORE_RUNS_HOST_CODE;

}  // namespace agentcore::detail::tree
