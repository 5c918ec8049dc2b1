// Ids of messages, callbacks for one message, and the messages that wait.
#include "support/drive/tree_fixture.hpp"
#include "support/observe/counted_heap.hpp"

#include <set>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// The callbacks of one message, as lines.
struct Heard {
  SendOptions options() {
    return {.on_delta = [this](std::string_view text) { lines.push_back("delta " + std::string(text)); },
            .on_event =
                [this](const Event& event) {
                  lines.push_back("event " + std::to_string(detail::event_body(event).index()));
                },
            .on_end = [this](const MessageEnd& end) { note(end); }};
  }
  SendOptions end_only() {
    return {.on_end = [this](const MessageEnd& end) { note(end); }};
  }
  void note(const MessageEnd& end) {
    ends.push_back(end);
    lines.push_back("end " + std::to_string(end.turn) + " " +
                    (end.result ? std::string(to_string(end.result->outcome)) + " " + end.result->text
                                : std::string(to_string(end.dropped))));
  }
  std::vector<std::string> lines;
  std::vector<MessageEnd> ends;
};

template <typename T>
std::string event_line() {
  const detail::EventBody body(T{});
  return "event " + std::to_string(body.index());
}

std::vector<std::string> texts(const Agent& agent) {
  std::vector<std::string> all;
  for (const QueuedMessage& queued : agent.queued().value()) all.push_back(queued.message.text);
  return all;
}

}  // namespace

TEST_CASE("every accepted message has an id of its own", "[tree][messages][X35]") {
  TreeFixture t;
  const Agent a = t.root("a", {.handler = [](const Agent&, const Message&) {}});
  const Agent b = t.root("b", {.handler = [](const Agent&, const Message&) {}, .limits = {.mailbox = 1}});
  std::set<MessageId> ids;
  for (int round = 0; round < 100; ++round) {
    for (const Agent& agent : {a, b}) {
      const SendResult sent = agent.send("x");
      REQUIRE(sent);
      REQUIRE(sent.id);
      CHECK(ids.insert(sent.id).second);
    }
    const SendResult refused = b.send("x");
    CHECK(refused.reason == Errc::mailbox_full);
    CHECK_FALSE(refused.id);
    t.settle();
  }
  CHECK(to_string(MessageId{17}) == "m17");
  CHECK(to_string(MessageId{}).empty());
}

TEST_CASE("TurnStarted and TurnEnded name the message of the turn", "[tree][messages]") {
  TreeFixture t;
  std::vector<MessageId> started, ended;
  const auto starts = t.tree->on<TurnStarted>([&](const TurnStarted& s) { started.push_back(s.message); });
  const auto ends = t.tree->on<TurnEnded>([&](const TurnEnded& e) { ended.push_back(e.message); });
  const Agent agent = t.root("a");
  const MessageId first = agent.send("one").id, second = agent.send("two").id;
  t.settle();
  t.llm->answer("a", "1");
  t.settle();
  CHECK(agent.abort().took_effect());
  t.settle();
  CHECK(started == std::vector<MessageId>{first, second});
  CHECK(ended == std::vector<MessageId>{first, second});
}

TEST_CASE("the callbacks of a message hear its turn alone", "[tree][messages]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  Heard heard;
  CHECK(agent.send("before"));
  const SendResult sent = agent.send("mine", heard.options());
  CHECK(agent.send("after"));
  t.settle();
  t.llm->delta("a", "not ");
  t.llm->answer("a", "not mine");
  t.settle();
  CHECK(heard.lines == std::vector<std::string>{event_line<TurnStarted>()});
  t.llm->delta("a", "he");
  t.llm->delta("a", "llo");
  t.llm->answer("a", "");
  t.settle();
  t.llm->answer("a", "not mine either");
  t.settle();
  CHECK(heard.lines == std::vector<std::string>{
                           event_line<TurnStarted>(), "delta he", event_line<DeltaReceived>(), "delta llo",
                           event_line<DeltaReceived>(), event_line<TurnEnded>(), "end 2 completed hello"});
  CHECK(heard.ends.at(0).message == sent.id);
}

TEST_CASE("on_end follows the observers of TurnEnded", "[tree][messages]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  std::vector<std::string> order;
  const auto of_tree = t.tree->on<TurnEnded>([&](const TurnEnded&) { order.emplace_back("tree"); });
  const auto of_agent = agent.on<TurnEnded>([&](const TurnEnded&) { order.emplace_back("agent"); });
  CHECK(agent.send("x", {.on_end = [&](const MessageEnd&) { order.emplace_back("end"); }}));
  t.settle();
  t.llm->answer("a", "y");
  t.settle();
  CHECK(order == std::vector<std::string>{"tree", "agent", "end"});
}

TEST_CASE("a message that never begins a turn ends with the reason", "[tree][messages]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  Heard heard;
  const MessageId id = agent.send("waiting", heard.end_only()).id;
  SECTION("stopped") {
    CHECK(agent.stop().took_effect());
    t.settle();
    CHECK(heard.lines == std::vector<std::string>{"end 0 stopped"});
  }
  SECTION("deleted") {
    CHECK(agent.terminate().took_effect());
    t.settle();
    CHECK(heard.lines == std::vector<std::string>{"end 0 deleted"});
  }
  SECTION("cleared by an abort") {
    CHECK(agent.abort({.queue = QueueAction::drop}).took_effect());
    t.settle();
    CHECK(heard.lines == std::vector<std::string>{"end 0 queue_dropped"});
    CHECK(t.seen.count("dropped a waiting queue_dropped") == 1);
  }
  SECTION("cleared by the host") {
    CHECK(agent.drop_queue().value() == 1);
    CHECK(heard.lines == std::vector<std::string>{"end 0 queue_dropped"});
  }
  SECTION("removed") {
    CHECK(agent.remove_queued(id));
    CHECK(heard.lines == std::vector<std::string>{"end 0 removed"});
    CHECK(t.seen.count("dropped a waiting removed") == 1);
    CHECK(agent.remove_queued(id).code() == Errc::message_not_found);
  }
  REQUIRE(heard.ends.size() == 1);
  CHECK(heard.ends[0].message == id);
  CHECK_FALSE(heard.ends[0].result);
}

TEST_CASE("on_event hears that its message is dropped", "[tree][messages]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  Heard heard;
  CHECK(agent.send("first", heard.options()));
  CHECK(agent.send("second"));
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(heard.lines == std::vector<std::string>{event_line<MessageDropped>(), "end 0 stopped"});
}

TEST_CASE("a refused message calls nothing", "[tree][messages]") {
  TreeFixture t;
  const Agent agent = t.root("a", {.limits = {.mailbox = 1}});
  Heard heard;
  CHECK(agent.send("kept"));
  CHECK_FALSE(agent.send("refused", heard.options()));
  CHECK_FALSE(agent.send("", heard.options()));
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK_FALSE(agent.send("refused", heard.options()));
  CHECK_FALSE(Agent{}.send("refused", heard.options()));
  t.settle();
  CHECK(heard.lines.empty());
}

TEST_CASE("the end of a turn of a handler has its result", "[tree][messages]") {
  TreeFixture t;
  bool throws = false;
  const Agent agent = t.root("a", {.handler = [&](const Agent&, const Message&) {
                               if (throws) throw std::runtime_error("out of paper");
                             }});
  Heard heard;
  CHECK(agent.send("one", heard.end_only()));
  t.settle();
  throws = true;
  CHECK(agent.send("two", heard.end_only()));
  t.settle();
  CHECK(heard.lines == std::vector<std::string>{"end 1 completed ", "end 2 failed "});
  CHECK(heard.ends.at(1).result->error.code == Errc::callback_failed);
  CHECK(heard.ends.at(1).result->error.message == "AgentSpec::handler threw an exception: out of paper");
}

TEST_CASE("a turn of a handler is listed while it runs", "[tree][messages]") {
  TreeFixture t;
  std::vector<RunningTask> tasks;
  MessageInfo info;
  MessageId id;
  const Agent agent = t.root("a", {.handler = [&](const Agent&, const Message&) {
                               tasks = t.tree->tasks();
                               info = t.tree->message(id);
                             }});
  id = agent.send("x").id;
  t.settle();
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].kind == TaskKind::turn);
  CHECK(tasks[0].agent_id == "a");
  CHECK(tasks[0].message == id);
  CHECK(info.stage == MessageInfo::Stage::running);
  CHECK(t.tree->tasks().empty());
}

TEST_CASE("callbacks may stop the agent, destroy the tree and throw", "[tree][messages][G16]") {
  for (const std::string act : {"stop", "destroy", "throw", "send"}) {
    INFO(act);
    TreeFixture t;
    t.check_at_end = act != "destroy";
    const Agent agent = t.root("a");
    int ends = 0, sent = 0;
    const auto do_it = [&] {
      if (act == "stop") static_cast<void>(agent.stop());
      if (act == "destroy") t.tree.reset();
      if (act == "throw") throw std::runtime_error("thrown on purpose");
      if (act == "send" && sent++ == 0) static_cast<void>(agent.send("next"));
    };
    CHECK(agent.send("x", {.on_delta = [&](std::string_view) { do_it(); },
                           .on_event =
                               [&](const Event& event) {
                                 if (event.get<DeltaReceived>()) do_it();
                               },
                           .on_end = [&](const MessageEnd&) { ++ends; }}));
    t.settle();
    t.llm->delta("a", "delta");
    if (t.tree) t.llm->answer("a", "answer");
    t.settle();
    CHECK(ends == (act == "destroy" ? 0 : 1));
    if (act == "throw") CHECK(t.logged("thrown on purpose"));
  }
}

TEST_CASE("destroying the tree destroys the callbacks of waiting messages", "[tree][messages]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  const auto held = std::make_shared<int>(1);
  int ends = 0;
  CHECK(agent.send("waiting", {.on_end = [held, &ends](const MessageEnd&) { ++ends; }}));
  CHECK(held.use_count() == 2);
  t.seen.unwatch();
  t.tree.reset();
  CHECK(held.use_count() == 1);  // although the handle keeps the memory of the tree
  CHECK(ends == 0);
}

TEST_CASE("callbacks are destroyed after the end of their message", "[tree][messages][G13]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  const auto held = std::make_shared<int>(1);
  CHECK(agent.send("x", {.on_delta = [held](std::string_view) {}}));
  t.settle();
  CHECK(held.use_count() == 2);
  t.llm->answer("a", "y");
  t.settle();
  CHECK(held.use_count() == 1);
}

TEST_CASE("the tree keeps the results of the last turns", "[tree][messages][X35]") {
  TreeFixture t({.kept_results = 2});
  const Agent agent = t.root("a");
  using Stage = MessageInfo::Stage;
  std::vector<MessageId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(agent.send("question").id);
  t.settle();
  CHECK(t.tree->message(ids[0]).stage == Stage::running);
  CHECK(t.tree->message(ids[0]).turn == 1);
  CHECK(t.tree->message(ids[1]).stage == Stage::queued);
  CHECK(t.tree->message(ids[1]).agent_id == "a");
  for (const char* const text : {"1", "2", "3"}) {
    t.llm->answer("a", text);
    t.settle();
  }
  CHECK(t.tree->message(ids[0]).stage == Stage::unknown);  // forgotten
  const MessageInfo second = t.tree->message(ids[1]);
  CHECK(second.stage == Stage::ended);
  CHECK(second.turn == 2);
  REQUIRE(second.result);
  CHECK(second.result->text == "2");
  CHECK(t.tree->message(ids[2]).result->text == "3");
  CHECK(t.tree->message(ids[3]).stage == Stage::running);
  for (const MessageId id :
       {MessageId{}, MessageId{1}, MessageId{ids[3].value ^ 1ULL << 40}, MessageId{~0ULL}})
    CHECK(t.tree->message(id).stage == Stage::unknown);
}

TEST_CASE("the results of a deleted agent are not kept", "[tree][messages][G13]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  std::weak_ptr<const TurnResult> result;
  const auto ends = t.tree->on<TurnEnded>([&](const TurnEnded& end) { result = end.result; });
  const MessageId id = agent.send("x").id;
  t.settle();
  t.llm->answer("a", "secret");
  t.settle();
  CHECK(t.tree->message(id).result->text == "secret");
  CHECK(agent.terminate().took_effect());
  t.settle();
  CHECK(t.tree->message(id).stage == MessageInfo::Stage::unknown);
  CHECK(result.expired());
}

TEST_CASE("waiting messages are listed and edited and removed", "[tree][messages]") {
  TreeFixture t({.max_message_bytes = 10});
  const Agent agent = t.root("a"), other = t.root("b");
  t.ask(agent);
  Heard heard;
  const MessageId one = agent.send("one").id, two = agent.send("two", heard.end_only()).id;
  CHECK(agent.send("three"));
  CHECK(texts(agent) == std::vector<std::string>{"one", "two", "three"});
  CHECK(agent.queued()->at(1).id == two);

  CHECK(agent.edit_queued(two, {.text = "TWO", .sender = "me"}));
  CHECK(agent.remove_queued(one));
  CHECK(texts(agent) == std::vector<std::string>{"TWO", "three"});
  CHECK(agent.queue_length().value() == 2);
  CHECK(agent.edit_queued(two, {.text = " "}).code() == Errc::empty_message);
  CHECK(agent.edit_queued(two, {.text = "much too long"}).code() == Errc::message_too_large);
  CHECK(agent.edit_queued(two, {.text = "\xff"}).code() == Errc::invalid_utf8);
  CHECK(other.edit_queued(two, {.text = "x"}).code() == Errc::message_not_found);
  CHECK(other.remove_queued(two).code() == Errc::message_not_found);
  CHECK(agent.remove_queued(MessageId{}).code() == Errc::message_not_found);
  CHECK(Agent{}.remove_queued(two).code() == Errc::agent_not_found);
  CHECK_FALSE(agent.remove_queued(one).error().message.empty());

  t.llm->answer("a", "-");
  t.settle();
  CHECK(agent.edit_queued(two, {.text = "late"}).code() == Errc::message_not_found);
  CHECK(t.llm->call(1).request.messages.back().content() == "TWO");
  t.llm->answer("a", "second");
  t.settle();
  CHECK(heard.lines == std::vector<std::string>{"end 2 completed second"});
  CHECK(agent.queued()->empty());
}

// A sender that pushed meanwhile may have relied on the message that is removed now: mailbox::push().
TEST_CASE("after the removal of a queued message the loop looks at those that are left",
          "[tree][messages][F5]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  const MessageId one = agent.send("one").id;
  CHECK(agent.send("two"));
  t.settle();
  int wakes = 0;
  const auto wake = t.runtime->on_wake([&] { ++wakes; });
  SECTION("if one is left") {
    CHECK(agent.remove_queued(one));
    CHECK(wakes == 1);
  }
  SECTION("but not if none is left") {
    CHECK(agent.drop_queue().value() == 2);
    CHECK(wakes == 0);
  }
  t.settle();
  CHECK(t.llm->open_calls().size() == 1);  // the turn in progress goes on
}

TEST_CASE("urgent messages are taken before normal ones and in their order", "[tree][messages][X36]") {
  TreeFixture t;
  std::vector<std::string> taken;
  const Agent agent = t.root("a", {.handler = [&](const Agent& self, const Message& message) {
                               taken.push_back(message.text + message.kind);
                               // While the agent works through its messages.
                               if (message.text == "u1")
                                 CHECK(self.send({.text = "u3", .priority = MessagePriority::urgent}));
                             }});
  CHECK(agent.send({.text = "n1", .kind = "+"}));
  CHECK(agent.send({.text = "u1", .priority = MessagePriority::urgent}));
  CHECK(agent.send("n2"));
  CHECK(agent.send({.text = "u2", .priority = MessagePriority::urgent}));
  CHECK(texts(agent) == std::vector<std::string>{"u1", "u2", "n1", "n2"});
  t.settle();
  CHECK(taken == std::vector<std::string>{"u1", "u2", "u3", "n1+", "n2"});
}

TEST_CASE("an abort that drops the queue drops what was sent before it, urgent or not",
          "[tree][messages][X36][X3]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  CHECK(agent.send("n1"));
  CHECK(agent.send({.text = "u1", .priority = MessagePriority::urgent}));
  CHECK(agent.abort({.queue = QueueAction::drop}).took_effect());
  CHECK(agent.send({.text = "u2", .priority = MessagePriority::urgent}));
  CHECK(agent.send("n2"));
  t.settle();
  CHECK(t.seen.with("dropped") ==
        std::vector<std::string>{"dropped a u1 queue_dropped", "dropped a n1 queue_dropped"});
  CHECK(texts(agent) == std::vector<std::string>{"n2"});
  CHECK(t.llm->call(1).request.messages.back().content() == "u2");
}

TEST_CASE("a message that is to begin without memory stays in the mailbox", "[tree][messages][G12]") {
  for (std::size_t at = 1; at < 12; ++at) {
    TreeFixture t;
    const Agent agent = t.root("a");
    Heard heard;
    CHECK(agent.send("x", heard.end_only()));
    {
      const FailingAllocation failing(at, 1);
      t.poll();
    }
    t.settle();
    if (t.llm->calls() == 1) t.llm->answer("a", "y");
    t.settle();
    INFO(at);
    CHECK(heard.ends.size() == 1);
  }
}

TEST_CASE("an abort that drops the queue names each message that it drops", "[tree][messages][X3]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  std::vector<MessageId> sent, dropped;
  for (const char* text : {"one", "two", "three"}) sent.push_back(agent.send(text).id);
  const auto drops = t.tree->on<MessageDropped>([&](const MessageDropped& drop) {
    CHECK(drop.reason == DropReason::queue_dropped);
    dropped.push_back(drop.id);
  });
  CHECK(agent.abort({.queue = QueueAction::drop}).took_effect());
  t.settle();
  CHECK(dropped == sent);
  CHECK(t.state("a") == AgentState::idle);
}

TEST_CASE("the report of a stop or a delete names the messages that it drops", "[tree][messages][C8]") {
  TreeFixture t;
  const Agent parent = t.root("parent"), child = t.child(parent, "child"), other = t.root("other");
  for (const Agent& agent : {parent, child}) CHECK(agent.interrupt({.queue = QueueAction::hold}).accepted());
  const std::vector<MessageId> first = {child.send("one").id, child.send("two").id, parent.send("three").id};
  CHECK(other.send("not dropped"));
  std::size_t reports = 0;
  CHECK(parent
            .stop({.on_settled =
                       [&](const StopReport& report) {
                         ++reports;
                         CHECK(report.messages_dropped == 3);
                         CHECK(report.dropped_messages == first);
                       }})
            .took_effect());
  t.settle();
  CHECK(parent.resume().took_effect());
  t.settle();
  const MessageId last = child.send("four").id;
  CHECK(parent
            .terminate({.on_settled =
                            [&](const StopReport& report) {
                              ++reports;
                              CHECK(report.messages_dropped == 1);
                              CHECK(report.dropped_messages == std::vector<MessageId>{last});
                            }})
            .took_effect());
  t.settle();
  CHECK(reports == 2);
}

TEST_CASE("a report names at most 10000 dropped messages and counts all", "[tree][messages][G15]") {
  TreeFixture t({.mailbox_limit = 20'000}, false);
  t.seen.unwatch();
  const Agent agent = t.root("a");
  CHECK_FALSE(agent.interrupt({.queue = QueueAction::hold}).took_effect());
  for (int i = 0; i < 10'005; ++i) REQUIRE(agent.send("x"));
  std::optional<StopReport> report;
  CHECK(agent.stop({.on_settled = [&](const StopReport& made) { report = made; }}).took_effect());
  t.settle();
  REQUIRE(report);
  CHECK((report->messages_dropped == 10'005 && report->dropped_messages.size() == 10'000));
}

TEST_CASE("without memory a dropped message ends once, with its reason and after its event",
          "[tree][messages][G16]") {
  const bool deletes = GENERATE(true, false);
  for (std::size_t at = 1; at < 40; ++at) {
    INFO(at);
    TreeFixture t;
    t.seen.unwatch();
    const Agent agent = t.root("a");
    std::vector<std::string> lines;
    lines.reserve(8);
    const auto watch =
        t.tree->on<MessageDropped>([&](const MessageDropped&) { lines.emplace_back("dropped"); });
    CHECK(agent.pause().took_effect());
    CHECK(agent.send("x",
                     {.on_end = [&](const MessageEnd& end) { lines.emplace_back(to_string(end.dropped)); }}));
    t.settle();
    if (deletes) CHECK(agent.terminate().took_effect());
    {
      const FailingAllocation failing(at, 1);
      if (deletes)
        t.poll();
      else
        static_cast<void>(agent.drop_queue());
    }
    t.settle();
    const std::string reason = deletes ? "deleted" : "queue_dropped";
    if (lines.size() == 1) lines.emplace(lines.begin(), "dropped");  // without memory for the event
    CHECK(lines == std::vector<std::string>{"dropped", reason});
  }
}

TEST_CASE("the tree keeps as many results as it may, of whichever agents", "[tree][messages][X35]") {
  const std::uint32_t kept = GENERATE(1U, 2U, 3U, 7U);
  TreeFixture t({.kept_results = kept});
  std::vector<MessageId> ids;
  for (const char* const id : {"a", "b"}) t.root(id, {.handler = [](const Agent&, const Message&) {}});
  for (int i = 0; i < 10; ++i) {
    ids.push_back(t[i % 3 == 0 ? "a" : "b"].send("go").id);
    t.settle();
    for (std::size_t age = 0; age < ids.size(); ++age) {
      CAPTURE(kept, i, age);
      const bool is_ended = t.tree->message(ids[ids.size() - 1 - age]).stage == MessageInfo::Stage::ended;
      CHECK(is_ended == (age < kept));
    }
  }
}
