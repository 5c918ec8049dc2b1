// Includes the public headers of the component http: clients for model servers, and the router. Link
// agentcore::http, or agentcore::agentcore, which is core and http.
#pragma once

#include <agentcore/call_slots.hpp>
#include <agentcore/http_llm_client.hpp>
#include <agentcore/http_recording.hpp>
#include <agentcore/llm_router.hpp>
#include <agentcore/provider.hpp>
