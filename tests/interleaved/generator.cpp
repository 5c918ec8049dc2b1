#include "interleaved/script.hpp"
#include "sim/random.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace agentcore::interleaved {
namespace {

using sim::Random;

// Each run uses some of the acts, and some of these often.
class Choice {
 public:
  Choice(Random& random, Act first, Act end) : random_(random) {
    for (auto act = static_cast<std::uint32_t>(first); act < static_cast<std::uint32_t>(end); ++act) {
      const std::uint32_t weight = random_.once_in(2) ? 0 : random_.once_in(4) ? 8 : 1 + random_.below(3);
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
Act next_of_loop(Random& random, Choice& loop, Choice& any) {
  switch (random.below(8)) {
    case 0:
    case 1:
    case 2:
      return Act::poll;
    case 3:
      return random.once_in(2) ? Act::model_calls : Act::model_answers;
    case 4:
      return Act::sleep;
    case 5:
      return any.next();
    default:
      return loop.next();
  }
}

}  // namespace

Script generate(std::uint64_t seed) {
  Random random(seed * 2 + 1);
  Script script;
  script.agents = 1 + random.below(4);
  script.budget = random.below(2);
  script.lease = random.once_in(4) ? 1 : 0;
  script.handler = random.once_in(4) ? 1 : 0;
  script.warm = random.below(script.agents + 1);
  const std::uint32_t threads = 2 + random.below(3);
  script.order.resize(threads);
  std::iota(script.order.begin(), script.order.end(), 0U);
  for (std::uint32_t i = threads; i > 1; --i) std::swap(script.order[i - 1], script.order[random.below(i)]);
  Choice loop(random, Act::poll, first_of_any_thread);
  Choice any(random, first_of_any_thread, Act::count);
  const bool few_agents = random.once_in(2);  // so that verbs meet
  script.threads.resize(threads);
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    const std::uint32_t commands = thread == 0 ? 2 + random.below(8) : 1 + random.below(5);
    for (std::uint32_t i = 0; i < commands; ++i) {
      Command command;
      command.act = thread == 0 ? next_of_loop(random, loop, any) : any.next();
      if (command.act == Act::destroy_tree && !random.once_in(4)) command.act = Act::poll;
      command.a = random.below(few_agents ? 2 : 5);
      command.b = random.below(4);
      script.threads[thread].push_back(std::move(command));
    }
  }
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
