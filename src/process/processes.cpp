#include "process/processes.hpp"

#include <utility>

namespace agentcore::detail::process {

namespace {

// Owned by the engine, which ends the programs with it even if others still hold the table.
struct Slot {
  std::shared_ptr<Processes> processes;

  explicit Slot(std::shared_ptr<Processes> made) noexcept : processes(std::move(made)) {}
  ~Slot() { processes->close(); }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
};

// Where the programs of an engine run.
struct ChosenSystem {
  explicit ChosenSystem(std::shared_ptr<platform::ProcessSystem> chosen) noexcept
      : system(std::move(chosen)) {}
  const std::shared_ptr<platform::ProcessSystem> system;
};

std::shared_ptr<platform::ProcessSystem> system_of(loop::Engine& engine) {
  const auto make = [] { return std::make_shared<ChosenSystem>(platform::make_process_system()); };
  return engine.service<ChosenSystem>(make)->system;
}

}  // namespace

void Processes::install(loop::Engine& engine, std::shared_ptr<platform::ProcessSystem> system) {
  engine.service<ChosenSystem>([&] { return std::make_shared<ChosenSystem>(std::move(system)); });
}

std::shared_ptr<Processes> Processes::of(loop::Engine& engine) {
  const auto make = [&engine] {
    auto processes = std::make_shared<Processes>(engine, system_of(engine));
    engine.add_source(processes);
    return std::make_shared<Slot>(std::move(processes));
  };
  return engine.service<Slot>(make)->processes;
}

std::string Processes::start(SubprocessCommand command, const ProcessOptions& options, StopToken stop,
                             Process::OnEnd on_end) {
  // Allocations come first, so that a started program always has an owner, which ends it if the rest throws.
  const std::uint64_t id = ++last_id_;
  const auto place =
      running_.emplace(id, std::make_unique<Process>(*this, id, options, std::move(on_end))).first;
  std::string error;
  try {
    platform::Spawned spawned = system_->spawn(command);
    error = std::move(spawned.error);
    if (error.empty())
      error = place->second->run(std::move(spawned), std::move(command.input), std::move(stop));
  } catch (...) {
    running_.erase(place);
    throw;
  }
  if (!error.empty()) running_.erase(place);
  return error;
}

void Processes::note_stopped() noexcept {
  stopped_.store(true, std::memory_order_release);
  waker_->notify();
}

void Processes::run_control(loop::PollBudget& budget) {
  if (!has_work() || !budget.spend()) return;
  stopped_.exchange(false, std::memory_order_acq_rel);
  for (const auto& [id, process] : running_) process->begin_grace();
}

void Processes::on_end(Process& process, ExitStatus status) {
  auto node = running_.extract(process.id());
  Process::finish(std::move(node.mapped()), status);
}

void Processes::look(std::uint64_t id) {
  const auto found = running_.find(id);
  if (found != running_.end()) found->second->look();
}

void Processes::close() noexcept {
  for (const auto& [id, process] : running_) process->kill();  // all of them before any wait
  const auto ended = std::exchange(running_, {});
}

}  // namespace agentcore::detail::process
