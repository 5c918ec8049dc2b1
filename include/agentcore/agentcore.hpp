// Includes the public headers of the component core. Those of the component http: http.hpp. Not included are
// the headers of the component store (memory_store.hpp, receipt_file.hpp, sqlite_store.hpp), console.hpp,
// those for tests in testing/, and those for host loops in adapters/.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/agent_events.hpp>
#include <agentcore/agent_spec.hpp>
#include <agentcore/agent_state.hpp>
#include <agentcore/agent_tool.hpp>
#include <agentcore/agent_tree.hpp>
#include <agentcore/budget.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/checkpoint.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/code_registry.hpp>
#include <agentcore/context.hpp>
#include <agentcore/conversation.hpp>
#include <agentcore/error.hpp>
#include <agentcore/event.hpp>
#include <agentcore/executor.hpp>
#include <agentcore/history.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/log.hpp>
#include <agentcore/loop_attachment.hpp>
#include <agentcore/message.hpp>
#include <agentcore/no_limit.hpp>
#include <agentcore/pause_token.hpp>
#include <agentcore/question.hpp>
#include <agentcore/ref.hpp>
#include <agentcore/restore.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/stop_audit.hpp>
#include <agentcore/stop_origin.hpp>
#include <agentcore/store.hpp>
#include <agentcore/store_events.hpp>
#include <agentcore/subprocess.hpp>
#include <agentcore/subscription.hpp>
#include <agentcore/terminate_scope.hpp>
#include <agentcore/tool.hpp>
#include <agentcore/tool_events.hpp>
#include <agentcore/tool_policy.hpp>
#include <agentcore/tool_registry.hpp>
#include <agentcore/turn_events.hpp>
#include <agentcore/turn_result.hpp>
#include <agentcore/verbs.hpp>
#include <agentcore/version.hpp>
#include <agentcore/window.hpp>
