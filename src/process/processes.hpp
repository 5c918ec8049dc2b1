// Processes: all programs that run in one Runtime.
#pragma once

#include "core/atomic.hpp"
#include "loop/engine.hpp"
#include "process/process.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace agentcore::detail::process {

// One per engine; drives the loop's half of a stop. The programs end with the engine: every group is killed
// and reaped before Runtime's destructor returns (inside a poll: before that poll does). @loop_thread, except
// note_stopped().
class Processes final : public loop::Source {
 public:
  static std::shared_ptr<Processes> of(loop::Engine& engine);
  // For tests: the programs of that engine are those of `system`. Called before the first of().
  static void install(loop::Engine& engine, std::shared_ptr<platform::ProcessSystem> system);

  Processes(loop::Engine& engine, std::shared_ptr<platform::ProcessSystem> system) noexcept
      : engine_(engine), system_(std::move(system)) {}
  ~Processes() { close(); }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // Starts the command. Returns why it could not; then `on_end` is destroyed without a call.
  std::string start(SubprocessCommand command, const ProcessOptions& options, StopToken stop,
                    Process::OnEnd on_end);
  void close() noexcept;
  // The id of the program that is started next.
  std::uint64_t next_id() const noexcept { return last_id_ + 1; }
  // If the program of that id has ended, and the loop has not read that yet: reports its end.
  void look(std::uint64_t id);

  // For Process.
  loop::Engine& engine() noexcept { return engine_; }
  platform::ProcessSystem& system() noexcept { return *system_; }
  void note_stopped() noexcept;  // a Process was stopped. @threadsafe
  void on_end(Process& process, ExitStatus status);
  std::array<char, 65536>& buffer() noexcept { return buffer_; }

  void run_control(loop::PollBudget& budget) override;
  void run_round(loop::PollBudget&) override {}
  bool has_work() const noexcept override { return stopped_.load(std::memory_order_acquire); }
  bool has_pending() const noexcept override { return !running_.empty(); }

 private:
  loop::Engine& engine_;
  const std::shared_ptr<platform::ProcessSystem> system_;
  std::shared_ptr<loop::Waker> waker_ = engine_.waker();
  core::Atomic<bool> stopped_{false};  // some Process was, since run_control() last looked
  std::map<std::uint64_t, std::unique_ptr<Process>> running_;
  std::uint64_t last_id_ = 0;
  std::array<char, 65536> buffer_{};  // the buffer for all reads
};

}  // namespace agentcore::detail::process
