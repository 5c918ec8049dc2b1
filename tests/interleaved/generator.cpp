#include "interleaved/script.hpp"
#include "sim/random.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace agentcore::interleaved {
namespace {

using sim::Random;

// Each run uses some of the acts, or few, and some of these often.
class Choice {
 public:
  Choice(Random& random, Act first, Act end) : random_(random) {
    const std::uint32_t used = random_.once_in(2) ? 2 : 8;  // one of so many
    for (auto act = static_cast<std::uint32_t>(first); act < static_cast<std::uint32_t>(end); ++act) {
      const std::uint32_t weight = !random_.once_in(used) ? 0 : random_.once_in(4) ? 8 : 1 + random_.below(3);
      acts_.insert(acts_.end(), weight, static_cast<Act>(act));
    }
    if (acts_.empty()) acts_.push_back(first);
  }
  Act next() { return acts_[random_.below(static_cast<std::uint32_t>(acts_.size()))]; }

 private:
  Random& random_;
  std::vector<Act> acts_;
};

// What a loop does most of the time.
Act next_of_loop(Random& random, Choice& loop, Choice& any, bool follows) {
  switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
      return follows ? Act::sleep : Act::poll;
    case 3:
      return random.once_in(3) ? Act::model_text : Act::model_answers;
    case 4:
    case 5:
      return Act::model_calls;
    case 6:
      return Act::sleep;
    case 7:
      return any.next();
    default:
      return loop.next();
  }
}

// What most threads of hosts do: send, and end what tools and models were asked for.
Act next_of_others(Random& random, Choice& any) {
  switch (random.below(10)) {
    case 0:
    case 1:
      return Act::send;
    case 2:
      return Act::tool_done;
    case 3:
      return random.once_in(2) ? Act::worker_answers : Act::worker_calls;
    default:
      return any.next();
  }
}

// What is done within the first callback of a kind.
Command next_in_callback(Random& random, Choice& any) {
  Command command{.act = any.next(), .a = random.below(3), .b = random.below(8)};
  if (!may_be_within(command.act)) command.act = random.once_in(4) ? Act::destroy_tree : Act::create_child;
  command.moment = static_cast<Moment>(1 + random.below(static_cast<std::uint32_t>(Moment::count) - 1));
  return command;
}

}  // namespace

Script generate(std::uint64_t seed) {
  Random random(seed * 2 + 1);
  Script script;
  // Half of the scripts are narrow: one agent or two, and a loop that does what another thread has just asked
  // for while that thread goes on. So most of what the threads do meets.
  const bool narrow = random.once_in(2);
  script.agents = 1 + random.below(narrow ? 2 : 4);
  script.budget = random.below(2);
  script.lease = random.once_in(4) ? 1 : 0;
  script.handler = random.once_in(3) ? 1 : 0;
  script.deaf = random.once_in(4) ? 1 : 0;
  script.warm = narrow && !random.once_in(4) ? script.agents : random.below(script.agents + 1);
  const std::uint32_t threads = 2 + random.below(3);
  script.order.resize(threads);
  std::iota(script.order.begin(), script.order.end(), 0U);
  for (std::uint32_t i = threads; i > 1; --i) std::swap(script.order[i - 1], script.order[random.below(i)]);
  if (narrow) std::swap(script.order[0], *std::ranges::find(script.order, 0U));
  Choice loop(random, Act::poll, first_of_any_thread);
  Choice any(random, first_of_any_thread, Act::count);
  const bool few_agents = narrow || random.once_in(2);  // so that verbs meet
  script.threads.resize(threads);
  for (std::uint32_t left = random.once_in(2) ? 1 + random.below(4) : 0; left > 0; --left)
    script.threads[0].push_back(next_in_callback(random, any));
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    const std::uint32_t commands = thread == 0 ? 2 + random.below(8) : 1 + random.below(narrow ? 8 : 5);
    for (std::uint32_t i = 0; i < commands; ++i) {
      Command command;
      command.act = thread == 0 ? next_of_loop(random, loop, any, narrow) : next_of_others(random, any);
      if (command.act == Act::destroy_tree && !random.once_in(4)) command.act = Act::poll;
      command.a = random.below(few_agents ? 2 : 5);
      command.b = random.below(8);
      if (thread == 0 && may_be_within(command.act) && random.once_in(2))
        command.moment = static_cast<Moment>(1 + random.below(static_cast<std::uint32_t>(Moment::count) - 1));
      script.threads[thread].push_back(std::move(command));
    }
  }
  if (narrow || random.once_in(2))
    script.threads[0].push_back({Act::drive});  // so that it is interrupted in it, too
  // Each thread is as likely to be interrupted as each other, whatever it does: most verbs have fewer steps
  // than a poll, and what is to be met is in the middle of them.
  for (std::uint32_t falls = random.below(5); falls > 0; --falls) {
    auto& commands = script.threads[random.below(threads)];
    auto& command = commands[random.below(static_cast<std::uint32_t>(commands.size()))];
    command.falls.push_back({1 + random.below(2U << random.below(8)), random.below(3)});
    std::ranges::sort(command.falls, {}, &Fall::step);
  }
  return script;
}

}  // namespace agentcore::interleaved
