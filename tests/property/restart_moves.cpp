#include "property/restart_moves.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <sstream>
#include <utility>

namespace agentcore::test {
namespace {

std::string name_of(int number) {
  return std::string(1, static_cast<char>('a' + number));
}

std::string told(const VerbResult& result) {
  return std::string(to_string(result.status)) + ' ' + std::string(to_string(result.reason));
}
std::string told(const Result<void>& result) {
  return std::string(to_string(result.code()));
}
template <typename T>
std::string told(const Result<T>& result) {
  return result ? "done" : std::string(to_string(result.error().code));
}

struct RestartStep {
  const char* name;
  std::function<std::string(RestartWorld&, const Agent&, const RestartMove&)> act;
};

constexpr std::array scripts{"say",  "never",    "safe",       "careful", "both", "question",      "much",
                             "fail", "loop",     "unreadable", "finish",  "task", "delegate",      "absent",
                             "json", "question", "careful",    "both",    "say",  "delegate_never"};

const char* script_at(const RestartMove& move) {
  return scripts[static_cast<std::size_t>(move.other) % scripts.size()];
}

OpenQuestion question_of(RestartWorld& world, const RestartMove& move) {
  const auto open = world.questions();
  return open.empty() ? OpenQuestion() : open[static_cast<std::size_t>(move.other) % open.size()];
}

MessageId waiting_of(const Agent& agent, const RestartMove& move) {
  const auto queued = agent.queued();
  if (!queued || queued->empty()) return {};
  return (*queued)[static_cast<std::size_t>(move.other) % queued->size()].id;
}

std::uint64_t turn_of(const Agent& agent, const RestartMove& move) {
  const auto turns = agent.turns();
  if (!turns || turns->empty()) return 1;
  return (*turns)[static_cast<std::size_t>(move.other) % turns->size()].turn;
}

StopWhen when_of(const RestartMove& move) {
  return std::array{StopWhen::now, StopWhen::after_step,
                    StopWhen::after_turn}[static_cast<std::size_t>(move.other % 3)];
}

const std::vector<RestartStep> restart_steps{
    {"create a root",
     [](RestartWorld& w, const Agent&, const RestartMove& m) {
       AgentSpec spec = spec_of(m.other % spec_kinds);
       spec.id = name_of(m.agent);
       return told(w.tree().create(std::move(spec)));
     }},
    {"create a child",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       AgentSpec spec = spec_of(m.other % spec_kinds);
       spec.id = name_of((m.agent + 1 + m.other) % 4);
       static_cast<void>(w);
       return told(a.create_child(std::move(spec)));
     }},
    {"create twins of a shared spec",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       auto spec = std::make_shared<AgentSpec>(spec_of(m.other % spec_kinds));
       static_cast<void>(w);
       if (a.children() && a.children()->size() > 3) return std::string("enough");
       const std::string first = told(a.create_child(spec));
       return first + told(a.create_child(spec));
     }},
    {"send", [](RestartWorld& w, const Agent& a,
                const RestartMove& m) { return w.note(a.send(w.text(script_at(m)))); }},
    {"send", [](RestartWorld& w, const Agent& a,
                const RestartMove& m) { return w.note(a.send(w.text(script_at(m)))); }},
    {"send", [](RestartWorld& w, const Agent& a,
                const RestartMove& m) { return w.note(a.send(w.text(script_at(m)))); }},
    {"send three",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       std::string all;
       for (int i = 0; i < 3; ++i) all += w.note(a.send(w.text(script_at({m.what, m.agent, m.other + i}))));
       return all;
     }},
    {"send urgent",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       return w.note(a.send({.text = w.text(script_at(m)),
                             .sender = "s",
                             .parts = {{.url = "https://example.com/a.png"}},
                             .kind = "k",
                             .priority = MessagePriority::urgent}));
     }},
    {"send with a deadline",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       return w.note(
           a.send(w.text(script_at(m)), {.deadline = w.clock.now() + std::chrono::hours(1 + m.other % 3)}));
     }},
    {"simulate", [](RestartWorld& w, const Agent& a,
                    const RestartMove&) { return w.note(a.simulate(w.text("simulated"))); }},
    {"steer",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       return w.note(a.steer(w.text(script_at(m)),
                             {.fallback = m.other % 2 ? SteerFallback::queue : SteerFallback::give_back}));
     }},
    {"edit a queued message",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       return told(a.edit_queued(waiting_of(a, m), {.text = w.text(script_at(m)), .kind = "edited"}));
     }},
    {"remove a queued message", [](RestartWorld&, const Agent& a,
                                   const RestartMove& m) { return told(a.remove_queued(waiting_of(a, m))); }},
    {"clear the queue",
     [](RestartWorld&, const Agent& a, const RestartMove&) { return told(a.drop_queue()); }},
    {"approve",
     [](RestartWorld& w, const Agent&, const RestartMove& m) {
       constexpr std::array scopes{GrantScope::once, GrantScope::agent, GrantScope::subtree};
       return told(w.tree().approve(question_of(w, m).id, scopes[static_cast<std::size_t>(m.other % 3)]));
     }},
    {"approve",
     [](RestartWorld& w, const Agent&, const RestartMove& m) {
       return told(w.tree().approve(question_of(w, m).id, GrantScope::subtree));
     }},
    {"answer",
     [](RestartWorld& w, const Agent&, const RestartMove& m) {
       const OpenQuestion question = question_of(w, m);
       return told(question.kind == QuestionKind::approval ? w.tree().approve(question.id)
                                                           : w.tree().answer(question.id, "an answer"));
     }},
    {"decline", [](RestartWorld& w, const Agent&,
                   const RestartMove& m) { return told(w.tree().decline(question_of(w, m).id, "no")); }},
    {"revoke",
     [](RestartWorld& w, const Agent&, const RestartMove& m) {
       const auto grants = w.tree().grants();
       if (grants.empty()) return std::string("none");
       return told(w.tree().revoke(grants[static_cast<std::size_t>(m.other) % grants.size()].id));
     }},
    {"stop",
     [](RestartWorld&, const Agent& a, const RestartMove& m) {
       return told(a.stop(
           {.scope = m.other % 4 != 0 ? Scope::subtree : Scope::agent, .reason = "r", .when = when_of(m)}));
     }},
    {"stop below", [](RestartWorld&, const Agent& a,
                      const RestartMove&) { return told(a.stop({.scope = Scope::descendants})); }},
    {"stop all",
     [](RestartWorld& w, const Agent&, const RestartMove& m) {
       return m.other % 3 == 0 ? told(w.tree().stop_all()) : std::string("not now");
     }},
    {"resume",
     [](RestartWorld&, const Agent& a, const RestartMove& m) {
       return told(a.resume({.scope = m.other % 4 != 0 ? Scope::subtree : Scope::agent}));
     }},
    {"resume", [](RestartWorld&, const Agent& a, const RestartMove&) { return told(a.resume()); }},
    {"resume all",
     [](RestartWorld& w, const Agent&, const RestartMove&) { return told(w.tree().resume_all()); }},
    {"pause", [](RestartWorld&, const Agent& a, const RestartMove&) { return told(a.pause()); }},
    {"unpause", [](RestartWorld&, const Agent& a, const RestartMove&) { return told(a.unpause()); }},
    {"pause all",
     [](RestartWorld& w, const Agent&, const RestartMove& m) {
       return m.other % 3 == 0 ? told(w.tree().pause_all()) : std::string("not now");
     }},
    {"unpause all",
     [](RestartWorld& w, const Agent&, const RestartMove&) { return told(w.tree().unpause_all()); }},
    {"interrupt",
     [](RestartWorld&, const Agent& a, const RestartMove& m) {
       InterruptOptions options;
       options.scope = m.other % 2 ? Scope::subtree : Scope::agent;
       options.queue = std::array{QueueAction::deliver, QueueAction::hold,
                                  QueueAction::drop}[static_cast<std::size_t>(m.other % 3)];
       return told(a.interrupt(options));
     }},
    {"release the queue",
     [](RestartWorld&, const Agent& a, const RestartMove&) { return told(a.release_queue()); }},
    {"terminate",
     [](RestartWorld&, const Agent& a, const RestartMove& m) {
       return told(
           a.terminate({.when = when_of(m), .scope = m.other % 5 ? Scope::subtree : Scope::with_forks}));
     }},
    {"fork",
     [](RestartWorld&, const Agent& a, const RestartMove& m) {
       ForkOptions options{.id = name_of((m.agent + 1 + m.other) % 4)};
       if (m.other % 2) options.at = turn_of(a, m);
       return told(a.fork(std::move(options)));
     }},
    {"rewind",
     [](RestartWorld&, const Agent& a, const RestartMove& m) { return told(a.rewind(turn_of(a, m))); }},
    {"regenerate",
     [](RestartWorld& w, const Agent& a, const RestartMove&) { return w.note(a.regenerate()); }},
    {"truncate the answer",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       return told(a.truncate_answer(w.message(static_cast<std::size_t>(m.other)),
                                     static_cast<std::size_t>(m.other % 12)));
     }},
    {"grant",
     [](RestartWorld&, const Agent& a, const RestartMove& m) {
       return told(a.grant({.turns = static_cast<std::uint64_t>(m.other % 5 + 1)}));
     }},
    {"grant a subtree",
     [](RestartWorld&, const Agent& a, const RestartMove& m) {
       return told(a.grant({.tokens = static_cast<std::uint64_t>(m.other * 100 + 500)}, Scope::subtree));
     }},
    {"set the system prompt", [](RestartWorld& w, const Agent& a,
                                 const RestartMove&) { return told(a.set_system_prompt(w.text("prompt"))); }},
    {"set the model",
     [](RestartWorld& w, const Agent& a, const RestartMove&) { return told(a.set_model(w.text("model"))); }},
    {"cancel a call", [](RestartWorld& w, const Agent& a,
                         const RestartMove& m) { return told(a.cancel_call(question_of(w, m).call_id)); }},
    {"complete a call",
     [](RestartWorld& w, const Agent& a, const RestartMove& m) {
       return told(a.complete_call(question_of(w, m).call_id, ToolResult::done("by hand")));
     }},
    {"an hour passes",
     [](RestartWorld& w, const Agent&, const RestartMove&) {
       w.clock.advance(std::chrono::hours(1));
       return std::string();
     }},
    {"poll until at rest",
     [](RestartWorld& w, const Agent&, const RestartMove&) {
       w.settle();
       return std::string();
     }},
};

Agent agent_of(RestartWorld& world, const RestartMove& move) {
  return world.find(name_of(move.agent));
}

}  // namespace

std::string name_of_step(const RestartMove& move) {
  return restart_steps[move.what].name;
}

std::string script_of(const RestartMove& move) {
  return script_at(move);
}

std::string written(const RestartMove& move) {
  return std::string(restart_steps[move.what].name) + "(" + name_of(move.agent) + ", " +
         std::to_string(move.other) + ")";
}

// For rapidcheck.
void showValue(const RestartMove& move, std::ostream& out) {
  out << written(move);
}

std::string act(RestartWorld& world, const RestartMove& move) {
  world.log.push_back("> " + written(move));
  return restart_steps[move.what].act(world, agent_of(world, move), move);
}

rc::Gen<std::vector<RestartMove>> any_moves() {
  const auto move = rc::gen::build<RestartMove>(
      rc::gen::set(&RestartMove::what, rc::gen::inRange<std::size_t>(0, restart_steps.size())),
      rc::gen::set(&RestartMove::agent, rc::gen::inRange(0, 3)),
      rc::gen::set(&RestartMove::other, rc::gen::inRange(0, 60)));
  return rc::gen::scale(1.5, rc::gen::container<std::vector<RestartMove>>(move));
}

std::string difference(const std::string& a, const std::string& b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  const std::size_t line = at > 600 ? a.find('\n', at - 600) : 0;
  const std::size_t from = line < at ? line : 0;  // a long line
  return "\n---- " + a.substr(from, at - from + 400) + "\n---- " + b.substr(from, at - from + 400);
}

namespace {

// Without what is sent to the models.
std::string without_contexts(const std::string& text) {
  std::istringstream lines(text);
  std::string left;
  bool skips = false;
  for (std::string line; std::getline(lines, line);) {
    skips = line.starts_with("  context") || (skips && line.starts_with("    "));
    if (!skips) left += line + '\n';
  }
  return left;
}

}  // namespace

std::string without_unknown(std::string text, const std::string& other) {
  static const std::string unknown = "effect is unknown";
  if (other.find(unknown) != std::string::npos) text = without_contexts(text);
  for (std::size_t at = 0; (at = other.find(unknown, at)) != std::string::npos; ++at) {
    const std::size_t end = other.find('\n', at), of = other.rfind(" of ", end);
    if (of == other.npos || of < at) continue;  // of a background task, in a question
    const std::string call = other.substr(of, end - of) + '\n';
    for (std::size_t result = 0; (result = text.find(call, result)) != std::string::npos;) {
      const std::size_t begin = text.rfind('\n', result) + 1;
      text.replace(begin, result - begin, "    t:?");
      result = text.find(call, begin) + call.size();
    }
  }
  return text;
}

}  // namespace agentcore::test
