// Pipes to a program that was started, and what is read and written there.
#pragma once

#include "platform/descriptor.hpp"

#include <cstddef>
#include <span>
#include <string_view>

namespace agentcore::detail::platform {

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

// Closed in every program that is started, and never one of the numbers 0 to 2, even if the host has closed
// those. Both ends block. False, with errno, when the system has no descriptor left.
bool open_pipe(Pipe& pipe) noexcept;

void stop_blocking(const Descriptor& descriptor) noexcept;

// read(2).
std::ptrdiff_t read_some(const Descriptor& descriptor, std::span<char> buffer) noexcept;

// How many bytes wait to be read; 0 if the system does not know.
std::size_t bytes_held(const Descriptor& descriptor) noexcept;

// write(2), but a closed reader causes EPIPE only: no signal reaches the host, whose handlers are not
// changed.
std::ptrdiff_t write_quietly(const Descriptor& descriptor, std::string_view bytes) noexcept;

}  // namespace agentcore::detail::platform
