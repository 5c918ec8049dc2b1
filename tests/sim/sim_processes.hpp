// SimProcesses: the process table and the pipes of a simulated system. What its programs do are commands.
#pragma once

#include "platform/poller.hpp"
#include "platform/process_system.hpp"
#include "sim/faults.hpp"
#include "sim/network.hpp"

#include <agentcore/clock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::sim {

using detail::platform::ExitStatus;
using detail::platform::ProcessId;
using detail::platform::Signal;

// A program that the library has started, and what became of it.
struct Program {
  std::uint64_t number = 0;             // from 1
  ProcessId pid = 0;                    // of its first process, which leads its group
  std::array<std::string, 2> written;   // what has gone into the pipes of its output and of its errors
  std::array<std::size_t, 2> at_end{};  // how much of that when its first process has ended
  std::string input;                    // what it has read
  std::optional<TimePoint> terminated_at, killed_at;  // the signals of the library to its group
  TimePoint ended_at{};                               // if it has ended
  std::optional<ExitStatus> status;                   // it has ended
  bool reaped = false;                                // by the library
  bool lost = false;                                  // by other code of the host
  bool ended_unstopped = false;                       // before SIGTERM, and between polls
  bool was_unclear = false;                           // the system did not say once whether it has ended
  bool unwatched = false;                             // the poller has refused one of its pipes
};

// What the library does with programs.
class ProgramWatcher {
 public:
  virtual void on_start(const std::shared_ptr<Program>& program) = 0;
  virtual void on_refused_start(const std::string& why) = 0;
  // Before the signal has an effect, and before Program::terminated_at and killed_at say so.
  virtual void on_signal(const Program& program, Signal signal) = 0;
  // It was reaped. `left`: processes of its group that live, and have no signal that ends them.
  virtual void on_reaped(const Program& program, std::size_t left) = 0;
  // Something that no system would allow, or that would reach a process of others.
  virtual void on_misuse(const std::string& what) = 0;

 protected:
  ~ProgramWatcher() = default;
};

// Which call of the system a command lets fail.
enum class ProcessFault : std::uint8_t {
  not_found,      // the start: ENOENT
  no_process,     // the start: EAGAIN
  no_pipe,        // the start: EMFILE
  no_pidfd,       // no descriptor for the end of a program
  unwatched,      // the poller refuses a descriptor
  read,           // interrupted
  write,          // interrupted
  wait,           // waitid() or waitpid(): interrupted
  reaped_by_host  // no call: other code of the host reaps all children that have ended
};
constexpr std::array process_fault_names = {
    std::string_view("not_found"), std::string_view("no_process"), std::string_view("no_pipe"),
    std::string_view("no_pidfd"),  std::string_view("unwatched"),  std::string_view("read"),
    std::string_view("write"),     std::string_view("wait"),       std::string_view("reaped_by_host")};
constexpr std::size_t process_fault_count = process_fault_names.size();
static_assert(process_fault_count == static_cast<std::size_t>(ProcessFault::reaped_by_host) + 1);

// What is different in a run.
struct ProcessHabits {
  bool dies_late = false;         // a signal ends a process a moment later, and not within kill(2)
  bool has_pidfd = true;          // the system has pidfd_open()
  std::size_t most_per_call = 0;  // how many bytes a call moves; 0: no limit
};

class SimProcesses final : public detail::platform::ProcessSystem,
                           private detail::platform::DescriptorOwner,
                           private OtherDescriptors {
 public:
  // How many bytes a pipe holds.
  static constexpr std::size_t capacity = 100;

  SimProcesses(SimNetwork& network, const Clock& clock, ProgramWatcher& watcher, ProcessHabits habits);
  ~SimProcesses() override;
  SimProcesses(const SimProcesses&) = delete;
  SimProcesses& operator=(const SimProcesses&) = delete;

  // The program that starts next: ignores SIGTERM; writes a word and ends at once.
  void next_program(bool ignores_term, bool ends_at_once) noexcept {
    next_ignores_ = ignores_term;
    next_ends_ = ends_at_once;
  }
  // What happens, in words: for the trace, and to be counted.
  std::function<void(std::string)> say;
  std::function<void(const std::string&)> note;

  // What processes do, by a number that chooses one. False: there is none, or it cannot do that now.
  bool writes(std::uint32_t n, bool to_errors, std::size_t size);
  bool reads(std::uint32_t n, std::size_t most);
  bool closes(std::uint32_t n, std::uint32_t which);  // its input, output or errors
  bool exits(std::uint32_t n, int code);
  bool dies(std::uint32_t n, int signal);  // by a signal that the library has not sent
  bool ignores_term(std::uint32_t n);
  bool forks(std::uint32_t n);
  bool leaves_group(std::uint32_t n);  // setsid(); a leader moves to another group
  bool hangs(std::uint32_t n);         // in a call of the system: even SIGKILL has no effect; or no longer

  void fail_next(ProcessFault fault, std::uint32_t times);
  // Faults cease, and no process hangs.
  void calm();
  // All end, or those of one program, in order.
  void end_all();
  void end(const Program& program);
  // Processes that have a signal and die late die now. False: there are none.
  bool settle();

  // The host is killed: its programs go on without it, which is not seen.
  void host_dies();
  // The process of the host has ended. What is left of its programs, in words; empty: nothing.
  std::string end_host();
  // The process that follows it begins.
  void begin_host();

  // Descriptors that are open for a program that was reaped.
  std::size_t forgotten_descriptors() const;
  // For how long destructors have waited.
  Duration waited() const noexcept { return waited_; }
  std::size_t hanging() const;
  std::size_t count() const noexcept { return processes_.size(); }

  // The loop runs: a time-out may have been noticed before what happens now.
  bool in_poll = false;
  // One by its number, of all calls (FailedCall::process).
  Failing calls;

  // ProcessSystem.
  detail::platform::Spawned spawn(const SubprocessCommand& command) override;
  detail::platform::Descriptor open_exit_descriptor(ProcessId pid) noexcept override;
  bool signal_group(ProcessId leader, Signal signal) noexcept override;
  bool signal(ProcessId pid, Signal signal) noexcept override;
  detail::platform::ChildState look_at(ProcessId pid) noexcept override;
  detail::platform::ChildState reap(ProcessId pid, ExitStatus& status) noexcept override;
  std::ptrdiff_t read(const detail::platform::Descriptor& descriptor,
                      std::span<char> buffer) noexcept override;
  std::size_t bytes_held(const detail::platform::Descriptor& descriptor) noexcept override;
  std::ptrdiff_t write(const detail::platform::Descriptor& descriptor,
                       std::string_view bytes) noexcept override;
  Duration await_readable(int descriptor, Duration at_most) noexcept override;

 private:
  struct Pipe {
    std::string held;
    bool host_has_end = true;
  };
  struct Process {
    ProcessId pid = 0, group = 0;
    std::shared_ptr<Program> program;
    bool leads = false;                         // it is the child of the host
    std::array<std::shared_ptr<Pipe>, 3> ends;  // input, output, errors; null: closed
    std::array<std::string, 2> unwritten;       // of its output and of its errors: its write blocks
    bool ignores_term = false, hangs = false;
    int dies_of = 0;  // a signal that ends it soon
    std::optional<ExitStatus> status;
  };
  struct End {  // a descriptor of the host
    std::shared_ptr<Program> program;
    std::shared_ptr<Pipe> pipe;  // null: it reports the end of the program
    bool writes = false;
  };

  void close(int descriptor) noexcept override;
  bool has(int descriptor) const override { return ends_.contains(descriptor); }
  detail::platform::IoEvents events_of(int descriptor) const override;
  bool refuses_watch(int descriptor) override;

  bool fails(ProcessFault fault);
  void count_failure(ProcessFault fault);
  Process* acting(std::uint32_t n);
  Process* child(ProcessId pid);
  bool is_held(const Pipe& pipe) const;
  ProcessId free_number() const;
  detail::platform::Descriptor open_end(End end);
  void put(Process& process, std::size_t stream, const std::string& text);
  void flow();
  void hit(Process& process, int signal);
  void end(Process& process, ExitStatus status);
  void forget_ended();
  void told(const Program& program, const std::string& what);

  SimNetwork& network_;
  const Clock& clock_;
  ProgramWatcher& watcher_;
  const ProcessHabits habits_;
  std::vector<std::unique_ptr<Process>> processes_;  // a leader until it is reaped
  std::map<int, End> ends_;
  std::map<ProcessId, std::shared_ptr<Program>>
      lost_;  // numbers that the library still takes for its child's
  std::array<std::uint32_t, process_fault_count> to_fail_{};
  std::uint64_t programs_ = 0, texts_ = 0;
  bool next_ignores_ = false, next_ends_ = false;
  bool host_is_dead_ = false;
  Duration waited_{};
};

}  // namespace agentcore::sim
