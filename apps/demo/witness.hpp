// Witness: reads the records of the stand-in server.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace demo {

// The server's record of the last call of one agent. Instants are CLOCK_MONOTONIC nanoseconds, which the
// server and this program share because they run on one machine.
struct Sighting {
  std::uint64_t tokens = 0;  // produced for it
  std::int64_t end_ns = 0;   // the instant at which the server detected the closed connection
  bool client_closed = false;
};

// By agent. nullopt when `base_url` is not a stand-in server: a real provider has no such records.
std::optional<std::map<std::string, Sighting>> ask_server(const std::string& base_url);

}  // namespace demo
