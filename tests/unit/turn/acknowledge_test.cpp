// Acknowledge: how far a person has seen an answer decides what is kept of it.
#include "support/drive/tool_turn.hpp"

#include <agentcore/conversation.hpp>
#include <agentcore/testing/references.hpp>

#include <string>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// An agent in the middle of an answer.
struct Speaking : ToolTurn {
  MessageId message;
  Agent speaker;

  explicit Speaking(PartialAnswers kept, std::string text = "caf\xC3\xA9 au lait") {
    AgentSpec spec;
    spec.partial_answers = kept;
    speaker = agent(std::move(spec));
    message = speaker.send("question").id;
    settle();
    llm->delta("a", text);
  }

  Errc seen(std::size_t bytes, std::uint32_t call = 1) {
    return speaker.acknowledge({message, call, bytes}).code();
  }
  std::string kept() {
    CHECK(speaker.interrupt().took_effect());
    settle();
    return result->partial;
  }
};

}  // namespace

TEST_CASE("exactly what was acknowledged is kept, rounded down to a whole character",
          "[turn][partial][acknowledge]") {
  for (const PartialAnswers policy : {PartialAnswers::keep, PartialAnswers::keep_acknowledged})
    for (const auto& [bytes, expected] :
         {std::pair(0, ""), std::pair(3, "caf"), std::pair(4, "caf"), std::pair(5, "caf\xC3\xA9"),
          std::pair(100, "caf\xC3\xA9 au lait")}) {
      Speaking t(policy);
      CHECK(t.seen(static_cast<std::size_t>(bytes)) == Errc::none);
      CHECK(t.kept() == expected);
    }
}

TEST_CASE("without an acknowledgement all is kept, or nothing, by the spec", "[turn][partial][acknowledge]") {
  CHECK(Speaking(PartialAnswers::keep).kept() == "caf\xC3\xA9 au lait");
  CHECK(Speaking(PartialAnswers::keep_acknowledged).kept().empty());
}

TEST_CASE("the greatest acknowledgement counts, whatever the order", "[turn][partial][acknowledge]") {
  Speaking t(PartialAnswers::keep);
  for (const std::size_t bytes : {1U, 3U, 2U}) CHECK(t.seen(bytes) == Errc::none);
  CHECK(t.kept() == "caf");
}

TEST_CASE("an acknowledgement counts for its model call alone", "[turn][partial][acknowledge]") {
  Speaking t(PartialAnswers::keep);
  CHECK(t.seen(3) == Errc::none);
  t.call({add_call("1", 1, 2)});
  t.llm->delta("a", "three");
  CHECK(t.seen(2) == Errc::none);  // late: of the first call
  SECTION("the second, before it had begun") {
    CHECK(t.seen(1, 3) == Errc::none);
    t.call({add_call("2", 1, 2)});
    t.llm->delta("a", "four");
    CHECK(t.kept() == "four");
    return;
  }
  SECTION("nothing of the second") {
    CHECK(t.kept() == "three");
  }
  SECTION("a part of the second") {
    CHECK(t.seen(4, 2) == Errc::none);
    CHECK(t.seen(3, 1) == Errc::none);
    CHECK(t.kept() == "thre");
  }
}

TEST_CASE("a message that was steered keeps what was acknowledged before", "[turn][partial][acknowledge]") {
  Speaking t(PartialAnswers::keep_acknowledged);
  CHECK(t.seen(3) == Errc::none);
  CHECK(t.speaker.steer("shorter", {.when = SteerWhen::now}).accepted());
  t.settle();
  t.answer("tea");
  CHECK(t.history() == "user:question, assistant:caf!steered, user+:shorter, assistant:tea");
}

TEST_CASE("an acknowledgement is refused with the reason", "[turn][partial][acknowledge]") {
  Speaking t(PartialAnswers::keep);
  CHECK(t.seen(3, 0) == Errc::invalid_config);
  CHECK(Agent().acknowledge({t.message, 1, 3}).code() == Errc::agent_not_found);
  CHECK(t.speaker.acknowledge({{}, 1, 3}).code() == Errc::turn_over);
  const MessageId waiting = t.speaker.send("next").id;
  CHECK(t.speaker.acknowledge({waiting, 1, 3}).code() == Errc::turn_over);
  CHECK(t.root("b").acknowledge({t.message, 1, 3}).code() == Errc::turn_over);
  CHECK(t.speaker.stop().took_effect());
  CHECK(t.seen(3) == Errc::turn_over);  // before the loop has done anything
  t.settle();
  CHECK(t.result->partial == "caf\xC3\xA9 au lait");
  CHECK(t.seen(3) == Errc::turn_over);
  CHECK(t.speaker.terminate().took_effect());
  t.settle();
  CHECK(t.seen(3) == Errc::agent_not_found);
  t.runtime.reset();
  CHECK(t.seen(3) == Errc::runtime_gone);
}

TEST_CASE("nothing of an acknowledgement is left when its agent was deleted",
          "[turn][partial][acknowledge][G13]") {
  Speaking t(PartialAnswers::keep);
  CHECK(t.seen(3) == Errc::none);
  // Its slot, its id and its name; the message, the call and the acknowledgement.
  CHECK(testing::count_references(*t.tree, "a") == 6);
  CHECK(t.speaker.terminate().took_effect());
  t.settle();
  CHECK(testing::count_references(*t.tree, "a") == 0);
}
