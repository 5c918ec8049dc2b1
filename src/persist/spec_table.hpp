// SpecTable: the specs that a store has, each once for all agents that share it.
#pragma once

#include <agentcore/agent_spec.hpp>
#include <agentcore/store.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace agentcore::detail::persist {

// All @loop_thread.
class SpecTable {
 public:
  std::uint64_t next_number() const noexcept { return next_number_; }
  void begin_at(std::uint64_t number) noexcept { next_number_ = number; }

  // One more agent has the spec. Returns its number, and writes the spec if it is new.
  std::uint64_t add(StoreBatch& batch, const SharedAgentSpec& spec);
  // An agent has the spec no longer. Erases it if that was the last one.
  void remove(StoreBatch& batch, const AgentSpec* spec);
  // One more agent has a spec that the store had before.
  void adopt(const SharedAgentSpec& spec, std::uint64_t number);

 private:
  // The pointer keeps the spec, so that no other one can be at its address.
  struct Entry {
    SharedAgentSpec spec;
    std::uint64_t number = 0;
    std::size_t users = 0;
  };

  std::unordered_map<const AgentSpec*, Entry> specs_;
  std::uint64_t next_number_ = 1;
};

}  // namespace agentcore::detail::persist
