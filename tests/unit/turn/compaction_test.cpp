// Older messages are summarised by a model call of the turn, instead of being left out.
#include "context/token_count.hpp"
#include "support/drive/tool_turn.hpp"

#include <agentcore/conversation.hpp>
#include <agentcore/history.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

std::size_t bytes(std::string_view text) {
  return text.size();
}

const std::string long_text(150, 'x');
constexpr std::string_view heading = "Summary of the conversation so far:\n";

// Two turns of say() and a question have at most 1000 tokens, three and a question have more: then the first
// two are summarised.
ContextOptions context(Compaction compact = {}) {
  compact.prompt = "Sum up.";
  ContextOptions options{.max_tokens = 1000, .target_tokens = 500, .min_conversation_tokens = 1};
  options.compact = std::move(compact);
  options.count_tokens = bytes;
  return options;
}

struct Compacting : ToolTurn {
  explicit Compacting(TreeOptions options = {}) : ToolTurn(options) {}

  // The agent "a" after three turns.
  Agent with_history(AgentSpec spec = {.context = context()}) {
    const Agent made = agent(std::move(spec));
    for (const char* name : {"one", "two", "three"}) say(made, name);
    seen.clear();
    return made;
  }
  void say(const Agent& agent, const std::string& name) {
    ask(agent, name + long_text);
    answer("re " + name + long_text);
  }
  const ChatRequest& request() const { return llm->call(llm->calls() - 1).request; }
  bool summarises() const { return request().messages.front().content() == "Sum up."; }
  std::string to_summarise() const { return request().messages.at(1).content(); }
  void end_summary(ChatOutcome outcome, std::string_view text = "It was long.") {
    llm->delta("a", text);
    FakeClient::finish(*llm->find("a"), std::move(outcome));
    settle();
  }
  // The words of the messages that are sent, shortened: "one, re one, two".
  std::string sent(const Agent& agent) {
    std::string all;
    for (const ChatMessage& message : agent.context().value()) {
      std::string text = message.content();
      if (const auto at = text.find(long_text); at != std::string::npos) text.erase(at, long_text.size());
      if (text.starts_with(heading)) text.replace(0, heading.size(), "sum:");
      all += (all.empty() ? "" : ", ") + text;
    }
    return all;
  }
};

ChatOutcome whole(Usage usage = {}) {
  return ChatOutcome::completed(FinishReason::complete, usage);
}

}  // namespace

TEST_CASE("older turns are summarised before the model call for which they are too long",
          "[turn][context][compaction][Y8]") {
  Compacting t;
  const Agent agent = t.with_history();
  std::vector<CompactionChanged> changes;
  const auto events = agent.on<CompactionChanged>([&](const auto& change) { changes.push_back(change); });
  t.ask(agent, "four");
  CHECK(t.summarises());
  CHECK(t.state("a") == AgentState::waiting_llm);
  CHECK(t.request().tools.empty());
  CHECK(t.request().messages.size() == 2);
  CHECK(t.to_summarise().find(R"({"role":"user","text":"one)") != std::string::npos);
  CHECK(t.to_summarise().find(R"({"role":"assistant","text":"re two)") != std::string::npos);
  CHECK(t.to_summarise().find("three") == std::string::npos);
  CHECK(t.tree->tasks().size() == 2);
  CHECK(t.sent(agent) == "one, re one, two, re two, three, re three, four");

  t.end_summary(whole());
  CHECK_FALSE(t.summarises());
  CHECK(t.sent(agent) == "sum:It was long., three, re three, four");
  CHECK(agent.context().value() == t.request().messages);
  CHECK(agent.context().value().front().summary);
  t.answer("done");
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(t.result->text == "done");
  CHECK(agent.conversation().value().size() == 8);  // with all turns
  CHECK(t.history().find("Summary") == std::string::npos);
  CHECK(t.llm->histories_were_valid());
  CHECK(joined(t.seen.with("compact")) == "compacts a compacted a compacted a 7");
  CHECK(joined(t.seen.with("delta")) == "delta a 4 done");

  REQUIRE(changes.size() == 2);
  CHECK((changes[0].call == 1 && changes[0].tokens_after == 0 && !changes[0].ended));
  CHECK((changes[1].call == 1 && changes[1].used && changes[1].ended));
  CHECK(changes[1].tokens_before > 1000);
  CHECK(changes[1].tokens_after < 600);
  CHECK(changes[0].tokens_before == changes[1].tokens_before);
}

TEST_CASE("a later summary includes the earlier one", "[turn][context][compaction]") {
  Compacting t;
  const Agent agent = t.with_history();
  t.ask(agent, "four" + long_text);
  t.end_summary(whole(), "the first");
  t.answer("re four" + long_text);
  t.say(agent, "five");
  t.ask(agent, "six");
  REQUIRE(t.summarises());
  CHECK(t.to_summarise().find("the first") != std::string::npos);
  CHECK(t.to_summarise().find(R"("text":"two)") == std::string::npos);
  CHECK(t.to_summarise().find(R"("text":"three)") != std::string::npos);
  t.end_summary(whole(), "the second");
  REQUIRE_FALSE(t.summarises());
  CHECK(t.sent(agent).starts_with("sum:the second, "));
  CHECK(t.sent(agent).find("three") == std::string::npos);
  CHECK(t.sent(agent).ends_with(", six"));
  CHECK(t.llm->histories_were_valid());
}

TEST_CASE("without a whole summary the messages are left out, and the turn goes on",
          "[turn][context][compaction]") {
  struct Ending {
    ChatOutcome outcome;
    std::string_view text;
    Errc error;
  };
  const Ending endings[] = {
      {ChatOutcome::failed({Errc::network_error, "no \x1b network"}), "half", Errc::network_error},
      {ChatOutcome::cancelled(), "half", Errc::invalid_answer},
      {ChatOutcome::completed(FinishReason::length), "cut o", Errc::invalid_answer},
      {ChatOutcome::completed(FinishReason::refusal), "I will not.", Errc::invalid_answer},
      {ChatOutcome::completed(FinishReason::content_filter), "half", Errc::invalid_answer},
      {ChatOutcome::completed(FinishReason::tool_calls), "half", Errc::invalid_answer},
      {whole(), " \n ", Errc::invalid_answer},
      {whole(), {}, Errc::invalid_answer},
  };
  for (const Ending& ending : endings) {
    CAPTURE(ending.text);
    Compacting t;
    const Agent agent = t.with_history();
    ChatError error;
    const auto events = agent.on<CompactionChanged>([&](const auto& change) { error = change.error; });
    t.ask(agent, "four");
    t.end_summary(ending.outcome, ending.text);
    CHECK(error.code == ending.error);
    CHECK((error.code != Errc::network_error || error.message.ends_with("no \\u001b network")));
    CHECK(joined(t.seen.with("compact")) == "compacts a");
    CHECK(t.seen.count("not-compacted a") == 1);
    CHECK_FALSE(t.summarises());
    CHECK(t.sent(agent) == "three, re three, four");
    t.call({add_call("c", 1, 2)}, long_text + long_text + long_text + long_text);
    CHECK_FALSE(t.summarises());  // not again in this turn
    t.answer("done");
    CHECK(t.result->outcome == TurnOutcome::completed);
    CHECK(t.logged("a summary is not used"));
    CHECK(t.llm->histories_were_valid());
  }
}

TEST_CASE("after a failed summary the next turn offers the same messages to one again",
          "[turn][context][compaction]") {
  const ChatOutcome failures[] = {ChatOutcome::failed({Errc::http_error, "HTTP 503", 503, true}),
                                  ChatOutcome::cancelled(), whole()};
  for (const ChatOutcome& failure : failures) {
    Compacting t;
    const Agent agent = t.with_history();
    std::vector<ContextTrimmed> trims;
    const auto events = agent.on<ContextTrimmed>([&](const auto& trimmed) { trims.push_back(trimmed); });
    t.ask(agent, "four");
    t.end_summary(failure, " ");
    CHECK(t.sent(agent) == "three, re three, four");
    CHECK(t.logged("the next one tries again"));
    REQUIRE(trims.size() == 1);
    CHECK(trims[0].messages == std::vector<std::size_t>{0, 1, 2, 3});
    CHECK((trims[0].for_this_turn && trims[0].turn == 4 && trims[0].call == 2));
    CHECK((trims[0].tokens_before > 1000 && trims[0].tokens_after < 500));
    t.answer("re four");
    t.ask(agent, "five");
    REQUIRE(t.summarises());
    CHECK(t.to_summarise().find(R"("text":"one)") != std::string::npos);
    CHECK(t.to_summarise().find(R"("text":"re two)") != std::string::npos);
    t.end_summary(whole(), "At last.");
    CHECK(t.sent(agent) == "sum:At last., three, re three, four, re four, five");
    CHECK(trims.size() == 1);
    CHECK(t.llm->histories_were_valid());
  }
}

TEST_CASE("while summaries fail, each request begins as the one before", "[turn][context][compaction]") {
  Compacting t;
  const Agent agent = t.with_history();
  std::vector<ContextTrimmed> trims;
  const auto events = agent.on<ContextTrimmed>([&](const auto& trimmed) { trims.push_back(trimmed); });
  std::vector<ChatMessage> before;
  for (const char* question : {"four", "five", "six"}) {
    t.ask(agent, question);
    REQUIRE(t.summarises());
    t.end_summary(ChatOutcome::failed({Errc::network_error, "no \x1b network"}), "half");
    const std::vector<ChatMessage>& now = t.request().messages;
    REQUIRE(now.size() > before.size());
    CHECK(std::equal(before.begin(), before.end(), now.begin()));
    before = now;
    t.answer("so");
  }
  REQUIRE(trims.size() == 3);  // each turn tells what it lacks
  CHECK(trims[2].messages == trims[0].messages);
  CHECK(trims[2].tokens_before > trims[2].tokens_after + 500);
}

TEST_CASE("after many summaries that failed, several in a row lose no message",
          "[turn][context][compaction][failure]") {
  Compacting t;
  const Agent agent = t.with_history();
  std::vector<std::string> names{"one", "two", "three"};
  for (const char* name : {"four", "five", "six", "seven", "eight", "nine"}) {
    names.emplace_back(name);
    t.ask(agent, name + long_text);
    REQUIRE(t.summarises());
    t.end_summary(ChatOutcome::failed({Errc::network_error, "no \x1b network"}), "half");
    REQUIRE_FALSE(t.summarises());
    t.answer("re " + std::string(name) + long_text);
  }
  t.ask(agent, "ten");
  std::vector<std::string> requests;
  while (t.summarises()) {
    const std::string number = std::to_string(requests.size());
    CHECK(t.to_summarise().size() <= 1000);
    const std::string earlier = requests.empty() ? "" : "far:\\nsum " + std::to_string(requests.size() - 1);
    CHECK((t.to_summarise().find("earlier_summary") != std::string::npos) == !requests.empty());
    CHECK(t.to_summarise().find(earlier) != std::string::npos);
    requests.push_back(t.to_summarise());
    REQUIRE(requests.size() < 10);
    t.end_summary(whole(), "sum " + number);
  }
  CHECK(requests.size() > 2);
  const std::string last = std::to_string(requests.size() - 1);
  const std::string sent = t.sent(agent);
  CHECK(sent.starts_with("sum:sum " + last + ", "));
  CHECK(sent.ends_with("re nine, ten"));
  std::string all = sent;
  for (const std::string& request : requests) all += request;
  for (const std::string& name : names)
    for (const std::string& text : {name, "re " + name}) {
      CAPTURE(text);
      const bool is_sent = (", " + sent + ",").find(", " + text + ",") != std::string::npos;
      std::size_t summarised = 0;
      for (const std::string& request : requests)
        summarised += request.find("\"text\":\"" + text + "x") != std::string::npos ? 1U : 0U;
      CHECK(summarised == (is_sent ? 0U : 1U));
    }
  t.answer("done");
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(t.llm->histories_were_valid());
}

TEST_CASE("what the first of several summaries stands for stays summarised when the second one fails",
          "[turn][context][compaction][failure]") {
  Compacting t;
  const Agent agent = t.with_history();
  for (const char* name : {"four", "five", "six", "seven"}) {
    t.ask(agent, name + long_text);
    t.end_summary(ChatOutcome::failed({Errc::network_error, "no \x1b network"}), "half");
    t.answer("re " + std::string(name) + long_text);
  }
  t.ask(agent, "eight");
  std::vector<CompactionChanged> changes;
  const auto events = agent.on<CompactionChanged>([&](const auto& change) { changes.push_back(change); });
  CHECK(t.to_summarise().find(R"("text":"one)") != std::string::npos);
  t.end_summary(whole(), "first");
  REQUIRE(t.summarises());
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].used);
  CHECK(changes[0].tokens_after > 1000);  // with what the second one is for
  t.end_summary(ChatOutcome::failed({Errc::network_error, "no \x1b network"}), "half");
  CHECK_FALSE(t.summarises());
  CHECK(t.sent(agent).starts_with("sum:first, "));
  CHECK(t.sent(agent).ends_with(", eight"));
  t.answer("re eight");
  t.ask(agent, "nine");
  REQUIRE(t.summarises());
  CHECK(t.to_summarise().find(R"({"earlier_summary":"Summary of the conversation so far:\nfirst"})") !=
        std::string::npos);
  CHECK(t.to_summarise().find(R"("text":"one)") == std::string::npos);
  CHECK(t.llm->histories_were_valid());
}

TEST_CASE("messages that no budget let summarise are summarised when one does",
          "[turn][context][compaction][budget]") {
  Compacting t;
  const Agent agent = t.with_history();
  CHECK(agent.grant({.tokens = 700}));
  t.ask(agent, "four");
  CHECK(t.sent(agent) == "three, re three, four");
  CHECK(t.seen.count("left-out a 4") == 1);
  t.answer("re four");
  CHECK(agent.grant({.tokens = 100'000}));
  t.ask(agent, "five");
  CHECK(t.summarises());
  t.end_summary(whole());
  CHECK(t.sent(agent) == "sum:It was long., three, re three, four, re four, five");
}

TEST_CASE("a TokenCounter that throws once makes no message forgotten", "[turn][context][compaction][G16]") {
  Compacting t;
  int throws_at = 0, counts = 0;
  AgentSpec spec;
  spec.context = context();
  spec.context.count_tokens = [&](std::string_view text) {
    if (++counts == throws_at) throw std::runtime_error("no count");
    return text.size();
  };
  const Agent agent = t.with_history(std::move(spec));
  SECTION("before it is known what does not fit") {
    throws_at = counts + 1;
  }
  SECTION("when the summary is planned") {
    throws_at = counts + 3;
  }
  t.ask(agent, "four");
  CHECK_FALSE(t.summarises());
  t.answer("re four");
  t.ask(agent, "five");
  REQUIRE(t.summarises());
  CHECK(t.to_summarise().find(R"("text":"one)") != std::string::npos);
}

TEST_CASE("what is left out for a turn is sent again after a rewind", "[turn][context][compaction][rewind]") {
  Compacting t;
  const Agent agent = t.with_history();
  t.ask(agent, "four");
  t.end_summary(ChatOutcome::failed({}), "");
  t.answer("re four");
  CHECK(agent.rewind(3));
  CHECK(t.sent(agent) == "one, re one, two, re two");
  t.ask(agent, "next");
  CHECK_FALSE(t.summarises());
  CHECK(t.request().messages.size() == 5);
}

TEST_CASE("a summary with which the request is too long is not used", "[turn][context][compaction]") {
  Compacting t;
  const Agent agent = t.with_history();
  t.ask(agent, "four");
  CHECK(t.request().max_tokens.value() < 600);  // as much as there is room
  t.end_summary(whole(), std::string(600, 's'));
  CHECK(t.seen.count("not-compacted a") == 1);
  CHECK(t.sent(agent) == "three, re three, four");
}

TEST_CASE("a summary that is longer than TreeOptions::max_answer_bytes is cut",
          "[turn][context][compaction]") {
  Compacting t({.max_answer_bytes = 400});
  const Agent agent = t.with_history();
  t.ask(agent, "four");
  t.llm->delta("a", std::string(300, 's'));
  t.llm->delta("a", std::string(300, 's'));
  t.settle();
  CHECK(t.seen.count("not-compacted a") == 1);
  CHECK_FALSE(t.summarises());
  CHECK(t.sent(agent) == "three, re three, four");
}

TEST_CASE("a summary that is too long does not wait for a client that ignores its stop token",
          "[turn][context][compaction][G5]") {
  Compacting t({.max_answer_bytes = 400});
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.with_history();
  t.ask(agent, "four");
  t.llm->delta("a", std::string(500, 's'));
  t.settle();
  CHECK(t.seen.count("not-compacted a") == 1);
  CHECK(t.llm->calls() == 5);
  CHECK_FALSE(t.summarises());
}

TEST_CASE("a summary that has failed is not used, whatever its error", "[turn][context][compaction]") {
  Compacting t;
  const Agent agent = t.with_history();
  t.ask(agent, "four");
  t.end_summary(ChatOutcome::failed({}), "half of a summ");
  CHECK(t.sent(agent) == "three, re three, four");
}

TEST_CASE("a rewind brings back the summary that was used before", "[turn][context][compaction][rewind]") {
  Compacting t;
  const Agent agent = t.with_history();
  t.ask(agent, "four" + long_text);
  t.end_summary(whole(), "The first.");
  t.answer("re four" + long_text);
  t.ask(agent, "five" + long_text);
  for (int i = 0; i < 9 && !t.summarises(); ++i) t.call({add_call("", 1, 2)}, long_text);
  REQUIRE(t.summarises());
  t.end_summary(whole(), "The second.");
  t.answer("re five");
  REQUIRE(t.sent(agent).starts_with("sum:The second., five, "));
  SECTION("the second covers the last question that is left") {
    CHECK(agent.rewind(5));
    CHECK(t.sent(agent) == "sum:The first., three, re three, four, re four");
  }
  SECTION("the first covers the last question that is left") {
    CHECK(agent.rewind(3));
    CHECK(t.sent(agent) == "one, re one, two, re two");
  }
  SECTION("both cover turns that were taken back") {
    CHECK(agent.rewind(2));
    CHECK(t.sent(agent) == "one, re one");
  }
  t.ask(agent, "next");
  CHECK(t.llm->histories_were_valid());
}

TEST_CASE("a verb or the deadline ends the turn during its summary, and nothing has changed",
          "[turn][context][compaction][G1][G7][G10]") {
  struct Way {
    std::function<void(Compacting&, const Agent&)> end;
    TurnOutcome outcome;
  };
  const Way ways[] = {
      {[](Compacting&, const Agent& a) { CHECK(a.abort().took_effect()); }, TurnOutcome::aborted},
      {[](Compacting&, const Agent& a) { CHECK(a.interrupt().took_effect()); }, TurnOutcome::interrupted},
      {[](Compacting&, const Agent& a) { CHECK(a.stop().accepted()); }, TurnOutcome::stopped},
      {[](Compacting& t, const Agent&) { t.advance(std::chrono::hours(2)); }, TurnOutcome::failed},
  };
  for (const OnStop how : {OnStop::post, OnStop::at_once})
    for (const Way& way : ways) {
      CAPTURE(to_string(way.outcome), static_cast<int>(how));
      Compacting t;
      t.llm->on_stop = how;
      AgentSpec spec;
      spec.limits.turn_timeout = std::chrono::hours(1);
      spec.context = context();
      const Agent agent = t.with_history(std::move(spec));
      const auto before = t.sent(agent);
      t.ask(agent, "four");
      t.llm->delta("a", "half of a summary");
      way.end(t, agent);
      t.settle();
      CHECK(t.result->outcome == way.outcome);
      CHECK(t.sent(agent) == before + ", four");
      CHECK(t.llm->open_calls().empty());
      CHECK(t.seen.count("compacts a") == 1);
      REQUIRE(t.seen.count("not-compacted a") == 1);
      CHECK(t.seen.index("not-compacted a") + 1 ==
            t.seen.index("ended a 4 " + std::string(to_string(way.outcome))));
      CHECK(t.result->usage.completion_tokens > 0);  // of what was received
      if (t.state("a") == AgentState::stopped) CHECK(agent.resume().took_effect());
      t.settle();
      t.ask(agent, "five");
      CHECK(t.summarises());
      t.end_summary(whole());
      t.answer("done");
      CHECK(t.result->outcome == TurnOutcome::completed);
      CHECK(t.llm->histories_were_valid());
    }
}

TEST_CASE("a late summary of an ended turn is discarded", "[turn][context][compaction][G7]") {
  Compacting t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.with_history();
  t.ask(agent, "four");
  CHECK(agent.stop().accepted());
  t.settle();
  CHECK(t.state("a") == AgentState::stopping);
  t.end_summary(whole());
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.seen.count("discarded a 4 answer") == 1);
  CHECK(t.seen.count("compacted") == 0);
  CHECK(t.sent(agent).find("sum:") == std::string::npos);
}

TEST_CASE("a summary that comes while the end of its turn is reported is discarded after that end",
          "[turn][context][compaction][G7]") {
  Compacting t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.with_history();
  t.ask(agent, "four");
  std::vector<std::string> order;
  const auto ended = t.tree->on<TurnEnded>([&](const TurnEnded&) { order.emplace_back("end"); });
  const auto late = t.tree->on<Discarded>([&](const Discarded&) { order.emplace_back("discarded"); });
  const auto summary = t.tree->on<CompactionChanged>([&](const CompactionChanged& change) {
    if (!change.ended) return;
    order.emplace_back("summary");
    FakeClient::finish(*t.llm->find("a"), whole());
  });
  CHECK(agent.interrupt().took_effect());
  t.settle();
  CHECK(order == std::vector<std::string>{"summary", "end", "discarded"});
}

TEST_CASE("an observer that ends the turn when a summary begins, or has ended, prevents what would follow",
          "[turn][context][compaction][G1][Q3]") {
  using End = std::function<void(Compacting&, const Agent&)>;
  const End ends[] = {
      [](Compacting&, const Agent& a) { static_cast<void>(a.stop()); },
      [](Compacting&, const Agent& a) { static_cast<void>(a.abort()); },
      [](Compacting&, const Agent& a) { static_cast<void>(a.interrupt()); },
      [](Compacting&, const Agent& a) { static_cast<void>(a.terminate()); },
      [](Compacting& t, const Agent&) { t.tree.reset(); },
  };
  for (const bool at_end : {false, true})
    for (const End& end : ends) {
      Compacting t;
      t.check_at_end = false;
      const Agent agent = t.with_history();
      const auto events = t.tree->on_event([&](const Event& event) {
        const auto* const change = event.get<CompactionChanged>();
        if (change && change->ended == at_end && t.tree) end(t, agent);
      });
      static_cast<void>(agent.send("four"));
      t.settle();
      if (at_end && t.tree && t.llm->find("a")) t.end_summary(whole());
      t.settle();
      CHECK(t.llm->calls() == (at_end ? 4U : 3U));
      CHECK(t.llm->open_calls().empty());
      if (!t.tree) continue;
      CHECK(t.tree->tasks().empty());
      CHECK_FALSE(t.tree->busy());
      CHECK(t.seen.count("compacts a") == 1);
      const bool used = t.seen.index("compacted a") != -1;
      CHECK(used == at_end);
      CHECK(t.seen.count("not-compacted a") == (used ? 0U : 1U));
      if (agent.exists()) CHECK(t.seen.count("ended a 4 ") == 1);
    }
}

TEST_CASE("a paused agent begins no summary", "[turn][context][compaction][pause]") {
  Compacting t;
  const Agent agent = t.with_history();
  const auto pauses = agent.on<TurnStarted>([&](const auto&) { CHECK(agent.pause().took_effect()); });
  CHECK(agent.send("four"));
  t.settle();
  CHECK(t.llm->calls() == 3);
  CHECK(t.seen.count("compacts") == 0);
  CHECK(agent.unpause().took_effect());
  t.settle();
  CHECK(t.summarises());
  CHECK(agent.pause().took_effect());
  t.end_summary(whole());
  CHECK(t.seen.count("compacted a 7") == 1);  // a result is a fact
  CHECK(t.llm->calls() == 4);
  CHECK(agent.unpause().took_effect());
  t.settle();
  CHECK(t.llm->calls() == 5);
  t.answer("done");
  CHECK(t.result->outcome == TurnOutcome::completed);
}

TEST_CASE("an observer that pauses the agent when a summary begins withholds the call",
          "[turn][context][compaction][pause]") {
  Compacting t;
  const Agent agent = t.with_history();
  bool pauses = true;
  const auto events = agent.on<CompactionChanged>([&](const auto& change) {
    if (!change.ended && std::exchange(pauses, false)) CHECK(agent.pause().took_effect());
  });
  static_cast<void>(agent.send("four"));
  t.settle();
  CHECK(t.llm->calls() == 3);
  CHECK(joined(t.seen.with("compacts")) == "compacts a");
  CHECK(t.seen.count("not-compacted a") == 1);
  CHECK(t.seen.count("at-rest a") == 1);
  CHECK(t.sent(agent).starts_with("one, "));
  CHECK(agent.unpause().took_effect());
  t.settle();
  CHECK(t.summarises());
  t.end_summary(whole());
  CHECK(t.sent(agent) == "sum:It was long., three, re three, four");
  t.answer("done");
  CHECK(t.result->outcome == TurnOutcome::completed);
}

TEST_CASE("a message that is steered during a summary waits for it", "[turn][context][compaction][steer]") {
  Compacting t;
  const Agent agent = t.with_history();
  t.ask(agent, "four");
  const SendResult steered = agent.steer("faster", {.when = SteerWhen::now});
  CHECK(steered.accepted());
  CHECK_FALSE(steered.ended_call);
  t.settle();
  CHECK(t.summarises());
  CHECK_FALSE(t.llm->find("a")->stop.stop_requested());
  t.end_summary(whole());
  CHECK(t.sent(agent) == "sum:It was long., three, re three, four, faster");
  CHECK(t.seen.count("cut a") == 0);
  CHECK(t.seen.count("steered a delivered 2") == 1);
  t.answer("done");
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(t.llm->histories_were_valid());
}

TEST_CASE("pinned turns and the last step are not summarised, finished steps are",
          "[turn][context][compaction][tools][G8]") {
  Compacting t;
  ChatMessage pinned = ChatMessage::user("remember" + long_text);
  pinned.pinned = true;
  AgentSpec spec;
  spec.context = context();
  spec.history = {pinned, ChatMessage::assistant("yes")};
  const Agent agent = t.agent(std::move(spec));
  t.ask(agent, "go" + long_text);
  for (int step = 1; !t.summarises(); ++step) {
    REQUIRE(step < 9);
    t.call({add_call("c" + std::to_string(step), step, 0)}, "step" + std::to_string(step) + long_text);
  }
  CHECK(t.to_summarise().find(R"("text":"step1)") != std::string::npos);
  CHECK(t.to_summarise().find(R"("calls":[{"id":"c1","tool":"add","arguments")") != std::string::npos);
  CHECK(t.to_summarise().find(R"({"role":"tool","text":"1","result_of":"c1"})") != std::string::npos);
  CHECK(t.to_summarise().find("remember") == std::string::npos);
  CHECK(t.to_summarise().find(R"("text":"go)") == std::string::npos);
  t.end_summary(whole());
  const std::string sent = t.sent(agent);
  CHECK(sent.starts_with("sum:It was long., remember, yes, go, "));
  CHECK(sent.find("step1") == std::string::npos);
  t.call({add_call("last", 1, 1)});
  t.answer("done");
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(t.llm->histories_were_valid());
  CHECK(is_valid_history(agent.conversation().value()));
  CHECK(agent.conversation().value().size() > agent.context().value().size());
}

TEST_CASE("more than a request may have is summarised in several, the oldest messages first",
          "[turn][context][compaction][G15]") {
  Compacting t;
  AgentSpec spec;
  spec.context = context();
  for (int i = 1; i <= 12; ++i) {
    const std::string name = i == 11 ? std::string(2000, 'y') : "q" + std::to_string(i) + ".";
    spec.history.push_back(ChatMessage::user(name + long_text));
    spec.history.push_back(ChatMessage::assistant("yes"));
  }
  const Agent agent = t.agent(std::move(spec));
  t.ask(agent, "four");
  std::vector<std::string> requests;
  while (t.summarises()) {
    CHECK(t.request().messages[0].content().size() + t.to_summarise().size() < 1000);
    requests.push_back(t.to_summarise());
    REQUIRE(requests.size() < 20);
    t.end_summary(whole());
  }
  REQUIRE(requests.size() > 2);
  CHECK(requests[0].find("q1.") != std::string::npos);
  const auto counts = [&](const std::string& text) {
    std::size_t found = 0;
    for (const std::string& request : requests) found += request.find(text) != std::string::npos ? 1U : 0U;
    return found;
  };
  for (int i = 1; i <= 10; ++i) CHECK(counts("\"q" + std::to_string(i) + ".x") == 1);
  CHECK(counts("yyy") == 1);
  CHECK(counts("bytes left out of the middle") == 1);
  CHECK(t.sent(agent).starts_with("sum:It was long., q12."));
}

TEST_CASE("a summary has a model, a client and limits of its own", "[turn][context][compaction]") {
  Compacting t;
  FakeClient other(*t.runtime);
  Compaction compact;
  compact.model = "small";
  compact.llm = &other;
  compact.max_tokens = 77;
  const Agent agent =
      t.with_history({.model = {.name = "large", .temperature = 0.5}, .context = context(compact)});
  t.ask(agent, "four");
  REQUIRE(other.calls() == 1);
  CHECK(other.call(0).request.model == "small");
  CHECK(other.call(0).request.max_tokens == 77U);
  CHECK_FALSE(other.call(0).request.temperature);
  other.answer("a", "short");
  t.settle();
  CHECK(t.request().model == "large");
  CHECK(t.sent(agent).starts_with("sum:short, "));

  const auto refused = t.tree->create({.context = context({.max_tokens = 0})});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::invalid_config);
  CHECK(refused.error().message.find("context.compact.max_tokens") != std::string::npos);
}

TEST_CASE("a summary counts in the usage of its turn and in the budgets, once",
          "[turn][context][compaction][budget]") {
  Compacting t;
  AgentSpec spec;
  spec.model.prices = {.prompt = 1e6, .completion = 1e6};
  spec.limits.budget = {.tokens = 100'000};
  spec.context = context();
  const Agent agent = t.with_history(std::move(spec));
  const Spent before = agent.spent().value();
  t.ask(agent, "four");
  CHECK(agent.spent().value().tokens_reserved > 0);
  t.end_summary(whole({100, 20, 120}));
  CHECK(agent.spent().value().tokens == before.tokens + 120);
  t.llm->delta("a", "done");
  FakeClient::finish(*t.llm->find("a"), whole({10, 5, 15}));
  t.settle();
  CHECK(t.result->usage.total_tokens == 135);
  CHECK(t.result->cost.value() == Approx(135));
  CHECK(agent.spent().value().tokens == before.tokens + 135);
  CHECK(agent.spent().value().tokens_reserved == 0);
}

TEST_CASE("no summary is made beyond its own budget or that of the agent",
          "[turn][context][compaction][budget][G15]") {
  SECTION("its own, before the first") {
    Compacting t;
    const Agent agent = t.with_history({.context = context({.budget_tokens = 500})});
    t.ask(agent, "four");
    CHECK_FALSE(t.summarises());
    CHECK(t.sent(agent) == "three, re three, four");
    CHECK(t.seen.count("compact") == 0);
  }
  SECTION("its own, after the first") {
    Compacting t;
    const Agent agent = t.with_history({.context = context({.max_tokens = 200, .budget_tokens = 1500})});
    t.ask(agent, "four" + long_text);
    CHECK(t.summarises());
    t.end_summary(whole({1000, 100, 1100}));
    t.answer("re four" + long_text);
    t.say(agent, "five");
    t.say(agent, "six");
    t.ask(agent, "seven");
    CHECK_FALSE(t.summarises());
    CHECK(t.sent(agent) == "sum:It was long., six, re six, seven");
  }
  SECTION("its own, which covers only a part of a summary") {
    Compacting t;
    const Agent agent = t.with_history({.context = context({.budget_tokens = 1000})});
    t.ask(agent, "four");
    CHECK_FALSE(t.summarises());
    CHECK(t.logged("Compaction::budget_tokens does not cover the summary"));
  }
  SECTION("of the agent, which covers only a part of a summary") {
    Compacting t;
    const Agent agent = t.with_history({.context = context({.max_tokens = 400})});
    CHECK(agent.grant({.tokens = 1200}));
    t.ask(agent, "four");
    CHECK_FALSE(t.summarises());
    CHECK(agent.spent().value().tokens_reserved > 0);  // for the call of the step
    t.answer("done");
    CHECK(t.result->outcome == TurnOutcome::completed);
    CHECK(agent.spent().value().tokens_reserved == 0);
  }
  SECTION("of the agent") {
    Compacting t;
    const Agent agent = t.with_history();
    CHECK(agent.grant({.tokens = 700}));
    t.ask(agent, "four");
    CHECK_FALSE(t.summarises());
    CHECK(t.sent(agent) == "three, re three, four");
    t.answer("done");
    CHECK(t.result->outcome == TurnOutcome::completed);
  }
}

TEST_CASE("the conversation keeps what was summarised up to its limit", "[turn][context][compaction]") {
  for (const std::size_t limit : {std::size_t{0}, std::size_t{400}, std::size_t{100'000}}) {
    CAPTURE(limit);
    Compacting t;
    AgentSpec spec;
    spec.system_prompt = "Be brief.";
    spec.context = context();
    spec.context.archive_bytes = limit;
    const Agent agent = t.with_history(std::move(spec));
    t.ask(agent, "four");
    t.end_summary(whole());
    const std::string sent = t.sent(agent);
    CHECK(sent == "Be brief., sum:It was long., three, re three, four");
    const auto conversation = agent.conversation().value();
    const std::size_t removed = limit == 0 ? 4 : limit == 400 ? 2 : 0;
    CHECK(conversation.size() == 8 - removed);
    CHECK(is_valid_history(conversation));
    CHECK(t.seen.count(removed == 0 ? "compacted a 8" : "compacted a 0") == 1);
    t.call({add_call("c", 2, 3)});
    t.answer("done");
    CHECK(t.result->outcome == TurnOutcome::completed);
    CHECK(t.history().ends_with("four, assistant:[add c], tool:c=5, assistant:done"));
    CHECK(t.sent(agent) == sent + ", , 5, done");
    CHECK(t.llm->histories_were_valid());
  }
}

TEST_CASE("the beginning of a turn is removed neither with a pinned turn nor while it is sent",
          "[turn][context][compaction]") {
  Compacting t;
  ChatMessage pinned = ChatMessage::user("remember");
  pinned.pinned = true;
  AgentSpec spec;
  spec.context = context();
  spec.context.archive_bytes = 0;
  spec.history = {pinned, ChatMessage::assistant("yes")};
  const Agent agent = t.with_history(std::move(spec));
  t.ask(agent, "four");
  t.end_summary(whole());
  CHECK(t.sent(agent) == "sum:It was long., remember, yes, three, re three, four");
  CHECK(agent.conversation().value().size() == 5);
  t.llm->fail("a");
  t.settle();
  CHECK(agent.conversation().value().back().interruption == Interruption::failed);
  CHECK(is_valid_history(agent.conversation().value()));
}

TEST_CASE("a TokenCounter that throws leaves the conversation as it is", "[turn][context][compaction]") {
  Compacting t;
  bool throws = false;
  AgentSpec spec;
  spec.context = context();
  spec.context.count_tokens = [&](std::string_view text) {
    if (throws) throw std::runtime_error("no count");
    return text.size();
  };
  const Agent agent = t.with_history(std::move(spec));
  throws = true;
  t.ask(agent, "four");
  CHECK_FALSE(t.summarises());
  CHECK(t.request().messages.size() == 7);
  t.answer("re four" + long_text);
  throws = false;
  t.ask(agent, "five");
  CHECK(t.summarises());
  throws = true;
  t.end_summary(whole());
  CHECK(t.sent(agent).starts_with("sum:It was long., "));
}

TEST_CASE("a context with a summary can be the history of another agent", "[turn][context][compaction]") {
  Compacting t;
  const Agent agent = t.with_history();
  t.ask(agent, "four");
  t.end_summary(whole());
  t.answer("done");
  AgentSpec spec;
  spec.context = context();
  spec.history = agent.context().value();
  const Agent other = t.root("b", std::move(spec));
  CHECK(other.conversation().value() == agent.context().value());
  t.ask(other, "more");
  CHECK(t.request().messages.size() == 6);
  CHECK(t.llm->histories_were_valid());
}

TEST_CASE("the tokens that a summary leaves are those of the next request", "[turn][context][compaction]") {
  Compacting t;
  const Agent agent = t.with_history();
  std::size_t after = 0;
  const auto ends = agent.on<CompactionChanged>([&](const auto& change) {
    if (change.ended) after = change.tokens_after;
  });
  const auto sent = [&] { return detail::context::request_tokens(t.request(), bytes); };
  t.ask(agent, "four" + long_text);
  t.end_summary(whole(), "the first");
  CHECK(after == sent());
  t.answer("re four" + long_text);
  t.say(agent, "five");
  t.ask(agent, "six");
  REQUIRE(t.summarises());
  t.end_summary(whole(), "the second");
  REQUIRE_FALSE(t.summarises());
  CHECK(after == sent());
}

TEST_CASE("a summary may fill the request to its limit", "[turn][context][compaction][G15]") {
  const auto tokens_with = [](std::size_t length) {  // of the request; 0: the summary is not used
    Compacting t;
    const Agent agent = t.with_history();
    t.ask(agent, "four");
    REQUIRE(t.summarises());
    t.end_summary(whole(), std::string(length, 's'));
    const bool used = t.sent(agent).starts_with("sum:");
    return used ? detail::context::request_tokens(t.request(), bytes) : 0;
  };
  const std::size_t one = tokens_with(1);
  REQUIRE(one != 0);
  const std::size_t most = 1 + 1000 - one;
  CHECK(tokens_with(most) == 1000);
  CHECK(tokens_with(most + 1) == 0);
}

TEST_CASE("a summary may use the last token of its budget", "[turn][context][compaction][budget][G15]") {
  std::uint64_t needed = 0;
  {
    Compacting t;
    t.ask(t.with_history(), "four");
    REQUIRE(t.summarises());
    needed = detail::context::request_tokens(t.request(), bytes) + t.request().max_tokens.value();
  }
  for (const std::uint64_t missing : {0U, 1U}) {
    CAPTURE(missing);
    Compacting t;
    t.ask(t.with_history({.context = context({.budget_tokens = needed - missing})}), "four");
    CHECK(t.summarises() == (missing == 0));
  }
}

TEST_CASE("a refused answer stays before what was steered, also when a summary makes the history shorter",
          "[turn][context][compaction][steer]") {
  Compacting t;
  AgentSpec spec;
  spec.context = context();
  spec.context.archive_bytes = 0;
  spec.model.response_format = {.kind = ResponseFormat::Kind::json_object};
  for (const char* const name : {"one", "two"}) {
    spec.history.push_back(ChatMessage::user(name + long_text));
    spec.history.push_back(ChatMessage::assistant("re " + (name + long_text)));
  }
  const Agent agent = t.agent(std::move(spec));
  t.ask(agent, "three");
  CHECK(agent.steer("and quickly").reason == Errc::none);
  const std::string refused(500, 'n');
  t.answer(refused);
  REQUIRE(t.summarises());
  t.end_summary(whole());
  REQUIRE_FALSE(t.summarises());
  CHECK(agent.conversation().value().size() == 2);  // the first two turns were removed
  const std::vector<ChatMessage>& messages = t.request().messages;
  REQUIRE(messages.size() == 5);
  CHECK(messages[0].summary);
  CHECK(messages[1].content() == "three");
  CHECK(messages[2].content() == refused);
  CHECK(messages[3].role == Role::user);
  CHECK(messages[4].content() == "and quickly");
  CHECK(t.request().stable_messages == 2U);
  t.answer("{}");
  CHECK(t.result->outcome == TurnOutcome::completed);
}
