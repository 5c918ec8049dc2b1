// Process: one child program, from its start until nothing of it is left.
#pragma once

#include "core/atomic.hpp"
#include "loop/engine.hpp"
#include "platform/descriptor.hpp"
#include "platform/process_group.hpp"
#include "platform/process_system.hpp"

#include <agentcore/llm_client.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace agentcore::detail::process {

using platform::ExitStatus;
using platform::signal_name;

class Processes;

// How the loop detects that a program has ended.
enum class ExitWatch : unsigned char {
  automatic,  // by a descriptor where the system has one (pidfd), else by the timer
  timer,      // by checks at growing intervals of 1 to 50 ms
};

// The beginning of the output; the rest is only counted, as is everything after memory was short.
struct CappedText {
  std::string text;
  std::size_t limit = 0;
  std::size_t dropped = 0;

  void append(std::string_view bytes) noexcept;
};

struct ProcessEnd {
  ExitStatus status;
  bool stopped = false;  // a stop was requested
  CappedText output;
  CappedText errors;
};

struct ProcessOptions {
  std::size_t max_output_bytes = 0;
  Duration kill_grace{};
  ExitWatch watch = ExitWatch::automatic;
};

// The destructor leaves nothing behind: the group is killed, its leader reaped, every descriptor closed. All
// but the stop's first half is @loop_thread.
class Process final : private loop::IoHandler {
 public:
  using OnEnd = std::function<void(ProcessEnd)>;

  Process(Processes& all, std::uint64_t id, const ProcessOptions& options, OnEnd on_end);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Takes over a started program. Its end is reported to Processes::on_end(). When `stop` is triggered, the
  // group gets SIGTERM at once, on the stopping thread; begin_grace() is the second half, on the loop thread.
  // If the system refuses to watch the program, returns the reason: then no end is reported, and the caller
  // destroys this Process.
  [[nodiscard]] std::string run(platform::Spawned spawned, std::string input, StopToken stop);
  void begin_grace();
  void kill() noexcept { group_.kill(); }
  // Reports the end of the program, if it has ended; then `this` is destroyed.
  void look();

  std::uint64_t id() const noexcept { return id_; }
  // Reports the end and destroys `process`, which must have been removed from all tables.
  static void finish(std::unique_ptr<Process> process, ExitStatus status);

 private:
  struct Stream {
    platform::Descriptor descriptor;
    CappedText kept;
  };

  void on_io(int descriptor, loop::IoEvents events) override;
  void on_stop() noexcept;
  void check_end();
  void check_end_later();
  void write_some();
  std::size_t read_some(Stream& stream, std::size_t at_most);
  void read_rest(Stream& stream);
  void close(platform::Descriptor& descriptor) noexcept;
  void cancel(std::uint64_t& timer) noexcept;
  void end_group() noexcept;

  Processes& all_;
  loop::Engine& engine_;
  platform::ProcessSystem& system_;
  const std::uint64_t id_;
  const ProcessOptions options_;
  OnEnd on_end_;

  platform::ProcessGroup group_;
  platform::Descriptor exit_;
  platform::Descriptor input_;
  std::string to_write_;
  std::size_t written_ = 0;  // bytes of it
  Stream output_;
  Stream errors_;

  std::uint64_t grace_timer_ = 0;
  std::uint64_t check_timer_ = 0;
  Duration check_after_ = std::chrono::milliseconds(1);

  core::Atomic<bool> stopped_{false};
  core::Atomic<TimePoint> stopped_at_{};  // written before stopped_
  std::optional<std::stop_callback<std::function<void()>>> stop_callback_;
};

}  // namespace agentcore::detail::process
