// Witness: asks the stand-in server what it saw.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace demo {

// What the server knows about the last call of one agent. Instants are CLOCK_MONOTONIC nanoseconds, which the
// server and this program share because they run on one machine.
struct Sighting {
  std::uint64_t tokens = 0;  // produced for it
  std::int64_t end_ns = 0;   // the instant at which the server saw the connection close
  bool client_closed = false;
};

// By agent. nullopt when `base_url` is no stand-in server: a real provider keeps such things to itself.
std::optional<std::map<std::string, Sighting>> ask_server(const std::string& base_url);

}  // namespace demo
