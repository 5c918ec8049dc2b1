// The mailbox: one value holds the queue, the count and whether it is closed.
#include "mailbox/mailbox.hpp"

#include "core/agent_table.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::core;
using namespace agentcore::detail::mailbox;

namespace {

struct Box {
  Box() : node(table.insert(table.root_sentinel())) {
    node.mailbox_limit = 5;
    node.mailbox_head.store(Head::open(generation(), 0).raw());
  }
  std::uint32_t generation() const { return node.load().generation(); }
  // What a sender does that saw the agent open in `epoch`; the agent is still so.
  Push send(const std::string& text, std::uint32_t epoch = 0) {
    node.packed.store(PackedState{generation(), epoch, Gate::open, AgentState::idle}.raw());
    return send_late(text, epoch);
  }
  // The same; the agent may have changed since.
  Push send_late(const std::string& text, std::uint32_t epoch) {
    const std::uint32_t cell = pool.take();
    pool[cell].put({.text = text}, nullptr);
    const Push done = push(node, pool, cleared, cell, generation(), epoch);
    if (done != Push::queued && done != Push::queued_first) pool.give(cell, cell);
    return done;
  }
  std::string next() {
    const std::uint32_t cell = take(node, pool);
    if (!cell) return "";
    std::string text = pool[cell].take_message().text;
    pool.give(cell, cell);
    return text;
  }
  std::size_t size() const { return length(node, generation()); }

  AgentTable table;
  MessagePool pool;
  ClearedMessages cleared;
  Node& node;
};

void shut(Box& box, std::uint32_t ticket) {
  static_cast<void>(close(box.node, box.pool, ticket));
}

}  // namespace

TEST_CASE("messages come out in the order of sending", "[mailbox][F5][F4]") {
  Box box;
  CHECK(box.send("1") == Push::queued_first);
  CHECK(box.send("2") == Push::queued);
  CHECK(box.size() == 2);
  CHECK(box.next() == "1");
  CHECK(box.send("3") == Push::queued);
  CHECK(box.next() == "2");
  CHECK(box.next() == "3");
  CHECK(box.next().empty());
  CHECK(box.size() == 0);
  CHECK(box.send("4") == Push::queued_first);
}

TEST_CASE("the limit counts what the loop has taken over but not handled", "[mailbox][G15][G12]") {
  Box box;
  for (int i = 0; i < 5; ++i) box.send(std::to_string(i));
  CHECK(box.send("x") == Push::full);
  CHECK(box.next() == "0");  // drains the stack; four wait
  CHECK(box.send("5") == Push::queued);
  CHECK(box.send("x") == Push::full);
  CHECK(box.size() == 5);
}

TEST_CASE("clearing the mailbox returns the number of dropped messages", "[mailbox][F3]") {
  Box box;
  CHECK(clear(box.node, box.pool).count() == 0);
  for (int i = 0; i < 4; ++i) box.send(std::to_string(i));
  box.next();
  box.send("4");
  CHECK(clear(box.node, box.pool).count() == 4);
  CHECK(box.size() == 0);
  CHECK(box.next().empty());
  CHECK(box.send("5") == Push::queued_first);
}

TEST_CASE("the messages up to an instant can be dropped later while the rest stays", "[mailbox]") {
  for (const bool drained : {false, true}) {
    Box box;
    box.send("0");
    box.send("1");
    box.send("2");
    if (drained) CHECK(box.next() == "0");
    const std::uint32_t then = position(box.node);
    box.send("3");
    CHECK(clear_up_to(box.node, box.pool, then).count() == (drained ? 2U : 3U));
    CHECK(box.size() == 1);
    CHECK(box.next() == "3");
  }
}

TEST_CASE("dropping messages that were handled in the meantime drops nothing", "[mailbox]") {
  Box box;
  box.send("0");
  const std::uint32_t then = position(box.node);
  CHECK(box.next() == "0");
  box.send("1");  // reuses the cell of the dropped message
  CHECK(clear_up_to(box.node, box.pool, then).count() == 0);
  CHECK(box.next() == "1");
}

TEST_CASE("a closed mailbox accepts nothing and its messages are dropped", "[mailbox][C3][F1][G1]") {
  Box box;
  box.send("0");
  box.send("1");
  CHECK(close(box.node, box.pool, 7).count() == 2);
  CHECK(is_closed(box.node, box.generation(), 7));
  CHECK(box.size() == 0);
  CHECK(box.send("2", 7) == Push::closed);
  CHECK(box.next().empty());
  CHECK(clear_up_to(box.node, box.pool, position(box.node)).count() == 0);
}

TEST_CASE("a close also drops messages that the loop has taken over", "[mailbox][C3]") {
  Box box;
  for (int i = 0; i < 3; ++i) box.send(std::to_string(i));
  CHECK(box.next() == "0");
  CHECK(close(box.node, box.pool, 7).count() == 2);
  open(box.node, box.generation(), 7);
  CHECK(box.next().empty());
}

TEST_CASE("a message that was sent to the previous agent of the slot is dropped", "[mailbox][G3]") {
  Box box;
  const std::uint32_t cell = box.pool.take();
  REQUIRE(push(box.node, box.pool, box.cleared, cell, box.generation(), 0) == Push::queued_first);
  box.pool[cell].agent = make_id(
      box.node.index, box.generation() + 1);  // as if the slot had changed hands while the message was sent
  CHECK(box.send("next") == Push::queued);
  CHECK(box.next() == "next");
}

TEST_CASE("the counts of a mailbox go around", "[mailbox][G12][G15]") {
  Box box;
  for (int i = 0; i < 140'000; ++i) {  // they are kept modulo 2^17
    REQUIRE(box.send("a") == Push::queued_first);
    REQUIRE(box.send("b") == Push::queued);
    REQUIRE(box.size() == 2);
    if (i % 1000 == 0) {
      REQUIRE(close(box.node, box.pool, 7).count() == 2);
      REQUIRE(position(box.node) == static_cast<std::uint32_t>(2 * i + 2));
      open(box.node, box.generation(), 7);
    } else {
      REQUIRE(box.next() == "a");
      REQUIRE(box.next() == "b");
    }
    REQUIRE(position(box.node) == static_cast<std::uint32_t>(2 * i + 2));
  }
  for (int i = 0; i < 5; ++i) box.send("x");
  CHECK(box.send("x") == Push::full);
}

TEST_CASE("messages that a verb has dropped leave room before the loop has taken them out",
          "[mailbox][G1][G12][G15]") {
  Box box;
  const bool collected = GENERATE(false, true);
  for (int i = 0; i < 5; ++i) box.send("old");
  if (collected) collect(box.node, box.pool);
  CHECK(box.send("x") == Push::full);
  ClearedMessages::Mark mark;
  mark.prepare(box.node.id());
  const std::uint32_t then = position(box.node);
  box.cleared.add(mark, then, {});
  for (int i = 0; i < 5; ++i) CHECK(box.send("new" + std::to_string(i)) != Push::full);
  CHECK(box.send("x") == Push::full);
  box.cleared.remove(mark, [&] { CHECK(clear_up_to(box.node, box.pool, then).count() == 5); });
  CHECK(box.send("x") == Push::full);
  CHECK(box.next() == "new0");
  CHECK(box.send("new5") == Push::queued);
}

TEST_CASE("what verbs drop again and again before the loop runs has a limit", "[mailbox][G15]") {
  Box box;
  std::size_t sent = 0, most = 0;
  std::vector<ClearedMessages::Mark> marks(5000);
  for (ClearedMessages::Mark& mark : marks) {
    sent += box.send("x") != Push::full;
    most = std::max(most, box.size());
    mark.prepare(box.node.id());
    box.cleared.add(mark, position(box.node), {});
  }
  CHECK(sent == 5 + 1024);
  CHECK(most == sent);
  for (ClearedMessages::Mark& mark : marks) box.cleared.remove(mark, [] {});
  CHECK(box.cleared.empty());
  CHECK(clear(box.node, box.pool).count() == sent);
}

TEST_CASE("the largest mailbox can be dropped and filled again", "[mailbox][G12]") {
  Box box;
  box.node.mailbox_limit = 65'000;
  for (int i = 0; i < 65'000; ++i) box.send("old");
  CHECK(box.send("x") == Push::full);
  ClearedMessages::Mark mark;
  mark.prepare(box.node.id());
  const std::uint32_t then = position(box.node);
  box.cleared.add(mark, then, {});
  std::size_t sent = 0;
  while (box.send("new") != Push::full) ++sent;
  CHECK(sent == 65'000);
  CHECK(box.size() == 130'000);
  box.cleared.remove(mark, [&] { CHECK(clear_up_to(box.node, box.pool, then).count() == 65'000); });
  CHECK(box.size() == 65'000);
}

TEST_CASE("a message that is put back is next again and keeps its position", "[mailbox][F5]") {
  Box box;
  for (int i = 0; i < 3; ++i) box.send(std::to_string(i));
  const std::uint32_t number = take(box.node, box.pool);
  box.send("3");
  const std::uint32_t then = position(box.node);
  put_back(box.node, box.pool, number);
  CHECK(box.size() == 4);
  box.send("4");
  CHECK(box.send("x") == Push::full);
  SECTION("it is taken again") {
    for (const char* text : {"0", "1", "2", "3", "4"}) CHECK(box.next() == text);
    CHECK(box.size() == 0);
    CHECK(box.send("5") == Push::queued_first);
  }
  SECTION("it is dropped with those that were sent before") {
    CHECK(clear_up_to(box.node, box.pool, then).count() == 4);
    CHECK(box.next() == "4");
  }
}

TEST_CASE("a message in front of all others counts against the limit", "[mailbox][G15]") {
  Box box;
  const auto put_in_front = [&](const std::string& text, std::uint64_t sent_at = 0) {
    const std::uint32_t cell = box.pool.take();
    box.pool[cell].put({.text = text}, nullptr);
    const Push done = push_front(box.node, box.pool, box.cleared, cell, 0, sent_at);
    if (done != Push::queued) box.pool.give(cell, cell);
    return done;
  };
  CHECK(put_in_front("first") == Push::queued);
  CHECK(box.size() == 1);
  const std::uint32_t then = position(box.node);
  detail::mailbox::ClearedMessages::Mark mark;
  mark.prepare(box.node.id());
  box.cleared.add(mark, then, {});
  const auto left = [&] {
    return box.cleared.left(box.pool, box.node.id(), [&] {
      return detail::mailbox::ClearedMessages::Mailbox{box.size(), position(box.node)};
    });
  };
  for (int i = 0; i < 3; ++i) box.send(std::to_string(i));
  const bool before = GENERATE(true, false);  // it was sent before the verb, or after it
  CHECK(put_in_front("front", before ? 0 : box.cleared.count()) == Push::queued);
  CHECK(left() == (before ? 3 : 4));
  while (left() < 5) box.send("more");
  CHECK(box.cleared.covers(box.node.id(), box.pool[box.node.backlog].position) == before);
  CHECK(put_in_front("x", 1) == Push::full);
  CHECK(box.send("x") == Push::full);
  SECTION("it is next") {
    for (const char* text : {"front", "first", "0", "1", "2"}) CHECK(box.next() == text);
  }
  SECTION("a verb that came after it drops it with those that were sent before") {
    CHECK(clear_up_to(box.node, box.pool, then).count() == (before ? 2 : 1));
    CHECK(box.next() == (before ? "0" : "front"));
  }
}

TEST_CASE("a push to an empty mailbox schedules the agent unless it is scheduled", "[mailbox][F5]") {
  Box box;
  box.node.scheduled = true;
  CHECK(box.send("1") == Push::queued);  // the loop will look at the mailbox
  CHECK(box.next() == "1");
  box.node.scheduled = false;
  CHECK(box.send("2") == Push::queued_first);
}

TEST_CASE("a ticket opens only the mailbox that was closed with it", "[mailbox][G3]") {
  Box box;
  shut(box, 7);
  open(box.node, box.generation(), 6);
  CHECK(is_closed(box.node, box.generation(), 7));
  open(box.node, box.generation(), 7);
  CHECK(box.send("1", 8) == Push::queued_first);
}

TEST_CASE("a sender that sees the resume opens the mailbox before the resuming thread does",
          "[mailbox][X4]") {
  Box box;
  shut(box, 7);
  CHECK(box.send("1", 8) == Push::queued_first);
  CHECK(box.next() == "1");
}

TEST_CASE("a sender that checked the state before a later stop finds the mailbox closed",
          "[mailbox][C23][G1]") {
  Box box;
  shut(box, 9);
  CHECK(box.send("1", 8) == Push::closed);
  CHECK(is_closed(box.node, box.generation(), 9));
  shut(box, 0);  // the epoch has gone around
  CHECK(box.send("1", PackedState::epoch_mask) == Push::closed);
  shut(box, PackedState::epoch_mask);
  CHECK(box.send("1", 0) == Push::queued_first);
}

TEST_CASE("a sender opens no mailbox of an agent that has changed since it looked", "[mailbox][C23][G1]") {
  Box box;
  const auto now = [&](std::uint32_t epoch, Gate gate, AgentState state) {
    box.node.packed.store(PackedState{box.generation(), epoch, gate, state}.raw());
  };
  // The sender saw epoch 8. Since then the epoch has gone around, so that the ticket looks older.
  shut(box, 5);
  now(5, Gate::stop_tree, AgentState::stopped);
  CHECK(box.send_late("1", 8) == Push::closed);
  now(6, Gate::open, AgentState::idle);
  CHECK(box.send_late("1", 8) == Push::closed);
  CHECK(is_closed(box.node, box.generation(), 5));
  CHECK(box.send_late("1", 6) == Push::queued_first);
}

TEST_CASE("a message to a deleted agent never reaches the next agent of its slot", "[mailbox][G3][D5]") {
  Box box;
  const std::uint32_t old = box.generation();
  const std::uint32_t cell = box.pool.take();
  shut(box, 1);
  box.table.erase(box.node);
  Node& again = box.table.insert(box.table.root_sentinel());
  REQUIRE(&again == &box.node);
  again.mailbox_head.store(Head::open(box.generation(), again.taken).raw());
  CHECK(push(again, box.pool, box.cleared, cell, old, 0) == Push::gone);
  CHECK(length(again, old) == 0);
}

TEST_CASE("message cells are reused", "[mailbox][G13]") {
  MessagePool pool;
  const std::uint32_t a = pool.take();
  const std::uint32_t b = pool.take();
  CHECK(a != b);
  pool[a].next.store(b);
  pool.give(a, b);
  CHECK(pool.take() == a);
  CHECK(pool.take() == b);
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t cell = pool.take();
    CHECK(cell < 200);
    pool.give_back(pool[cell]);
  }
}
