// ProcessSystem: what child programs need of the system: their start, signals, pipes and end.
#pragma once

#include "platform/descriptor.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/subprocess.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace agentcore::detail::platform {

using ProcessId = int;

struct ExitStatus {
  enum class Kind : unsigned char {
    exited,     // number: its exit code
    signalled,  // number: the signal that ended it
    lost,       // reaped by other code, e.g. because the host ignores SIGCHLD
  };
  Kind kind = Kind::lost;
  int number = 0;
};

// "SIGTERM", or nothing if the number is not one of a usual end.
std::string_view signal_name(int number) noexcept;

enum class Signal : unsigned char { terminate, kill };  // SIGTERM, SIGKILL

// A child, as the system finds it.
enum class ChildState : unsigned char {
  running,
  ended,    // and reaped, if that was asked for
  gone,     // no child of this process has that number: it was reaped
  unknown,  // the call has failed, e.g. was interrupted: ask again
};

// The host's ends of the pipes do not block.
struct Spawned {
  ProcessId pid = -1;  // -1: it was not started
  std::string error;   // why
  Descriptor input;    // none: the command has no input, and the program reads /dev/null
  Descriptor output;
  Descriptor errors;
};

// The calls of the system, each as thin as it can be: what they mean for a program is decided above. The
// descriptors are watched by the engine's poller. Nothing here throws but spawn(). @loop_thread, but for the
// signals
class ProcessSystem {
 public:
  virtual ~ProcessSystem() = default;

  // Returns when the program runs, or its start has failed. It leads a process group of its own. It gets
  // default signal handlers and an empty signal mask, whatever the host has, and no descriptor but its three
  // where the system supports that (glibc 2.34). On Windows no program is started.
  virtual Spawned spawn(const SubprocessCommand& command) = 0;
  // A descriptor that becomes readable when `pid`, which is not reaped, has ended; none where the system has
  // no pidfd.
  virtual Descriptor open_exit_descriptor(ProcessId pid) noexcept = 0;

  // kill(2), for all processes of a group, and for one. False: none was there to receive it. @threadsafe
  virtual bool signal_group(ProcessId leader, Signal signal) noexcept = 0;
  virtual bool signal(ProcessId pid, Signal signal) noexcept = 0;
  // Whether a child has ended. It is not reaped: its number remains its own. Does not wait.
  virtual ChildState look_at(ProcessId pid) noexcept = 0;
  // The same, and reaps it if it has ended; then `status` is how. Does not wait.
  virtual ChildState reap(ProcessId pid, ExitStatus& status) noexcept = 0;

  // read(2).
  virtual std::ptrdiff_t read(const Descriptor& descriptor, std::span<char> buffer) noexcept = 0;
  // How many bytes wait to be read; 0 if the system does not know.
  virtual std::size_t bytes_held(const Descriptor& descriptor) noexcept = 0;
  // write(2), but a closed reader causes EPIPE only: no signal reaches the host, whose handlers are not
  // changed.
  virtual std::ptrdiff_t write(const Descriptor& descriptor, std::string_view bytes) noexcept = 0;

  // await_readable(), for a destructor. Returns how long that took in real time.
  virtual Duration await_readable(int descriptor, Duration at_most) noexcept = 0;
};

// That of the system. Stateless.
std::shared_ptr<ProcessSystem> make_process_system();

}  // namespace agentcore::detail::platform
