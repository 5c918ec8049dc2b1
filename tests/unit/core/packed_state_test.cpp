// The comparison with which every admission begins.
#include "core/packed_state.hpp"

#include "support/catch.hpp"

#include <cstdint>

using namespace agentcore;
using namespace agentcore::detail::core;

namespace {

constexpr std::uint32_t generation = 7;
constexpr std::uint32_t epoch = PackedState::epoch_mask;
constexpr PackedState open{generation, epoch, Gate::open, AgentState::processing};

constexpr bool admits(PackedState packed, std::uint64_t clear = 0) {
  return admits_by_itself(packed, generation, epoch, clear);
}

}  // namespace

TEST_CASE("a packed state admits in its own generation and epoch below an open gate alone", "[core][G1]") {
  CHECK(admits(open));
  CHECK_FALSE(admits_by_itself(open, generation + 1, epoch));
  CHECK_FALSE(admits_by_itself(open, generation, epoch - 1));
  CHECK_FALSE(admits(open.next_epoch()));
  for (const Gate gate : {Gate::stop_self, Gate::stop_tree, Gate::terminate})
    CHECK_FALSE(admits(open.with(gate)));
  CHECK_FALSE(admits(open.freed()));
  CHECK_FALSE(admits_by_itself(PackedState{}, 0, 0));
}

TEST_CASE("what withholds a turn does not refuse other admissions", "[core][G1]") {
  const std::uint64_t all = layout::hold.mask() | layout::pause.mask() | layout::stop_grade.mask();
  CHECK(admits(open, all));
  for (const PackedState withheld : {open.with(layout::hold, true), open.with(layout::pause, true),
                                     open.with(Grade::after_turn), open.with(Grade::after_step)}) {
    CHECK(admits(withheld));
    CHECK_FALSE(admits(withheld, all));
  }
  CHECK(admits(open.with(layout::lease, true).with(layout::interrupted, true), all));
}
