// Coverage: which verbs were called on agents in which states that waited for what, within which callbacks,
// during which faults.
#pragma once

#include "sim/command.hpp"
#include "sim/waits.hpp"

#include <agentcore/agent_state.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace agentcore::sim {

// The faults that a verb may meet.
enum class Fault : std::uint8_t { none, store, callback, no_budget, last };
constexpr std::string_view to_string(Fault fault) noexcept {
  constexpr std::array<std::string_view, static_cast<std::size_t>(Fault::last)> names = {
      "none", "the store fails", "a callback throws", "polls without a budget"};
  return names[static_cast<std::size_t>(fault)];
}

// A verb of an agent: one of its commands from create_child to fork.
constexpr bool is_verb(Act act) noexcept {
  return act >= Act::create_child && act <= Act::fork;
}

class Coverage {
 public:
  struct Point {
    Act act;
    AgentState state;
    Wait wait;
    Place place;
    Fault fault;
  };

  void add(const Point& point) { ++points_[key_of(point)]; }
  void add(const Coverage& other) {
    for (const auto& [key, count] : other.points_) points_[key] += count;
  }
  // Of all points that there are, how many were met.
  std::size_t size() const noexcept { return points_.size(); }
  // How often a verb was called on an agent in that state, at any place and during any fault.
  std::uint64_t count(Act act, AgentState state) const {
    std::uint64_t sum = 0;
    for (const auto& [key, count] : points_)
      if (key >> 16 == (static_cast<std::uint32_t>(act) << 4 | static_cast<std::uint32_t>(state)))
        sum += count;
    return sum;
  }
  // How often a verb was called on an agent that waited for that.
  std::uint64_t count(Act act, Wait wait) const {
    std::uint64_t sum = 0;
    for (const auto& [key, count] : points_)
      if (key >> 20 == static_cast<std::uint32_t>(act) &&
          (key >> 4 & 0xf) == static_cast<std::uint32_t>(wait))
        sum += count;
    return sum;
  }

 private:
  static std::uint32_t key_of(const Point& point) noexcept {
    return static_cast<std::uint32_t>(point.act) << 20 | static_cast<std::uint32_t>(point.state) << 16 |
           std::uint32_t{point.place.number} << 8 | static_cast<std::uint32_t>(point.wait) << 4 |
           static_cast<std::uint32_t>(point.fault);
  }

  std::map<std::uint32_t, std::uint64_t> points_;
};

// Tables of verbs and states, and of verbs and waits, and a line with the number of points.
std::string to_string(const Coverage& coverage);

}  // namespace agentcore::sim
