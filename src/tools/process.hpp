// Process: one program that runs for a tool call, from its start to the moment when nothing of it is left.
#pragma once

#include "loop/engine.hpp"
#include "tools/descriptor.hpp"
#include "tools/process_group.hpp"
#include "tools/spawn.hpp"

#include <agentcore/llm_client.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace agentcore::tools {

class Processes;

// How the loop notices that a program has ended.
enum class ExitWatch : unsigned char {
  automatic,  // by a descriptor where the system has one (pidfd), else by the timer
  timer,      // by looking, less and less often, down to every 50 ms
};

// The beginning of what was written; the rest is counted.
struct CappedText {
  std::string text;
  std::size_t limit = 0;
  std::size_t dropped = 0;

  void append(std::string_view bytes);
};

struct ProcessEnd {
  ExitStatus status;
  bool stopped = false;  // it was told to end
  CappedText output;
  CappedText errors;
};

struct ProcessOptions {
  std::size_t max_output_bytes = 0;
  Duration kill_grace{};
  ExitWatch watch = ExitWatch::automatic;
};

// The destructor leaves nothing: the group is killed, its leader reaped, every descriptor closed.
// All but the stop's first half is @loop_thread.
class Process final : private loop::IoHandler {
 public:
  using OnEnd = std::function<void(ProcessEnd)>;

  Process(Processes& all, std::uint64_t id, const ProcessOptions& options, OnEnd on_end);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Takes over what was started. Its end is reported to Processes::on_end(). When `stop` is triggered, the
  // group gets SIGTERM at once, on the stopping thread; begin_grace() is the other half. If the system
  // refuses to watch the program, returns the reason: then no end is reported, and the caller destroys this
  // Process.
  [[nodiscard]] std::string run(Spawned spawned, std::string input, StopToken stop);
  void begin_grace();
  void kill() noexcept { group_.signal(SIGKILL); }

  std::uint64_t id() const noexcept { return id_; }
  // Tells its end. It must be out of all tables, and goes with the call.
  static void finish(std::unique_ptr<Process> process, ExitStatus status);

 private:
  struct Stream {
    Descriptor descriptor;
    CappedText kept;
  };

  void on_io(int descriptor, loop::IoEvents events) override;
  void on_stop() noexcept;
  void look();
  void look_later();
  void write_some();
  std::size_t read_some(Stream& stream, std::size_t at_most);
  void read_rest(Stream& stream);
  void close(Descriptor& descriptor) noexcept;
  void cancel(std::uint64_t& timer) noexcept;
  void end_group() noexcept;

  Processes& all_;
  loop::Engine& engine_;
  const std::uint64_t id_;
  const ProcessOptions options_;
  OnEnd on_end_;

  ProcessGroup group_;
  Descriptor exit_;
  Descriptor input_;
  std::string to_write_;
  std::size_t written_ = 0;  // of it
  Stream output_;
  Stream errors_;

  std::uint64_t grace_timer_ = 0;
  std::uint64_t look_timer_ = 0;
  Duration look_after_ = std::chrono::milliseconds(1);

  std::atomic<bool> stopped_{false};
  std::atomic<TimePoint> stopped_at_{};  // written before stopped_
  std::optional<std::stop_callback<std::function<void()>>> stop_callback_;
};

}  // namespace agentcore::tools
