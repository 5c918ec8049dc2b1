// A mailbox against a model: messages, verbs that drop some or all of them, and the loop, in any order. A
// verb drops messages when it returns, and the loop takes them out of the mailbox later; nobody sees the
// difference.
#include "support/drive/tool_turn.hpp"
#include "support/prop.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

enum class Do : std::uint8_t {
  send,
  send_urgent,
  fill,  // until the mailbox is full
  abort,
  abort_and_clear,
  interrupt,
  interrupt_and_drop,
  interrupt_and_hold,
  interrupt_message,
  release,
  remove,
  clear,
  answer,  // the turn of the message completes
  poll     // until nothing is ready
};
constexpr std::size_t kinds = 14;

using Op = std::pair<std::uint8_t, std::uint8_t>;  // of Do; of all messages so far

struct Sent {
  MessageId id;
  std::string text;
  bool urgent = false;
};

// What the agent has, as a person would say it.
struct Model {
  std::size_t limit = 0;
  std::vector<Sent> queue;  // in the order of taking
  std::optional<Sent> running;
  bool held = false;
  std::vector<std::string> begun;
  std::multiset<std::string> dropped;

  void add(Sent sent) {
    const auto place =
        sent.urgent ? std::find_if(queue.begin(), queue.end(), [](const Sent& one) { return !one.urgent; })
                    : queue.end();
    queue.insert(place, std::move(sent));
  }
  bool remove(MessageId id) {
    const auto found =
        std::find_if(queue.begin(), queue.end(), [id](const Sent& one) { return one.id == id; });
    if (found == queue.end()) return false;
    dropped.insert(found->text);
    queue.erase(found);
    return true;
  }
  std::size_t clear() {
    for (const Sent& one : queue) dropped.insert(one.text);
    return std::exchange(queue, {}).size();
  }
  void go_on() {
    if (running || held || queue.empty()) return;
    running = queue.front();
    queue.erase(queue.begin());
    begun.push_back(running->text);
  }
};

class World {
 public:
  explicit World(std::uint16_t limit) : agent_(t_.root("a", {.limits = {.mailbox = limit}})) {
    model_.limit = limit;
    starts_ = t_.tree->on<TurnStarted>(
        [this](const TurnStarted& event) { begun_.push_back(text_of(event.message)); });
    drops_ = t_.tree->on<MessageDropped>(
        [this](const MessageDropped& event) { dropped_.insert(event.message.text); });
  }

  void play(const Op& op) {
    switch (static_cast<Do>(op.first % kinds)) {
      case Do::send:
        static_cast<void>(send(false));
        break;
      case Do::send_urgent:
        static_cast<void>(send(true));
        break;
      case Do::fill:
        while (send(false)) compare();
        break;
      case Do::abort:
        abort(false);
        break;
      case Do::abort_and_clear:
        abort(true);
        break;
      case Do::interrupt:
        interrupt(QueueAction::deliver);
        break;
      case Do::interrupt_and_drop:
        interrupt(QueueAction::drop);
        break;
      case Do::interrupt_and_hold:
        interrupt(QueueAction::hold);
        break;
      case Do::interrupt_message:
        if (!sent_.empty()) interrupt(sent_[op.second % sent_.size()].id);
        break;
      case Do::release:
        RC_ASSERT(agent_.release_queue().took_effect() == std::exchange(model_.held, false));
        break;
      case Do::remove:
        if (!sent_.empty()) remove(sent_[op.second % sent_.size()].id);
        break;
      case Do::clear:
        RC_ASSERT(agent_.drop_queue().value() == model_.clear());
        break;
      case Do::answer:
        if (std::exchange(model_.running, std::nullopt)) t_.llm->answer("a", "words");
        settle();
        break;
      case Do::poll:
        settle();
        break;
    }
  }

  void compare() const {
    RC_ASSERT(agent_.queue_length().value() == model_.queue.size());
    const std::vector<QueuedMessage> queued = agent_.queued().value();
    RC_ASSERT(queued.size() == model_.queue.size());
    for (std::size_t i = 0; i < queued.size(); ++i) {
      RC_ASSERT(queued[i].id == model_.queue[i].id);
      RC_ASSERT(queued[i].message.text == model_.queue[i].text);
    }
    for (const Sent& one : sent_) {
      const bool waits = std::any_of(queued.begin(), queued.end(),
                                     [&](const QueuedMessage& message) { return message.id == one.id; });
      RC_ASSERT((t_.tree->message(one.id).stage == MessageInfo::Stage::queued) == waits);
    }
    RC_ASSERT(agent_.status().value().queue_held == model_.held);
  }

  void settle() {
    t_.settle();
    model_.go_on();
    RC_ASSERT(begun_ == model_.begun);
    RC_ASSERT(dropped_ == model_.dropped);
    RC_ASSERT(t_.seen.violations == std::vector<std::string>{});
  }

  std::size_t sends_into_cleared = 0;  // into a mailbox that was full when a verb dropped all of it

 private:
  bool send(bool urgent) {
    const bool has_room = model_.queue.size() < model_.limit;
    const std::string text = "message " + std::to_string(sent_.size());
    const SendResult sent =
        agent_.send({.text = text, .priority = urgent ? MessagePriority::urgent : MessagePriority::normal});
    RC_ASSERT(sent.accepted() == has_room);
    if (!sent) {
      RC_ASSERT(sent.reason == Errc::mailbox_full);
      return false;
    }
    if (std::exchange(was_full_, false)) ++sends_into_cleared;
    sent_.push_back({sent.id, text, urgent});
    model_.add(sent_.back());
    return true;
  }

  void abort(bool clears) {
    const bool waits = model_.running.has_value();
    RC_ASSERT(agent_.abort({.queue = clears ? QueueAction::drop : QueueAction::deliver}).took_effect() ==
              waits);
    model_.running.reset();
    if (clears && waits) clear();
  }
  void interrupt(QueueAction action) {
    const VerbResult result = agent_.interrupt({.queue = action});
    RC_ASSERT(result.took_effect() == model_.running.has_value());
    model_.running.reset();
    if (action == QueueAction::hold) model_.held = true;
    if (action == QueueAction::drop) clear();
  }
  void interrupt(MessageId id) {
    const VerbResult result = agent_.interrupt({.message = id});
    const bool runs = model_.running && model_.running->id == id;
    RC_ASSERT(result.took_effect() == (runs || model_.remove(id)));
    if (runs) model_.running.reset();
    if (!result.took_effect()) RC_ASSERT(result.reason == Errc::turn_over);
  }
  void remove(MessageId id) { RC_ASSERT(bool(agent_.remove_queued(id)) == model_.remove(id)); }
  void clear() { was_full_ = model_.clear() == model_.limit || was_full_; }

  std::string text_of(MessageId id) const {
    const auto found =
        std::find_if(sent_.begin(), sent_.end(), [id](const Sent& one) { return one.id == id; });
    return found == sent_.end() ? "a message that nobody has sent" : found->text;
  }

  ToolTurn t_;
  Agent agent_;
  Model model_;
  std::vector<Sent> sent_;
  bool was_full_ = false;
  std::vector<std::string> begun_;
  std::multiset<std::string> dropped_;
  Subscription starts_, drops_;
};

}  // namespace

TEST_CASE("what verbs have dropped neither waits nor takes up room nor is handled",
          "[property][queue][messages][G1][G12]") {
  std::size_t sends_into_cleared = 0;
  prop("each send, verb and question about the mailbox agrees with the model", [&] {
    const auto limit = *rc::gen::inRange<std::uint16_t>(1, 6);
    const auto ops = *rc::gen::scale(
        2.0, rc::gen::container<std::vector<Op>>(rc::gen::resize(100, rc::gen::arbitrary<Op>())));
    World world(limit);
    for (const Op& op : ops) {
      world.play(op);
      world.compare();
    }
    world.settle();
    world.compare();
    sends_into_cleared += world.sends_into_cleared;
  });
  CHECK(sends_into_cleared > 0);
}
