// Every transition of the packed state, for every state, gate and surrounding, against the state table.
#include "core/transitions.hpp"

#include "support/catch.hpp"

#include <array>
#include <optional>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::core;

namespace {

constexpr std::array states{AgentState::idle,     AgentState::waiting_llm, AgentState::processing,
                            AgentState::stopping, AgentState::stopped,     AgentState::terminating};
constexpr std::array gates{Gate::open, Gate::stop_self, Gate::stop_tree, Gate::terminate};
constexpr std::array either{false, true};
constexpr std::uint32_t generation = 7;

// Every state with every gate, also those that no agent ever has; the epoch is about to wrap.
std::vector<PackedState> all() {
  std::vector<PackedState> found;
  for (const AgentState state : states)
    for (const Gate gate : gates) found.emplace_back(generation, PackedState::epoch_mask, gate, state);
  return found;
}

// B13: an edge of the state table, or the same state. Nothing but state, gate and epoch changes.
void check_edge(PackedState from, PackedState to) {
  INFO(to_string(from.state()) << " with gate " << static_cast<int>(from.gate()) << " -> "
                               << to_string(to.state()) << " with gate " << static_cast<int>(to.gate()));
  CHECK((from.state() == to.state() || is_allowed(from.state(), to.state())));
  CHECK(to.generation() == from.generation());
  CHECK((to.epoch() == from.epoch() || to == from.with(to.state()).with(to.gate()).next_epoch()));
}

bool closed_further(Gate from, Gate to) {
  return to >= from;
}

}  // namespace

TEST_CASE("the fields of the packed state fill 64 bits and keep apart", "[core][transitions]") {
  static_assert(layout::fills_64_bits());
  std::uint64_t all_bits = 0;
  for (const layout::Field& field : layout::fields) {
    CHECK((all_bits & field.mask()) == 0);
    all_bits |= field.mask();
    CHECK(field.of(field.in(~std::uint64_t{0})) == field.mask() >> field.shift);
  }
  CHECK(all_bits == ~std::uint64_t{0});
}

TEST_CASE("a change of state, gate or epoch keeps the reserved bits", "[core][transitions]") {
  const std::uint64_t reserved =
      layout::stop_grade.mask() | layout::pause.mask() | layout::lease.mask() | layout::hold.mask();
  const PackedState from{PackedState{3, PackedState::epoch_mask, Gate::open, AgentState::idle}.raw() |
                         reserved};
  CHECK((from.with(AgentState::stopped).with(Gate::terminate).next_epoch().raw() & reserved) == reserved);
  CHECK(from.next_epoch().epoch() == 0);
  CHECK(from.next_epoch().generation() == 3);
  CHECK((from.freed().raw() & reserved) == 0);
}

TEST_CASE("a stop closes an open agent or widens a stop without the children",
          "[core][transitions][C12][B13]") {
  for (const PackedState from : all())
    for (const bool cascade : either) {
      const std::optional<PackedState> to = after_stop(from, cascade);
      const bool stops = from.is_open() && can_process(from.state());
      const bool has_stopped = from.state() == AgentState::stopped;
      const bool widens =
          from.gate() == Gate::stop_self && cascade && (has_stopped || from.state() == AgentState::stopping);
      REQUIRE(to.has_value() == (stops || widens));
      if (!to) continue;
      check_edge(from, *to);
      CHECK(to->state() == (has_stopped ? AgentState::stopped : AgentState::stopping));
      CHECK(to->gate() == (cascade ? Gate::stop_tree : Gate::stop_self));
      // A stop that is widened while it settles has ended the turn already.
      CHECK((to->epoch() != from.epoch()) == (stops || has_stopped));
      CHECK_FALSE(after_stop(*to, cascade));  // the second of two stops has no effect
    }
}

TEST_CASE("only a settled stop without a delete is resumed", "[core][transitions][G3][B13]") {
  for (const PackedState from : all())
    for (const bool is_settled : either) {
      const std::optional<PackedState> to = after_resume(from, is_settled);
      REQUIRE(to.has_value() ==
              (from.state() == AgentState::stopped && from.gate() != Gate::terminate && is_settled));
      if (!to) continue;
      check_edge(from, *to);
      CHECK(to->state() == AgentState::idle);
      CHECK(to->is_open());
      CHECK(to->epoch() != from.epoch());
    }
}

TEST_CASE("a delete closes the gate for good and waits for a stop", "[core][transitions][X13][B13]") {
  for (const PackedState from : all())
    for (const bool below_closed : either)
      for (const bool is_settled : either) {
        const std::optional<PackedState> to = after_terminate(from, below_closed, is_settled);
        REQUIRE(to.has_value() == (from.gate() != Gate::terminate));
        if (!to) continue;
        check_edge(from, *to);
        CHECK(to->gate() == Gate::terminate);
        const bool stop_under_way = from.state() == AgentState::stopping ||
                                    (can_process(from.state()) && below_closed) ||
                                    (from.state() == AgentState::stopped &&
                                     (!is_settled || (from.gate() == Gate::stop_self && below_closed)));
        CHECK((to->state() == AgentState::terminating) == !stop_under_way);
        CHECK((to->epoch() != from.epoch()) == can_process(from.state()));
        CHECK_FALSE(after_terminate(*to, below_closed, is_settled));
        CHECK_FALSE(after_stop(*to, true));
        CHECK_FALSE(after_resume(*to, true));
      }
}

TEST_CASE("an abort takes an open agent out of its model call", "[core][transitions][A1][B13]") {
  for (const PackedState from : all()) {
    const std::optional<PackedState> to = after_abort(from);
    REQUIRE(to.has_value() == (from.is_open() && from.state() == AgentState::waiting_llm));
    if (!to) continue;
    check_edge(from, *to);
    CHECK(*to == from.with(AgentState::idle).next_epoch());
  }
}

TEST_CASE("a turn begins at an idle agent and has an epoch of its own", "[core][transitions][F6][B13]") {
  for (const PackedState now : all())
    for (const AgentState to : {AgentState::waiting_llm, AgentState::processing}) {
      CHECK_FALSE(after_begin(now, now.next_epoch().epoch(), to));
      const std::optional<PackedState> after = after_begin(now, now.epoch(), to);
      REQUIRE(after.has_value() == (now.is_open() && now.state() == AgentState::idle));
      if (!after) continue;
      check_edge(now, *after);
      CHECK(*after == now.with(to).next_epoch());
    }
}

TEST_CASE("a step of a turn needs an open gate and the epoch of the turn", "[core][transitions][F6][B13]") {
  for (const PackedState now : all())
    for (const AgentState from : states)
      for (const AgentState to : states) {
        if (!is_allowed(from, to)) continue;
        CHECK_FALSE(after_step(now, now.next_epoch().epoch(), from, to));
        const std::optional<PackedState> after = after_step(now, now.epoch(), from, to);
        REQUIRE(after.has_value() == (now.is_open() && now.state() == from));
        if (!after) continue;
        check_edge(now, *after);
        CHECK(*after == now.with(to));
      }
}

TEST_CASE("an effective state is written only onto an agent that it was imposed on",
          "[core][transitions][X13][B13]") {
  for (const PackedState from : all())
    for (const AgentState imposed : {AgentState::stopping, AgentState::terminating})
      for (const bool is_settled : either) {
        const std::optional<PackedState> to = after_imposed(from, imposed, is_settled);
        const bool deletes_stopped = imposed == AgentState::terminating && is_settled &&
                                     from.state() == AgentState::stopped && from.gate() != Gate::terminate;
        REQUIRE(to.has_value() == (can_process(from.state()) || deletes_stopped));
        if (!to) continue;
        check_edge(from, *to);
        CHECK(to->state() == imposed);
        CHECK(to->closes_subtree());
        CHECK(closed_further(from.gate(), to->gate()));
      }
}

TEST_CASE("a settled stop stays closed and a removed agent is closed for good",
          "[core][transitions][G3][B13]") {
  for (const PackedState from : all()) {
    if (from.state() != AgentState::terminating && from.state() != AgentState::stopped) {
      const PackedState stopped = after_settle(from);
      // What lies below a closed gate need not be written `stopping` first: that is its effective state.
      check_edge(can_process(from.state()) ? from.with(AgentState::stopping) : from, stopped);
      CHECK(stopped.state() == AgentState::stopped);
      CHECK_FALSE(stopped.is_open());
      CHECK(closed_further(from.gate(), stopped.gate()));
      CHECK(stopped.epoch() != from.epoch());
    }
    if (from.state() != AgentState::stopping) {
      const PackedState removed = after_remove(from);
      check_edge(from, removed);
      CHECK(removed.state() == AgentState::terminating);
      CHECK(removed.gate() == Gate::terminate);
    }
  }
}

TEST_CASE("an interrupt takes an open agent out of its turn, whatever it does",
          "[core][transitions][X34][B13]") {
  for (const PackedState from : all())
    for (const bool hold : either) {
      const std::optional<PackedState> to = after_interrupt(from, hold);
      const bool in_turn = from.state() == AgentState::waiting_llm || from.state() == AgentState::processing;
      REQUIRE(to.has_value() == (from.is_open() && in_turn));
      if (!to) continue;
      CHECK(to->state() == AgentState::idle);
      CHECK(to->is_open());
      CHECK(to->was_interrupted());
      CHECK(to->is_held() == hold);
      CHECK(to->epoch() == from.next_epoch().epoch());
      CHECK(after_begin(*to, to->epoch(), AgentState::processing).has_value() == !hold);
      CHECK(after_begin(*to, to->epoch(), AgentState::processing, true));
      CHECK_FALSE(after_begin(to->with(layout::pause, true), to->epoch(), AgentState::processing, true));
      CHECK_FALSE(after_abort(*to));
    }
}

TEST_CASE("a hold is set and released once and keeps everything else", "[core][transitions]") {
  for (const PackedState from : all()) {
    CHECK_FALSE(after_hold(from, false));
    const std::optional<PackedState> held = after_hold(from, true);
    REQUIRE(held);
    CHECK(held->is_held());
    CHECK_FALSE(after_hold(*held, true));
    CHECK(after_hold(*held, false) == from);
  }
}

TEST_CASE("an aborted turn does not count as interrupted", "[core][transitions]") {
  const PackedState idle{generation, 5, Gate::open, AgentState::idle};
  const PackedState interrupted = *after_interrupt(idle.with(AgentState::waiting_llm), false);
  const PackedState next = *after_begin(interrupted, interrupted.epoch(), AgentState::waiting_llm);
  CHECK_FALSE(next.was_interrupted());
  CHECK_FALSE(after_abort(next)->was_interrupted());
}
