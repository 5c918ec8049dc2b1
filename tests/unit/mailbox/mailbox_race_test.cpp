// Pushes against a mailbox that is closed, opened and recycled meanwhile.
#include "mailbox/mailbox.hpp"
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/drive/team.hpp"
#include "tree/ready_agents.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

using namespace agentcore;
using agentcore::test::Team;
using detail::core::Gate;
using detail::core::Node;
using detail::core::PackedState;
using detail::mailbox::Head;
using detail::mailbox::MessagePool;
using detail::mailbox::Push;

namespace {

struct Box {
  Node node;
  MessagePool pool;
  detail::mailbox::ClearedMessages cleared;

  explicit Box(std::uint16_t limit) {
    node.mailbox_limit = limit;
    node.packed = PackedState{1, 0, Gate::open, AgentState::idle}.raw();
    node.mailbox_head = Head::open(1, 0).raw();
  }
  // What a sender does that saw the agent open in `epoch`.
  Push push(std::string text, std::uint32_t generation, std::uint32_t epoch) {
    const std::uint32_t cell = pool.take();
    pool[cell].put({.text = std::move(text)}, nullptr);
    const Push push = detail::mailbox::push(node, pool, cleared, cell, generation, epoch);
    if (push == Push::queued || push == Push::queued_first) return push;
    pool[cell].clear();
    pool.give(cell, cell);
    return push;
  }
};

bool accepted(Push push) {
  return push == Push::queued || push == Push::queued_first;
}

}  // namespace

TEST_CASE("each sender's messages arrive once and in order", "[mailbox][race][F5]") {
  const int each = test::amount(20'000, 2'000);
  Box box(60'000);
  Team team(3);
  std::array<int, 3> next{};
  bool in_order = true;
  std::size_t taken = 0;
  detail::tree::ReadyAgents ready;
  // What the loop does: it looks only at agents that are ready.
  const auto take_all = [&] {
    ready.begin_round();
    if (ready.next() == nullptr) return;
    while (const std::uint32_t cell = detail::mailbox::take(box.node, box.pool)) {
      const std::string text = box.pool[cell].take_message().text;
      box.pool.give_back(box.pool[cell]);
      const auto sender = static_cast<std::size_t>(text[0] - '0');
      in_order = in_order && std::stoi(text.substr(1)) == next[sender]++;
      ++taken;
    }
    ready.done(box.node);
    if (detail::mailbox::length(box.node, 1) != 0) ready.add(box.node);
  };
  team.run(
      [&](int member) {
        for (int i = 0; i < each; ++i) {
          const Push push = box.push(std::to_string(member) + std::to_string(i), 1, 0);
          if (!accepted(push)) --i;
          if (push == Push::queued_first) ready.add(box.node);
        }
      },
      take_all);
  while (!ready.empty()) take_all();
  CHECK(taken == static_cast<std::size_t>(3 * each));  // none waits for an agent that is not ready
  CHECK(in_order);
  CHECK(detail::mailbox::length(box.node, 1) == 0);
}

TEST_CASE("no message is left behind when others are removed meanwhile", "[mailbox][race][F5]") {
  const int each = test::amount(20'000, 2'000);
  Box box(60'000);
  Team team(3);
  detail::tree::ReadyAgents ready;
  std::size_t gone = 0;
  const auto look = [&] {
    if (detail::mailbox::length(box.node, 1) != 0) ready.add(box.node);
  };
  const auto drive = [&] {
    if (const std::uint32_t oldest = [&] {
          std::uint32_t first = 0;
          detail::mailbox::for_each(box.node, box.pool,
                                    [&](std::uint32_t cell) { first = first ? first : cell; });
          return first;
        }())
      gone += detail::mailbox::remove(box.node, box.pool, oldest).count();
    look();
    ready.begin_round();
    if (ready.next() == nullptr) return;
    while (const std::uint32_t cell = detail::mailbox::take(box.node, box.pool)) {
      box.pool[cell].clear();
      box.pool.end_id(box.pool[cell]);
      box.pool.give_back(box.pool[cell]);
      ++gone;
    }
    ready.done(box.node);
    look();
  };
  team.run(
      [&](int) {
        for (int i = 0; i < each; ++i)
          if (box.push("x", 1, 0) == Push::queued_first) ready.add(box.node);
      },
      drive);
  while (!ready.empty()) drive();
  CHECK(gone == static_cast<std::size_t>(3 * each));
}

TEST_CASE("a mailbox never has more messages than its limit", "[mailbox][race][G15]") {
  const int each = test::amount(20'000, 2'000);
  constexpr std::uint16_t limit = 3;
  Box box(limit);
  Team team(2);
  std::size_t most = 0;
  std::size_t taken = 0;
  const auto take_one = [&] {
    most = std::max(most, detail::mailbox::length(box.node, 1));
    if (const std::uint32_t cell = detail::mailbox::take(box.node, box.pool)) {
      box.pool[cell].clear();
      box.pool.give_back(box.pool[cell]);
      ++taken;
    }
  };
  std::atomic<std::size_t> pushed{0};
  team.run(
      [&](int) {
        for (int i = 0; i < each; ++i) pushed += accepted(box.push("x", 1, 0));
      },
      take_one);
  while (detail::mailbox::length(box.node, 1) != 0) take_one();
  CHECK(most <= limit);
  CHECK(taken == pushed);
  for (int i = 0; i < limit; ++i) CHECK(accepted(box.push("x", 1, 0)));
  CHECK(box.push("x", 1, 0) == Push::full);
}

// The sender drops what waits, and fills the mailbox again at once, while the loop takes out what was
// dropped. What other threads do not see yet is never in the way of the one that dropped it, and no more than
// the limit waits.
TEST_CASE("after a drop the mailbox takes as many messages as before", "[mailbox][race][G1][G12][G15]") {
  const int rounds = test::amount(20'000, 2'000);
  constexpr std::uint16_t limit = 3;
  using detail::mailbox::ClearedMessages;
  struct Drop {
    ClearedMessages::Mark mark;
    std::uint32_t up_to = 0;
    std::atomic<bool> due{false};
  };
  Box box(limit);
  Team team(1);
  std::array<Drop, 8> drops;  // the loop takes them in this order
  std::size_t taken = 0, dropped = 0, next = 0, refused = 0, pushed = 0, too_many = 0;
  const auto left = [&] {
    return box.cleared.left(box.pool, box.node.id(), [&] {
      return ClearedMessages::Mailbox{detail::mailbox::length(box.node, 1),
                                      detail::mailbox::position(box.node)};
    });
  };
  const auto drive = [&] {
    Drop& drop = drops[next % drops.size()];
    if (!drop.due.load()) {
      if (const std::uint32_t cell = next % 2 ? detail::mailbox::take(box.node, box.pool) : 0) {
        box.pool[cell].clear();
        box.pool.give_back(box.pool[cell]);
        ++taken;
      }
      return;
    }
    box.cleared.remove(
        drop.mark, [&] { dropped += detail::mailbox::clear_up_to(box.node, box.pool, drop.up_to).count(); });
    drop.due.store(false);
    ++next;
  };
  team.run(
      [&](int) {
        for (int round = 0; round < rounds; ++round) {
          Drop& drop = drops[static_cast<std::size_t>(round) % drops.size()];
          while (drop.due.load()) std::this_thread::yield();
          drop.mark = {};
          drop.mark.prepare(box.node.id());
          drop.up_to = detail::mailbox::position(box.node);
          box.cleared.add(drop.mark, drop.up_to, {});
          drop.due.store(true);
          for (int i = 0; i < limit; ++i) {
            const bool done = accepted(box.push("x", 1, 0));
            pushed += done;
            refused += !done;
          }
          too_many += left() > limit;
        }
      },
      drive);
  for (int i = 0; i < 16; ++i) drive();
  CHECK(refused == 0);
  CHECK(too_many == 0);
  dropped += detail::mailbox::clear(box.node, box.pool).count();
  CHECK(pushed == taken + dropped);
}

TEST_CASE("an accepted message is taken or dropped by the close and never left behind",
          "[mailbox][race][G2][G12]") {
  Box box(8);
  Team team(2);
  std::atomic<std::size_t> pushed{0};
  std::size_t taken = 0, dropped = 0;
  for (std::uint32_t round = 0; round < 3000; ++round) {
    const std::uint32_t epoch = 2 * round;  // open; the close is epoch + 1, and the resume of it epoch + 2
    box.node.packed = PackedState{1, epoch, Gate::open, AgentState::idle}.raw();
    int polls = 0;
    team.run(
        [&](int) {
          for (int i = 0; i < 6; ++i) pushed += accepted(box.push("x", 1, epoch));
        },
        [&] {
          if (const std::uint32_t cell = detail::mailbox::take(box.node, box.pool)) {
            box.pool[cell].clear();
            box.pool.give_back(box.pool[cell]);
            ++taken;
          }
          if (++polls == 3) dropped += detail::mailbox::close(box.node, box.pool, epoch + 1).count();
        });
    dropped += detail::mailbox::close(box.node, box.pool, epoch + 1).count();
    if (detail::mailbox::length(box.node, 1) != 0 || accepted(box.push("late", 1, epoch)))
      FAIL("a closed mailbox accepted a message");
    detail::mailbox::open(box.node, 1, epoch + 1);
  }
  CHECK(pushed == taken + dropped);
}

TEST_CASE("a message for a deleted agent never reaches the next agent in its slot", "[mailbox][race][G13]") {
  Box box(100);
  Team team(2);
  std::size_t wrong = 0, dropped = 0, taken = 0;
  std::atomic<std::size_t> pushed{0};
  for (std::uint32_t generation = 1; generation < 3000; ++generation) {
    bool recycled = false;
    team.run(
        [&](int) {
          for (int i = 0; i < 6; ++i) pushed += accepted(box.push(std::to_string(generation), generation, 0));
        },
        [&] {
          if (!recycled) {
            dropped += detail::mailbox::close(box.node, box.pool, 1).count();
            box.node.packed = PackedState{generation + 1, 0, Gate::open, AgentState::idle}.raw();
            box.node.mailbox_head = Head::open(generation + 1, box.node.taken).raw();
            recycled = true;
          }
          if (const std::uint32_t cell = detail::mailbox::take(box.node, box.pool)) {
            wrong += box.pool[cell].take_message().text != std::to_string(generation + 1);
            box.pool.give_back(box.pool[cell]);
            ++taken;
          }
        });
  }
  CHECK(wrong == 0);
  CHECK(pushed == dropped + taken);
}
