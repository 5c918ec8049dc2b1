// NameTable: finds the slot of an agent by its id in text form.
#pragma once

#include "core/mutex.hpp"
#include "core/node.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace agentcore::detail::core {

// Holds the ids that hosts choose. Generated ids ("@17.1": slot and generation; "@2:17.1" in the second tree
// of a Runtime) need no entry: they are parsed. Look-ups are @threadsafe; add(), remove() and clear() are
// @loop_thread.
class NameTable {
 public:
  explicit NameTable(std::uint64_t tree = 1);

  // True for an id that a host may choose: 1 to 255 bytes of UTF-8 that do not begin with '@'.
  static bool is_valid(std::string_view name) noexcept;
  // The generated id of an agent in the first tree of a Runtime.
  static std::string generated(NodeId id);
  // The same for this tree. The agent need not exist.
  std::string generated_here(NodeId id) const;

  // False when the name is in use.
  bool add(std::string name, Node& node);
  void remove(Node& node);
  void clear();

  // 0 when there is no such name, or the generated id has no valid form.
  NodeId find(std::string_view name) const;
  // The id of that agent as a string; "" when the agent is deleted.
  std::string name_of(const Node& node, NodeId id) const;

  std::size_t size() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  const std::string prefix_;  // of generated ids
  mutable SharedMutex mutex_;
  std::unordered_map<std::string, NodeId, Hash, std::equal_to<>> names_ AGENTCORE_GUARDED_BY(mutex_);
};

}  // namespace agentcore::detail::core
