#include "interleaved/seeds.hpp"

#include "sim/random.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace agentcore::interleaved {

using detail::core::Access;
using sim::Random;

namespace {

constexpr std::size_t most_falls = 5;

// Where in the code, or at which mutex: steps of a loop are one place. By way of where the thread came there,
// or not.
struct Place {
  std::string_view file = {}, before = {};
  unsigned line = 0, line_before = 0;
  std::uint32_t mutex = 0;

  bool operator==(const Place&) const = default;
};

Place place_of(const Race& race, bool with_way) {
  Place place{.file = race.step.where.file, .line = race.step.where.line};
  if (race.step.access == Access::lock) place.mutex = race.step.object + 1;
  if (with_way) place.before = race.before.file, place.line_before = race.before.line;
  return place;
}

// Each thread is as likely as each other. Of two places in it the one that was passed less often: what is
// done all the time, as counting references, has few surprises.
const Step& choose(Random& random, const std::vector<Race>& races) {
  std::vector<std::uint32_t> threads;
  for (const Race& race : races)
    if (std::ranges::find(threads, race.step.thread) == threads.end()) threads.push_back(race.step.thread);
  const std::uint32_t thread = threads[random.below(static_cast<std::uint32_t>(threads.size()))];
  const bool with_way = random.once_in(2);
  std::vector<std::pair<Place, std::vector<const Step*>>> places;
  for (const Race& race : races) {
    if (race.step.thread != thread) continue;
    const Place place = place_of(race, with_way);
    auto found = std::ranges::find(places, place, [](const auto& one) { return one.first; });
    if (found == places.end()) found = places.insert(found, {place, {}});
    found->second.push_back(&race.step);
  }
  const auto any = [&] { return random.below(static_cast<std::uint32_t>(places.size())); };
  const auto &first = places[any()].second, &second = places[any()].second;
  const auto& rarer = second.size() < first.size() ? second : first;
  return *rarer[random.below(static_cast<std::uint32_t>(rarer.size()))];
}

void remove_fall(Random& random, Script& script) {
  std::vector<std::pair<std::vector<Fall>*, std::size_t>> all;
  for (auto& thread : script.threads)
    for (Command& command : thread)
      for (std::size_t i = 0; i < command.falls.size(); ++i) all.emplace_back(&command.falls, i);
  if (all.empty()) return;
  const auto [falls, at] = all[random.below(static_cast<std::uint32_t>(all.size()))];
  falls->erase(falls->begin() + static_cast<std::ptrdiff_t>(at));
}

std::size_t count_falls(const Script& script) {
  std::size_t count = 0;
  for (const auto& thread : script.threads)
    for (const Command& command : thread) count += command.falls.size();
  return count;
}

// A script that differs in one fall, or two.
Script next(std::uint64_t seed, Script script, const std::vector<Step>& taken) {
  Random random(seed * 2);
  std::vector<Race> found = races(taken);
  std::erase_if(
      found, [&](const Race& race) { return race.step.command >= script.threads[race.step.thread].size(); });
  while (count_falls(script) >= most_falls || (count_falls(script) != 0 && random.once_in(4)))
    remove_fall(random, script);
  if (found.empty()) return script;
  const Step& step = choose(random, found);
  auto& falls = script.threads[step.thread][step.command].falls;
  falls.push_back({step.step, random.below(3)});
  std::ranges::sort(falls, {}, &Fall::step);
  return script;
}

}  // namespace

std::vector<Race> races(const std::vector<Step>& taken) {
  struct Later {
    std::uint64_t all = 0, changes = 0;  // the threads, a bit for each
  };
  std::unordered_map<std::uint32_t, Later> later;
  std::vector<Race> found;
  for (std::size_t i = taken.size(); i-- > 0;) {
    const Step& step = taken[i];
    if (step.access == Access::unlock || step.access == Access::wait || step.access == Access::notify)
      continue;
    Later& others = later[step.object];
    const std::uint64_t bit = std::uint64_t{1} << (step.thread % 64);
    const bool changes = step.access != Access::load;
    if (((changes ? others.all : others.changes) & ~bit) != 0) {
      const bool follows = i > 0 && taken[i - 1].thread == step.thread;
      found.push_back({step, follows ? taken[i - 1].where : detail::core::Place()});
    }
    others.all |= bit;
    if (changes) others.changes |= bit;
  }
  std::ranges::reverse(found);
  return found;
}

Script Seeds::script(std::uint64_t seed) {
  if (seed == seed_) return script_;
  const std::uint64_t first = seed - seed % in_a_row;
  if (seed == first) return generate(seed);
  if (!seed_ || *seed_ < first || *seed_ >= seed) run(first);
  while (*seed_ + 1 < seed) run(*seed_ + 1);
  return next(seed, script_, taken_);
}

Result Seeds::run(std::uint64_t seed) {
  script_ = script(seed);
  Result result = interleaved::run(script_, {.steps = true});
  taken_ = std::move(result.taken);
  seed_ = seed;
  return result;
}

}  // namespace agentcore::interleaved
