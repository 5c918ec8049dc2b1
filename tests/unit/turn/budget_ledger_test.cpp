// What budgets decide, without a tree: agents are bare nodes that know their parent.
#include "turn/budget_ledger.hpp"

#include "support/catch.hpp"
#include "turn/turn_data.hpp"

#include <chrono>
#include <cstdint>

using namespace agentcore;
using namespace agentcore::detail::turn;

namespace {

using Scope = BudgetLedger::Scope;

// root <- parent <- child, and a sibling of child.
struct Family {
  detail::core::Node root, parent, child, sibling;
  BudgetLedger ledger;

  Family() {
    parent.parent.store(&root);
    child.parent.store(&parent);
    sibling.parent.store(&parent);
  }
  Spent own(detail::core::Node& node) const { return data_of(node).accounts->own.spent(); }
  Spent subtree(detail::core::Node& node) const { return data_of(node).accounts->subtree.spent(); }
};

Estimate call_of(std::uint64_t prompt_tokens, std::uint64_t answer_tokens) {
  Estimate estimate;
  estimate.prompt_tokens = prompt_tokens;
  estimate.answer_tokens = answer_tokens;
  return estimate;
}

}  // namespace

TEST_CASE("an agent without a budget may do everything", "[turn][budget]") {
  Family f;
  CHECK_FALSE(f.ledger.is_limited(f.child));
  CHECK(f.ledger.admit_turn(f.child).allowed);
  CHECK(f.ledger.check(f.child).allowed);
  Estimate call = call_of(1000, 1000);
  CHECK(f.ledger.reserve(f.child, {}, call).allowed);
  CHECK(call.answer_tokens == 1000);
}

TEST_CASE("turns are counted by the agent and by each subtree above it", "[turn][budget][G15]") {
  Family f;
  f.ledger.grant(f.child, Scope::own, {.turns = 2}, {});
  f.ledger.grant(f.root, Scope::subtree, {.turns = 3}, {});
  CHECK(f.ledger.is_limited(f.child));
  CHECK(f.ledger.admit_turn(f.child).allowed);
  CHECK(f.ledger.admit_turn(f.child).allowed);
  const BudgetVerdict own = f.ledger.admit_turn(f.child);
  CHECK_FALSE(own.allowed);
  CHECK(own.exhausted == &f.child);
  CHECK(own.reason == "turns: 2 of 2 used");
  CHECK(f.ledger.admit_turn(f.sibling).allowed);
  const BudgetVerdict shared = f.ledger.admit_turn(f.sibling);
  CHECK_FALSE(shared.allowed);
  CHECK(shared.exhausted == &f.root);
  CHECK(f.own(f.child).turns == 2);  // a refused turn is counted nowhere
  CHECK(f.subtree(f.root).turns == 3);
}

TEST_CASE("an own budget does not bind the children", "[turn][budget]") {
  Family f;
  f.ledger.grant(f.parent, Scope::own, {.turns = 1}, {});
  CHECK_FALSE(f.ledger.is_limited(f.child));
  CHECK(f.ledger.admit_turn(f.child).allowed);
  CHECK(f.ledger.admit_turn(f.child).allowed);
}

TEST_CASE("an answer is limited to the least that is left", "[turn][budget][G15]") {
  Family f;
  f.ledger.grant(f.child, Scope::own, {.tokens = 500}, {});
  f.ledger.grant(f.root, Scope::subtree, {.tokens = 300}, {});
  Estimate call = call_of(100, 4096);
  CHECK(f.ledger.reserve(f.child, {}, call).allowed);
  CHECK(call.answer_tokens == 200);
  CHECK(f.own(f.child).tokens_reserved == 300);
  CHECK(f.subtree(f.root).tokens_reserved == 300);
  f.ledger.settle(f.child, call, 120, 0);
  CHECK(f.own(f.child).tokens == 120);
  CHECK(f.subtree(f.root).tokens == 120);
  CHECK(f.subtree(f.root).tokens_reserved == 0);
}

TEST_CASE("what other calls have reserved refuses a call, but stops no agent", "[turn][budget][G15]") {
  Family f;
  f.ledger.grant(f.root, Scope::subtree, {.tokens = 300}, {});
  Estimate first = call_of(100, 4096), second = call_of(50, 10);
  CHECK(f.ledger.reserve(f.child, {}, first).allowed);
  const BudgetVerdict refused = f.ledger.reserve(f.sibling, {}, second);
  CHECK_FALSE(refused.allowed);
  CHECK(refused.exhausted == nullptr);
  CHECK_FALSE(second.active);
  f.ledger.release(f.child, first);
  CHECK(f.subtree(f.root).tokens_reserved == 0);
  second = call_of(50, 10);
  CHECK(f.ledger.reserve(f.sibling, {}, second).allowed);
}

TEST_CASE("a prompt that leaves no room for an answer exhausts the budget", "[turn][budget][G15]") {
  Family f;
  f.ledger.grant(f.parent, Scope::subtree, {.tokens = 100}, {});
  Estimate call = call_of(100, 10);
  const BudgetVerdict refused = f.ledger.reserve(f.child, {}, call);
  CHECK_FALSE(refused.allowed);
  CHECK(refused.exhausted == &f.parent);
  CHECK(f.subtree(f.parent).tokens_reserved == 0);
}

TEST_CASE("a reservation is released or settled once", "[turn][budget]") {
  Family f;
  f.ledger.grant(f.child, Scope::own, {.tokens = 1000}, {});
  Estimate call = call_of(100, 100);
  CHECK(f.ledger.reserve(f.child, {}, call).allowed);
  f.ledger.settle(f.child, call, 150, 0);
  f.ledger.settle(f.child, call, 150, 0);
  f.ledger.release(f.child, call);
  CHECK(f.own(f.child).tokens == 150);
  CHECK(f.own(f.child).tokens_reserved == 0);
}

TEST_CASE("more used than granted is refused from then on", "[turn][budget][G15]") {
  Family f;
  f.ledger.grant(f.root, Scope::subtree, {.cost = 1.0}, {});
  Estimate call = call_of(10, 10);
  CHECK(f.ledger.reserve(f.child, {}, call).allowed);
  CHECK(f.ledger.check(f.child).allowed);
  f.ledger.settle(f.child, call, 20, 1.5);
  const BudgetVerdict refused = f.ledger.check(f.sibling);
  CHECK_FALSE(refused.allowed);
  CHECK(refused.exhausted == &f.root);
  f.ledger.grant(f.root, Scope::subtree, {.cost = 1.0}, {});
  CHECK(f.ledger.check(f.sibling).allowed);
}

TEST_CASE("a wall clock that has run out refuses everything below its owner", "[turn][budget][G15]") {
  Family f;
  f.ledger.grant(f.parent, Scope::subtree, {.wall_clock = std::chrono::seconds(5)}, {});
  CHECK(f.ledger.check(f.child).allowed);
  const BudgetVerdict expired = f.ledger.expire(f.parent, Scope::subtree);
  CHECK(expired.exhausted == &f.parent);
  CHECK_FALSE(expired.reason.empty());
  CHECK_FALSE(f.ledger.admit_turn(f.child).allowed);
  CHECK(f.ledger.check(f.root).allowed);
}

TEST_CASE("a call that began before a grant is not subtracted from it", "[turn][budget]") {
  Family f;
  Estimate early = call_of(100, 100);
  CHECK(f.ledger.reserve(f.child, {}, early).allowed);
  f.ledger.grant(f.child, Scope::own, {.tokens = 1000}, {});
  Estimate later = call_of(100, 100);
  CHECK(f.ledger.reserve(f.child, {}, later).allowed);
  f.ledger.release(f.child, early);
  CHECK(f.own(f.child).tokens_reserved == 200);
}

TEST_CASE("a new grant knows what open calls have reserved", "[turn][budget][G15]") {
  Family f;
  f.ledger.grant(f.root, Scope::subtree, {.tokens = 300}, {});
  Estimate open = call_of(100, 100), next = call_of(50, 4096);
  CHECK(f.ledger.reserve(f.child, {}, open).allowed);
  f.ledger.grant(f.root, Scope::subtree, {.tokens = 300}, {});
  CHECK(f.subtree(f.root).tokens_reserved == 200);
  CHECK(f.ledger.reserve(f.sibling, {}, next).allowed);
  CHECK(next.answer_tokens == 50);
}

TEST_CASE("two calls cannot reserve the same money", "[turn][budget][G15]") {
  Family f;
  const Prices prices{.prompt = 0, .completion = 1e6};  // 1 for each token of an answer
  f.ledger.grant(f.root, Scope::subtree, {.cost = 10}, {});
  Estimate first = call_of(100, 8), second = call_of(100, 8);
  CHECK(f.ledger.reserve(f.child, prices, first).allowed);
  CHECK(f.ledger.reserve(f.sibling, prices, second).allowed);
  CHECK(first.answer_tokens == 8);
  CHECK(second.answer_tokens == 2);
  f.ledger.release(f.child, first);
  Estimate third = call_of(100, 9);
  CHECK(f.ledger.reserve(f.child, prices, third).allowed);
  CHECK(third.answer_tokens == 8);
}

TEST_CASE("what a call used is counted although the time of the budget has run out", "[turn][budget][G15]") {
  Family f;
  f.ledger.grant(f.child, Scope::own, {.tokens = 1000, .wall_clock = std::chrono::seconds(5)}, {});
  Estimate call = call_of(100, 100);
  CHECK(f.ledger.reserve(f.child, {}, call).allowed);
  f.ledger.expire(f.child, Scope::own);
  f.ledger.settle(f.child, call, 150, 0);
  CHECK(f.own(f.child).tokens == 150);
  CHECK(f.own(f.child).tokens_reserved == 0);
}

TEST_CASE("limits that are granted during a call know what it has reserved", "[turn][budget][G15]") {
  Family f;
  f.ledger.grant(f.root, Scope::subtree, {.tokens = 1000}, {});
  f.ledger.grant(f.child, Scope::own, {}, {});  // no limits yet
  Estimate call = call_of(100, 100);
  CHECK(f.ledger.reserve(f.child, {}, call).allowed);
  f.ledger.grant(f.child, Scope::own, {.tokens = 1000}, {});
  CHECK(f.own(f.child).tokens_reserved == 200);
  f.ledger.settle(f.child, call, 150, 0);
  CHECK(f.own(f.child).tokens_reserved == 0);
  CHECK(f.own(f.child).tokens == 150);
}
