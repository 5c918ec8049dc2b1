// Two runs of one script, with simulated parts and with those of the system, and where their traces differ.
#pragma once

#include "sim/command.hpp"
#include "sim/world.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace agentcore::sim {

using Lines = std::vector<std::string>;

// The trace of a run in sections: of each command what happened after it, the command first.
std::vector<Lines> sections_of(const Lines& trace);

// The run of `script` with that value of Knob::real. `problem`: what an oracle said.
Lines trace_of(Script script, std::uint32_t real, std::string& problem, Counts* counts = nullptr);

struct Comparison {
  std::size_t sections = 0, in_other_order = 0;
  std::string difference;  // the first one, with what was before it

  Comparison& operator+=(const Comparison& other) {
    sections += other.sections;
    in_other_order += other.in_other_order;
    return *this;
  }
};

// `is_other_order`: two sections that are not equal say the same in an order that is left open.
Comparison comparison(const std::vector<Lines>& one, const std::vector<Lines>& other,
                      const std::function<bool(const Lines&, const Lines&)>& is_other_order);

// Of each file NAME.sim, in the order of their names.
std::vector<Script> scripts_in(const char* folder);

}  // namespace agentcore::sim
