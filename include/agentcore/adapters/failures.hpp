// What the adapters do where they fail, for programs that are compiled with or without exceptions.
#pragma once

#include <agentcore/export.hpp>

#include <functional>
#include <thread>

namespace agentcore::detail {

// The exceptions of the adapters. The library throws them: a program without exceptions can include the
// headers, and is terminated where one is thrown.
[[noreturn]] AGENTCORE_API void throw_invalid_argument(const char* what);
[[noreturn]] AGENTCORE_API void throw_runtime_error(const char* what);
// A std::system_error with that error number of the system.
[[noreturn]] AGENTCORE_API void throw_system_error(int number, const char* what);

// Makes `thread` run `function`. False if the system has no thread left.
AGENTCORE_API bool start_thread(std::thread& thread, std::function<void()> function) noexcept;

}  // namespace agentcore::detail
