// Every verb at every suspension point of a parent and a child that answer in words.
#include "support/drive/suspension_story.hpp"
#include "support/sanitized.hpp"

#include <chrono>
#include <cstddef>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// A parent and the child that it makes while it answers: a turn to its end, an abort, a stop of a client that
// ignores it, late results, a resume, one more turn, the delete.
class Story : public SuspensionStory {
 public:
  using SuspensionStory::SuspensionStory;

 protected:
  PartialAnswers kept_ = PartialAnswers::drop;

 private:
  void tell() override {
    AgentSpec spec;
    spec.system_prompt = "You are a parent.";
    spec.limits.turn_timeout = time_of_a_turn;
    spec.partial_answers = kept_;
    create_parent(std::move(spec));
    turn_to_its_end();
    turn_that_is_aborted();
    stop_that_the_client_ignores();
    resume_and_delete();
  }

  void on_event(const Event& event) override {
    if (const auto* delta = event.get<DeltaReceived>(); delta && delta->agent == parent_) make_child();
  }

  void make_child() {
    if (child_.exists() || !tree_) return;
    AgentSpec spec;
    spec.id = "child";
    if (const auto made = parent_.create_child(std::move(spec))) child_ = *made;
    static_cast<void>(child_.send("of the parent"));
  }

  // Every open call delivers a word, and ends if it has to.
  void deliver_words(bool end_calls) {
    for (FakeClient::Call* const call : client_.open_calls()) {
      deliver(*call, "word ");
      if (end_calls) end(*call, ChatOutcome::completed(FinishReason::complete));
    }
    poll();
  }

  void turn_to_its_end() {
    send(parent_, "first");
    send(parent_, "second");
    poll();
    deliver_words(false);
    deliver_words(true);  // the parent has its answer; its second question and the child's first are open
    deliver_words(true);
    deliver_words(true);
  }

  void turn_that_is_aborted() {
    send(parent_, "third");
    send(child_, "third");
    poll();
    deliver_words(false);
    static_cast<void>(parent_.abort({.reason = "changed my mind"}));
    point();
    poll();
    client_.cancel_stopped();
    poll();
    deliver_words(true);
  }

  void stop_that_the_client_ignores() {
    send(parent_, "fourth");
    send(child_, "fourth");
    send(child_, "fifth");
    poll();
    deliver_words(false);
    stop_parent();
    poll();
    deliver_words(false);  // late
    // One call is completed late, the other exceeds the grace period.
    if (FakeClient::Call* const call = oldest_call()) FakeClient::complete(*call);
    poll();
    runtime_.run_for(std::chrono::seconds(6));
    point();
    deliver_words(true);
  }

  void resume_and_delete() {
    resume_parent();
    point();
    poll();
    send(parent_, "sixth");
    send(child_, "sixth");
    poll();
    deliver_words(false);
    terminate_parent();
    poll();
    client_.cancel_stopped();
    poll();
    point();
  }
};

// The same with parents that keep what was delivered of their answers.
struct KeepingStory : Story {
  KeepingStory(std::size_t inject_at, Injections injections) : Story(inject_at, injections) {
    kept_ = PartialAnswers::keep;
  }
};

// As counted when the story was last changed. If there are fewer, a suspension point is no longer tested.
constexpr std::size_t recorded_points = 183;

}  // namespace

TEST_CASE("every verb at every suspension point", "[stop][G1][G4][G7][G8][G10][G13][Q3]") {
  Story dry(0, Injection::none);
  CHECK(dry.run() == "");
  const std::size_t points = dry.points();
  INFO(points << " points");
  CHECK(points >= recorded_points);
  CHECK(dry.audit().turns_aborted == 1);
  CHECK(dry.audit().abandoned == 1);
  CHECK(dry.audit().dropped == 1);
  CHECK(dry.audit().settled == 4);
  CHECK(dry.audit().deleted == 2);

  CHECK(failures_of<Story>(every_verb, points) == 0);
}

TEST_CASE("every verb at every suspension point of agents that keep partial answers",
          "[stop][partial][G7][G8][G10][G13]") {
  KeepingStory dry(0, Injection::none);
  CHECK(dry.run() == "");
  CHECK(failures_of<KeepingStory>(every_verb, dry.points()) == 0);
}

TEST_CASE("pairs of verbs at suspension points", "[stop][G1][G4][G7][G8][G10]") {
  Story dry(0, Injection::none);
  CHECK(dry.run() == "");
#ifdef SANITIZED
  constexpr std::size_t step = 120;
#else
  constexpr std::size_t step = 16;
#endif
  CHECK(failures_of_pairs<Story>(lasting_verbs, every_verb, dry.points(), step) == 0);
  CHECK(failures_of_pairs<KeepingStory>(lasting_verbs, every_verb, dry.points(), 2 * step) == 0);
}
