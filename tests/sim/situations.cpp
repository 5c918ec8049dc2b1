#include "sim/situations.hpp"

#include "sim/coverage.hpp"
#include "sim/generator.hpp"
#include "sim/http_models.hpp"

#include <vector>

namespace agentcore::sim {
namespace {

// The kinds of World::spec() and World::tool_calls() that the situations need.
constexpr std::uint32_t plain_agent = 0, with_tasks = 7, with_summaries = 8;
constexpr std::uint32_t safe_tool = 0, careful_tool = 2, task_tool = 3, blocking_tool = 4, ask_human_tool = 6,
                        delegate_tool = 7;

class Writer {
 public:
  Writer(Script& script, Random& random) : script_(script), random_(random) {}

  void add(Act act, std::uint32_t first = 0, std::uint32_t second = 0) {
    script_.commands.push_back({.act = act, .n = {first, second, 0}});
  }
  void turn(std::uint32_t kind) {
    add(Act::create_root, 0, kind + 16 * random_.below(60));
    if (random_.once_in(3)) add(Act::create_child);
    add(Act::send);
    go();
  }
  void calls(std::uint32_t tool, std::uint32_t more = 0) {
    add(Act::model_calls, 0, tool * 3 + more);
    go();
  }
  void go() { add(Act::poll_until_quiet); }
  // The agent waits for its router: the first answer is an error.
  void errors() {
    script_.setup[Knob::models] = first_router() + random_.below(model_choices() - first_router());
    turn(plain_agent);
    for (std::uint32_t left = 1 + random_.below(2); left != 0; --left) {
      add(Act::server_errors, 0, random_.below(1000));
      go();
    }
  }
  void summary() {
    turn(with_summaries);
    for (int i = 0; i < 9; ++i) {
      add(Act::model_answers);
      add(Act::send);
      go();
    }
  }
  void stopped() {
    (random_.once_in(2) ? script_.setup[Knob::deaf_models] : script_.setup[Knob::deaf_tools]) = 2;
    script_.setup[Knob::no_grace] = 0;
    turn(plain_agent);
    if (random_.once_in(2)) calls(safe_tool);
    add(random_.once_in(3) ? Act::terminate : Act::stop);
    add(Act::poll);
  }
  void parked() {
    script_.setup[Knob::store] = 1;
    script_.setup[Knob::turns_go_on] = random_.below(2);
    turn(plain_agent);
    if (random_.once_in(2)) calls(random_.once_in(2) ? safe_tool : careful_tool);
    add(Act::flush);
    add(random_.once_in(2) ? Act::kill : Act::restart);
  }
  void paused() {
    turn(plain_agent);
    calls(safe_tool, random_.below(3));
    add(Act::pause);
    add(Act::tool_done);
    go();
  }
  // Of a server: sometimes too long.
  void silence() {
    if (random_.once_in(3)) add(Act::time_passes, 3);
    if (random_.once_in(3)) go();
  }
  // A person allows all calls of that tool.
  void approved() {
    calls(careful_tool, random_.below(3));
    add(Act::approve, 0, 1 + random_.below(2));
    go();
  }
  void act() {
    std::vector<Act> verbs = {Act::stop_all,   Act::resume_all,  Act::pause_all, Act::unpause_all,
                              Act::answer,     Act::approve,     Act::decline,   Act::cancel_task,
                              Act::next_timer, Act::time_passes, Act::revoke,    Act::revoke};
    for (std::size_t i = 0; i < act_count; ++i)
      if (is_verb(Act(i))) verbs.push_back(Act(i));
    Command command{.act = verbs[random_.below(static_cast<std::uint32_t>(verbs.size()))]};
    for (std::uint32_t& n : command.n) n = random_.below(1000);
    if (!random_.once_in(4)) command.n[0] = 0;
    if (random_.once_in(3))
      command.place.number =
          static_cast<std::uint8_t>(1 + random_.below(static_cast<std::uint32_t>(place_count() - 1)));
    script_.commands.push_back(command);
  }
  void fault() {
    constexpr std::array faults = {Act::store_refuses, Act::store_is_unknown, Act::callback_throws,
                                   Act::poll_without_budget, Act::disk_dies};
    add(faults[random_.below(faults.size())], random_.below(1000), random_.below(1000));
  }

 private:
  Script& script_;
  Random& random_;
};

}  // namespace

void add_way_to(Wait wait, Script& script, Random& random) {
  Writer writer(script, random);
  switch (wait) {
    case Wait::nothing:
      writer.parked();
      break;
    case Wait::model:
      writer.turn(random.below(16));
      writer.silence();
      break;
    case Wait::text:
      writer.turn(plain_agent);
      writer.add(random.once_in(3) ? Act::model_reasoning : Act::model_text);
      writer.go();
      writer.silence();
      break;
    case Wait::retry:
      writer.errors();
      break;
    case Wait::summary:
      writer.summary();
      break;
    case Wait::start:
      writer.turn(plain_agent);
      writer.calls(blocking_tool, random.below(3));
      break;
    case Wait::tool:
      writer.turn(random.once_in(2) ? plain_agent : with_tasks);
      if (random.once_in(3))
        writer.approved();
      else
        writer.calls(random.once_in(3) ? delegate_tool : safe_tool, random.below(3));
      break;
    case Wait::approval:
      writer.turn(plain_agent);
      writer.calls(careful_tool, random.below(3));
      break;
    case Wait::answer:
      writer.turn(plain_agent);
      writer.calls(ask_human_tool, random.below(3));
      break;
    case Wait::background:
      writer.turn(with_tasks);
      writer.calls(task_tool);
      writer.add(Act::model_answers);
      writer.go();
      break;
    case Wait::pause:
      writer.paused();
      break;
    case Wait::next_step:
      writer.turn(plain_agent);
      writer.calls(safe_tool);
      writer.add(Act::tool_done);
      break;
    default:
      writer.stopped();
      break;
  }
}

void add_verbs(Script& script, Random& random) {
  Writer writer(script, random);
  if (random.once_in(4)) writer.fault();
  for (std::uint32_t left = 1 + random.below(3); left != 0; --left) {
    writer.act();
    if (random.once_in(3)) writer.add(Act::poll);
  }
  writer.add(random.once_in(2) ? Act::poll : Act::poll_until_quiet);
  if (script.setup[Knob::store] != 0 && random.once_in(3)) {
    writer.add(random.once_in(2) ? Act::kill : Act::restart);
    if (random.once_in(2)) writer.act();
    if (random.once_in(2)) writer.add(Act::kill);
  }
}

}  // namespace agentcore::sim
