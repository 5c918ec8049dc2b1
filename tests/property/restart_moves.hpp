// Moves: what may happen to the agents of a RestartWorld, at random.
#pragma once

#include "property/restart_world.hpp"
#include "support/prop.hpp"

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace agentcore::test {

struct RestartMove {
  std::size_t what;
  int agent;  // which
  int other;  // a number whose meaning depends on what happens
};

// The name of what happens, e.g. "create a root".
std::string name_of_step(const RestartMove& move);
// What the models do with the text that the move sends, if it sends one.
std::string script_of(const RestartMove& move);
std::string written(const RestartMove& move);
// For rapidcheck.
void showValue(const RestartMove& move, std::ostream& out);

// Does it. Returns what the host was told.
std::string act(RestartWorld& world, const RestartMove& move);

rc::Gen<std::vector<RestartMove>> any_moves();

// The first line in which they differ, with those before it.
std::string difference(const std::string& a, const std::string& b);

// `text` without the results of calls whose effect is unknown in `other`. They have another length, so
// another part of the conversation may be sent.
std::string without_unknown(std::string text, const std::string& other);

}  // namespace agentcore::test
