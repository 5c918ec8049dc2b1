// Everything a host needs, in one include.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/agent_spec.hpp>
#include <agentcore/agent_state.hpp>
#include <agentcore/agent_tree.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>
#include <agentcore/event.hpp>
#include <agentcore/history.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/log.hpp>
#include <agentcore/message.hpp>
#include <agentcore/openai_client.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/scripted_client.hpp>
#include <agentcore/subscription.hpp>
#include <agentcore/terminate_scope.hpp>
#include <agentcore/verbs.hpp>
#include <agentcore/version.hpp>
