// AGENTCORE_API: marks what the shared libraries of agentcore export. Everything else in them is hidden.
#pragma once

#if defined(_WIN32)
#define AGENTCORE_API  // the libraries are static there
#elif defined(__GNUC__)
#define AGENTCORE_API [[gnu::visibility("default")]]
#else
#define AGENTCORE_API
#endif
