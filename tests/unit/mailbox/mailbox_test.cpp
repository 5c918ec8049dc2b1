// The mailbox: one value holds the queue, the count and the door.
#include "mailbox/mailbox.hpp"

#include "core/agent_table.hpp"
#include "support/catch.hpp"

#include <string>

using namespace agentcore;
using namespace agentcore::core;
using namespace agentcore::mailbox;

namespace {

struct Box {
  Box() : node(table.insert(table.trunk())) {
    node.mailbox_limit = 5;
    node.door.store(Door::open(generation()).raw());
  }
  std::uint32_t generation() const { return node.load().generation(); }
  Push send(const std::string& text, std::uint32_t epoch = 0) {
    const std::uint32_t cell = pool.take();
    pool[cell].message.text = text;
    const Push done = push(node, pool, cell, generation(), epoch);
    if (done != Push::queued && done != Push::queued_first) pool.give(cell, cell);
    return done;
  }
  std::string next() {
    const std::uint32_t cell = take(node, pool);
    if (!cell) return "";
    std::string text = std::move(pool[cell].message.text);
    pool.give(cell, cell);
    return text;
  }
  std::size_t size() const { return length(node, generation()); }

  AgentTable table;
  MessagePool pool;
  Node& node;
};

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

TEST_CASE("clearing says how many there were", "[mailbox][F3]") {
  Box box;
  CHECK(clear(box.node, box.pool) == 0);
  for (int i = 0; i < 4; ++i) box.send(std::to_string(i));
  box.next();
  box.send("4");
  CHECK(clear(box.node, box.pool) == 4);
  CHECK(box.size() == 0);
  CHECK(box.next().empty());
  CHECK(box.send("5") == Push::queued_first);
}

TEST_CASE("what was there at an instant can be dropped later, the rest stays", "[mailbox][X3]") {
  for (const bool drained : {false, true}) {
    Box box;
    box.send("0");
    box.send("1");
    box.send("2");
    if (drained) CHECK(box.next() == "0");
    const std::uint32_t then = position(box.node);
    box.send("3");
    CHECK(clear_up_to(box.node, box.pool, then) == (drained ? 2U : 3U));
    CHECK(box.size() == 1);
    CHECK(box.next() == "3");
  }
}

TEST_CASE("dropping what has been handled meanwhile drops nothing", "[mailbox][X3]") {
  Box box;
  box.send("0");
  const std::uint32_t then = position(box.node);
  CHECK(box.next() == "0");
  box.send("1");  // lies in the cell of the message that is gone
  CHECK(clear_up_to(box.node, box.pool, then) == 0);
  CHECK(box.next() == "1");
}

TEST_CASE("a closed door lets nothing in, and what lay behind it is gone", "[mailbox][C3][F1][G1]") {
  Box box;
  box.send("0");
  box.send("1");
  CHECK(close(box.node, box.pool, 7) == 2);
  CHECK(is_closed(box.node, box.generation(), 7));
  CHECK(box.size() == 0);
  CHECK(box.send("2", 7) == Push::closed);
  CHECK(box.next().empty());
  CHECK(clear_up_to(box.node, box.pool, position(box.node)) == 0);
}

TEST_CASE("a close drops what the loop has taken over, too", "[mailbox][C3]") {
  Box box;
  for (int i = 0; i < 3; ++i) box.send(std::to_string(i));
  CHECK(box.next() == "0");
  CHECK(close(box.node, box.pool, 7) == 2);
  open(box.node, box.generation(), 7);
  CHECK(box.next().empty());
}

TEST_CASE("a message that was sent to the agent before in the slot is dropped", "[mailbox][G3]") {
  Box box;
  const std::uint32_t cell = box.pool.take();
  REQUIRE(push(box.node, box.pool, cell, box.generation(), 0) == Push::queued_first);
  box.pool[cell].generation += 1;  // as if the slot had changed hands while the message was sent
  CHECK(box.send("next") == Push::queued);
  CHECK(box.next() == "next");
}

TEST_CASE("a ticket opens only the door that was closed with it", "[mailbox][G3]") {
  Box box;
  close(box.node, box.pool, 7);
  open(box.node, box.generation(), 6);
  CHECK(is_closed(box.node, box.generation(), 7));
  open(box.node, box.generation(), 7);
  CHECK(box.send("1", 8) == Push::queued_first);
}

TEST_CASE("a sender that saw the resume opens the door that the resumer has not come to yet",
          "[mailbox][X4]") {
  Box box;
  close(box.node, box.pool, 7);
  CHECK(box.send("1", 8) == Push::queued_first);
  CHECK(box.next() == "1");
}

TEST_CASE("a sender that looked before a later stop finds the door closed", "[mailbox][C23][G1]") {
  Box box;
  close(box.node, box.pool, 9);
  CHECK(box.send("1", 8) == Push::closed);
  CHECK(is_closed(box.node, box.generation(), 9));
  close(box.node, box.pool, 0);  // the epoch has gone around
  CHECK(box.send("1", Word::epoch_mask) == Push::closed);
  close(box.node, box.pool, Word::epoch_mask);
  CHECK(box.send("1", 0) == Push::queued_first);
}

TEST_CASE("a message for an agent that is gone never reaches the next one in its slot", "[mailbox][G3][D5]") {
  Box box;
  const std::uint32_t old = box.generation();
  const std::uint32_t cell = box.pool.take();
  close(box.node, box.pool, 1);
  box.table.erase(box.node);
  Node& again = box.table.insert(box.table.trunk());
  REQUIRE(&again == &box.node);
  again.door.store(Door::open(box.generation()).raw());
  CHECK(push(again, box.pool, cell, old, 0) == Push::gone);
  CHECK(length(again, old) == 0);
}

TEST_CASE("cells are used again", "[mailbox][G13]") {
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
    pool.give_back(cell);
  }
}
