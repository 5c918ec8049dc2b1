// Generators: random trees, what their agents are doing (a model call, tools, background tasks, questions,
// work of a child), what earlier verbs have left (paused, held, stopped), how full their mailboxes are and
// with what (normal and urgent messages), where and on which thread a verb is called, and what happens before
// and after it.
#pragma once

#include "support/drive/tree_fixture.hpp"

#include <cstddef>
#include <ostream>
#include <vector>

#include <rapidcheck.h>

namespace property_test {

// What the model of an agent answers first.
enum class Work {
  words,
  tool,      // a call of a tool that runs until the test ends it
  task,      // a background task that runs until it is stopped
  question,  // a call that asks a person
  child,     // a call that a child does; without a child that has a model: as tool
};

// What an earlier verb has left.
enum class Was { open, paused, held, stopped };

// One agent of a scene.
struct Member {
  int up = 0;            // 0: a root; n: its parent is the n-th agent before it, counted round
  bool handler = false;  // handles its messages in the host's code instead of a model call
  bool asked = false;    // had a message: a model agent waits for its answer now
  int deltas = 0;        // pieces of that answer that it has already
  int queued = 0;        // messages that wait in its mailbox
  agentcore::test::OnStop on_stop = agentcore::test::OnStop::post;  // how its model takes a stop
  Work work = Work::words;                                          // of a model agent that was asked
  Was was = Was::open;                                              // since before the messages that wait
  bool urgent = false;                                              // every second one of them is urgent
};

// Where the host's code is when it calls the verb.
enum class Place {
  outside,  // between two polls
  thread,   // the same, on another thread
  handler,  // in the handler of an agent
  delta,    // in the observer of a piece of an agent's answer
  answer,   // in the observer of the end of an agent's turn, while that agent is `processing`
  failure,  // in the observer of the end of a turn whose model call failed
  abort,    // in the observer of the end of a turn that was aborted
};

// Something that happens before or after the verb.
enum class Act { small_poll, poll, delta, answer, fail, send, work, result, reply, unpause, release };
struct Step {
  Act act = Act::poll;
  std::size_t agent = 0;  // counted round
};

struct Scene {
  std::vector<Member> members;
  std::size_t target = 0;  // of the verb; counted round
  Place place = Place::outside;
  std::size_t host = 0;  // the agent of `place`; counted round
  std::vector<Step> before;
  std::vector<Step> after;
  bool grace_over = false;  // operations that ignore their stop are abandoned before they end
};

inline std::ostream& operator<<(std::ostream& out, const Step& step) {
  static const char* const names[] = {"small_poll", "poll",   "delta", "answer",  "fail",   "send",
                                      "work",       "result", "reply", "unpause", "release"};
  return out << names[static_cast<int>(step.act)] << "(" << step.agent << ")";
}

inline std::ostream& operator<<(std::ostream& out, const Scene& scene) {
  static const char* const places[] = {"outside", "thread", "handler", "delta", "answer", "failure", "abort"};
  static const char* const hearing[] = {"post", "at_once", "deaf"};
  static const char* const works[] = {"words", "tool", "task", "question", "child"};
  static const char* const left[] = {"open", "paused", "held", "stopped"};
  out << "target " << scene.target << ", " << places[static_cast<int>(scene.place)] << " of " << scene.host
      << (scene.grace_over ? ", grace over" : "");
  for (const Member& m : scene.members)
    out << "\n  up " << m.up << (m.handler ? " handler" : " model") << (m.asked ? " asked" : "") << " deltas "
        << m.deltas << " queued " << m.queued << (m.urgent ? " urgent " : " ")
        << hearing[static_cast<int>(m.on_stop)] << " " << works[static_cast<int>(m.work)] << " "
        << left[static_cast<int>(m.was)];
  out << "\n  before:";
  for (const Step& step : scene.before) out << " " << step;
  out << "\n  after:";
  for (const Step& step : scene.after) out << " " << step;
  return out;
}

inline rc::Gen<Member> any_member() {
  using namespace rc;
  using agentcore::test::OnStop;
  const auto up = gen::weightedOneOf<int>({{1, gen::just(0)}, {5, gen::just(1)}, {10, gen::inRange(1, 41)}});
  const auto queued = gen::weightedOneOf<int>({{2, gen::just(0)}, {3, gen::inRange(0, 7)}});
  return gen::build<Member>(
      gen::set(&Member::up, up),
      gen::set(&Member::handler, gen::weightedElement<bool>({{3, false}, {1, true}})),
      gen::set(&Member::asked), gen::set(&Member::deltas, gen::inRange(0, 4)),
      gen::set(&Member::queued, queued),
      gen::set(&Member::on_stop, gen::element(OnStop::post, OnStop::at_once, OnStop::deaf)),
      gen::set(
          &Member::work,
          gen::weightedElement<Work>(
              {{4, Work::words}, {1, Work::tool}, {1, Work::task}, {1, Work::question}, {2, Work::child}})),
      gen::set(&Member::was, gen::weightedElement<Was>(
                                 {{6, Was::open}, {1, Was::paused}, {1, Was::held}, {1, Was::stopped}})),
      gen::set(&Member::urgent));
}

inline rc::Gen<Step> any_step() {
  using namespace rc;
  return gen::build<Step>(
      gen::set(&Step::act,
               gen::element(Act::small_poll, Act::poll, Act::delta, Act::answer, Act::fail, Act::send,
                            Act::work, Act::result, Act::reply, Act::unpause, Act::release)),
      gen::set(&Step::agent, gen::inRange<std::size_t>(0, 40)));
}

// Lists whose length is between 0 and `most`, whatever rapidcheck's size is, of elements of full size.
template <typename T>
rc::Gen<std::vector<T>> up_to(int most, rc::Gen<T> element) {
  return rc::gen::resize(most, rc::gen::container<std::vector<T>>(rc::gen::resize(100, std::move(element))));
}

// 1 to 40 agents.
inline rc::Gen<Scene> any_scene() {
  using namespace rc;
  const auto place = gen::weightedElement<Place>({{4, Place::outside},
                                                  {2, Place::thread},
                                                  {2, Place::handler},
                                                  {1, Place::delta},
                                                  {2, Place::answer},
                                                  {1, Place::failure},
                                                  {1, Place::abort}});
  const auto target = gen::weightedOneOf<std::size_t>(
      {{2, gen::just<std::size_t>(0)}, {3, gen::inRange<std::size_t>(0, 40)}});
  return gen::resize(
      100, gen::build<Scene>(gen::set(&Scene::members, gen::nonEmpty(up_to(40, any_member()))),
                             gen::set(&Scene::target, target), gen::set(&Scene::place, place),
                             gen::set(&Scene::host, gen::inRange<std::size_t>(0, 40)),
                             gen::set(&Scene::before, up_to(12, any_step())),
                             gen::set(&Scene::after, up_to(20, any_step())), gen::set(&Scene::grace_over)));
}

}  // namespace property_test

namespace rc {

template <>
struct Arbitrary<property_test::Scene> {
  static Gen<property_test::Scene> arbitrary() { return property_test::any_scene(); }
};

}  // namespace rc
