#include "sim/bytes.hpp"

#include "sim/generator.hpp"

#include <algorithm>

namespace agentcore::sim {
namespace {

constexpr std::size_t bytes_of_command = 8;

std::uint32_t two_bytes(std::span<const std::uint8_t> bytes) {
  return bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8;
}

Command command_of(std::span<const std::uint8_t> bytes) {
  Command command{.act = Act(bytes[0] % act_count)};
  if (bytes[1] < place_count() && may_be_in_callback(command.act)) command.place.number = bytes[1];
  for (std::size_t i = 0; i < command.n.size(); ++i) command.n[i] = two_bytes(bytes.subspan(2 + 2 * i, 2));
  return command;
}

}  // namespace

Script script_of_bytes(std::span<const std::uint8_t> bytes) {
  Script script;
  for (std::size_t i = 0; i < std::min(knob_count, bytes.size()); ++i)
    script.setup.values[i] = bytes[i] % choices_of(Knob(i));
  for (std::size_t at = knob_count; at + bytes_of_command <= bytes.size(); at += bytes_of_command)
    script.commands.push_back(command_of(bytes.subspan(at, bytes_of_command)));
  return script;
}

std::vector<std::uint8_t> bytes_of(const Script& script) {
  std::vector<std::uint8_t> bytes;
  for (const std::uint32_t value : script.setup.values) bytes.push_back(static_cast<std::uint8_t>(value));
  for (const Command& command : script.commands) {
    bytes.push_back(static_cast<std::uint8_t>(command.act));
    bytes.push_back(command.place.number);
    for (const std::uint32_t n : command.n) {
      bytes.push_back(static_cast<std::uint8_t>(n & 0xff));
      bytes.push_back(static_cast<std::uint8_t>(n >> 8 & 0xff));
    }
  }
  return bytes;
}

}  // namespace agentcore::sim
