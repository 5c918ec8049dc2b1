// The disk of a store in a file: what fails there, and when the process dies within a change.
#include "sim/world.hpp"
#include "sim/world_run.hpp"

#include <array>
#include <chrono>

namespace agentcore::sim {

void World::kill_process(std::uint64_t seed) {
  if (setup_[Knob::store] == 0 || killed_) return;
  say("-- the process is killed here");
  killed_ = true;
  store_.kill(seed);
  processes_->host_dies();
}

bool World::act_on_disk(const Command& command) {
  using Failure = test::FaultyVfs::Fault;
  if (command.act < Act::disk_fails || command.act > Act::disk_dies) return false;
  SimFile* const file = store_.file();
  note(command, file ? "done" : "no disk");
  if (!file || healed_ || killed_) return true;
  const std::uint32_t first = command.n[0], second = command.n[1];
  switch (command.act) {
    case Act::disk_fails:
      file->fail_after(second % 60,
                       std::array{Failure::once, Failure::gone, Failure::torn, Failure::full}[first % 4]);
      return true;
    case Act::disk_fills:
      file->disk().limit_space(first % 4 == 3 ? std::nullopt
                                              : std::optional(std::uint64_t{first / 4 % 4} * 4'096));
      return true;
    case Act::disk_is_slow:
      file->disk().be_slow(std::chrono::milliseconds(1 + first * 7));
      return true;
    case Act::disk_is_busy:
      file->disk().be_busy(1 + first % 60);
      return true;
    default:
      file->disk().die_after(first % 40, second, [this, second] {
        counts_.add("the process dies within a change of the disk");
        kill_process(second);
      });
      return true;
  }
}

bool World::has_store_failed() {
  SimFile* const file = store_.file();
  const bool has_disk_failed =
      file && file->failures() + file->disk().refused() + file->disk().found_busy() != 0;
  return has_disk_failed || store_.refusals + store_.unknown_outcomes != 0;
}

// What the disk did since the last time, for the report.
void World::count_faults_of_disk() {
  SimFile* const file = store_.file();
  if (!file) return;
  const std::array<std::size_t, 3> now{file->failures(), file->disk().refused(), file->disk().found_busy()};
  constexpr std::array names{"a call of the disk fails", "the disk is full", "a lock is held"};
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i] > seen_of_disk_[i]) counts_.add(names[i]);
  seen_of_disk_ = now;
}

}  // namespace agentcore::sim
