// PollEntry and wait_for(): poll(2), under the name that this system has for it.
#pragma once

#ifdef _WIN32
#include "platform/windows/poll_entries.hpp"
#else
#include "platform/posix/poll_entries.hpp"
#endif
