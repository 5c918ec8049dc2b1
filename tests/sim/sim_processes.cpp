#include "sim/sim_processes.hpp"

#include "support/observe/host_code.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

namespace agentcore::sim {

using detail::platform::ChildState;
using detail::platform::Descriptor;
using detail::platform::IoEvents;
using detail::platform::Spawned;

namespace {

constexpr std::size_t input = 0;  // of Process::ends; output and errors follow
constexpr ProcessId first_number = 300;

Spawned refused(std::string why) {
  Spawned spawned;
  spawned.error = std::move(why);
  return spawned;
}

std::string text_of(const ExitStatus& status) {
  return (status.kind == ExitStatus::Kind::exited ? "exits with " : "ends by signal ") +
         std::to_string(status.number);
}

}  // namespace

SimProcesses::SimProcesses(SimNetwork& network, const Clock& clock, ProgramWatcher& watcher,
                           ProcessHabits habits)
    : network_(network), clock_(clock), watcher_(watcher), habits_(habits) {
  network_.add(this);
}

SimProcesses::~SimProcesses() {
  network_.add(nullptr);
}

void SimProcesses::told(const Program& program, const std::string& what) {
  if (host_is_dead_) return;
  if (say) say("program " + std::to_string(program.number) + ' ' + what);
  if (note) note("a program " + what);
}

void SimProcesses::count_failure(ProcessFault fault) {
  if (note)
    note("a call for a program fails: " + std::string(process_fault_names[static_cast<std::size_t>(fault)]));
}

// True: this call fails, by a command or by its number.
bool SimProcesses::fails(ProcessFault fault) {
  const auto i = static_cast<std::size_t>(fault);
  const bool by_number = calls.next();
  if (!by_number && to_fail_[i] == 0) return false;
  if (!by_number) --to_fail_[i];
  count_failure(fault);
  return true;
}

void SimProcesses::fail_next(ProcessFault fault, std::uint32_t times) {
  if (fault != ProcessFault::reaped_by_host) {
    to_fail_[static_cast<std::size_t>(fault)] += times;
    return;
  }
  for (const auto& process : processes_) {
    if (!process->leads || !process->status) continue;
    process->program->lost = true;
    lost_[process->pid] = process->program;
    count_failure(fault);
  }
  std::erase_if(processes_, [](const auto& one) { return one->status && one->program->lost; });
}

void SimProcesses::calm() {
  to_fail_ = {};
  for (const auto& process : processes_) process->hangs = false;
  settle();
}

bool SimProcesses::settle() {
  bool any = false;
  for (const auto& process : processes_) {
    if (process->status || process->dies_of == 0 || process->hangs) continue;
    end(*process, {ExitStatus::Kind::signalled, process->dies_of});
    any = true;
  }
  forget_ended();
  return any;
}

void SimProcesses::end_all() {
  calm();
  for (const auto& process : processes_)
    if (!process->status) end(*process, {ExitStatus::Kind::exited, 0});
  forget_ended();
}

void SimProcesses::end(const Program& program) {
  for (const auto& process : processes_)
    if (process->program.get() == &program && !process->status) end(*process, {ExitStatus::Kind::exited, 0});
  forget_ended();
}

void SimProcesses::host_dies() {
  host_is_dead_ = true;
  processes_.clear();
  lost_.clear();
}

std::string SimProcesses::end_host() {
  std::string left;
  if (!ends_.empty())
    left = "a descriptor of program " + std::to_string(ends_.begin()->second.program->number);
  for (const auto& process : processes_) {
    const std::string name = "program " + std::to_string(process->program->number);
    if (process->leads && !process->hangs) left = name + ", which is not reaped";
    if (!process->leads && process->group == process->program->pid && process->dies_of == 0 &&
        !process->program->lost)
      left = "a process of the group of " + name;
  }
  return host_is_dead_ ? std::string() : left;
}

void SimProcesses::begin_host() {
  host_is_dead_ = false;
  processes_.clear();
  lost_.clear();
  ends_.clear();
  waited_ = {};
}

std::size_t SimProcesses::forgotten_descriptors() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(ends_, [](const auto& one) { return one.second.program->reaped; }));
}

std::size_t SimProcesses::hanging() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(processes_, [](const auto& one) { return one->hangs; }));
}

// What processes do.

SimProcesses::Process* SimProcesses::acting(std::uint32_t n) {
  std::vector<Process*> all;
  for (const auto& process : processes_) {
    const bool is_blocked = !process->unwritten[0].empty() || !process->unwritten[1].empty();
    if (!process->status && process->dies_of == 0 && !process->hangs && !is_blocked)
      all.push_back(process.get());
  }
  return all.empty() ? nullptr : all[n % all.size()];
}

bool SimProcesses::writes(std::uint32_t n, bool to_errors, std::size_t size) {
  Process* const process = acting(n);
  if (process == nullptr) return false;
  std::string text = "w" + std::to_string(++texts_) + ' ';
  if (text.size() < size) text.append(size - text.size(), static_cast<char>('a' + texts_ % 26));
  put(*process, to_errors ? 1 : 0, text);
  forget_ended();
  return true;
}

void SimProcesses::put(Process& process, std::size_t stream, const std::string& text) {
  if (process.ends[1 + stream]) process.unwritten[stream] += text;
  flow();
}

// What processes wait to write goes into their pipes, as far as there is room.
void SimProcesses::flow() {
  for (const auto& process : processes_) {
    for (std::size_t stream = 0; stream < 2 && !process->status; ++stream) {
      std::string& text = process->unwritten[stream];
      if (text.empty() || process->dies_of != 0) continue;
      Pipe& pipe = *process->ends[1 + stream];
      if (!pipe.host_has_end) {
        if (note) note("a process writes where nothing reads");
        end(*process, {ExitStatus::Kind::signalled, SIGPIPE});
        break;
      }
      const std::size_t count = std::min(text.size(), capacity - pipe.held.size());
      pipe.held.append(text, 0, count);
      process->program->written[stream].append(text, 0, count);
      text.erase(0, count);
    }
  }
}

bool SimProcesses::reads(std::uint32_t n, std::size_t most) {
  Process* const process = acting(n);
  if (process == nullptr || !process->ends[input]) return false;
  std::string& held = process->ends[input]->held;
  process->program->input.append(held, 0, most);
  held.erase(0, most);
  return true;
}

bool SimProcesses::closes(std::uint32_t n, std::uint32_t which) {
  Process* const process = acting(n);
  if (process == nullptr || !process->ends[which % 3]) return false;
  process->ends[which % 3].reset();
  return true;
}

bool SimProcesses::exits(std::uint32_t n, int code) {
  Process* const process = acting(n);
  if (process == nullptr) return false;
  end(*process, {ExitStatus::Kind::exited, code});
  forget_ended();
  return true;
}

bool SimProcesses::dies(std::uint32_t n, int signal) {
  Process* const process = acting(n);
  if (process == nullptr) return false;
  end(*process, {ExitStatus::Kind::signalled, signal});
  forget_ended();
  return true;
}

bool SimProcesses::ignores_term(std::uint32_t n) {
  Process* const process = acting(n);
  if (process == nullptr) return false;
  process->ignores_term = true;
  return true;
}

bool SimProcesses::forks(std::uint32_t n) {
  const Process* const parent = acting(n);
  if (parent == nullptr || processes_.size() >= 20) return false;
  auto process = std::make_unique<Process>(*parent);
  process->pid = free_number();
  process->leads = false;
  processes_.push_back(std::move(process));
  return true;
}

bool SimProcesses::leaves_group(std::uint32_t n) {
  Process* const process = acting(n);
  if (process == nullptr || process->group != process->program->pid) return false;
  // A leader cannot make a group of its own: it joins one that a child of it has made.
  process->group = process->leads ? free_number() : process->pid;
  return true;
}

bool SimProcesses::hangs(std::uint32_t n) {
  if (hanging() != 0 && n % 2 == 1) {
    for (const auto& process : processes_) process->hangs = false;
    settle();
    return true;
  }
  Process* const process = acting(n / 2);
  if (process != nullptr) process->hangs = true;
  return process != nullptr;
}

void SimProcesses::hit(Process& process, int signal) {
  if (process.status || (signal == SIGTERM && process.ignores_term)) return;
  if (habits_.dies_late || process.hangs)
    process.dies_of = process.dies_of != 0 ? process.dies_of : signal;  // the first one counts
  else
    end(process, {ExitStatus::Kind::signalled, signal});
}

void SimProcesses::end(Process& process, ExitStatus status) {
  process.ends = {};
  process.unwritten = {};
  process.status = status;
  if (!process.leads) return;
  process.program->status = status;
  process.program->ended_at = clock_.now();
  process.program->ended_unstopped = !process.program->terminated_at && !in_poll;
  for (std::size_t i = 0; i < 2; ++i) process.program->at_end[i] = process.program->written[i].size();
  told(*process.program, text_of(status));
}

// Those that are no children of the host are reaped by the system.
void SimProcesses::forget_ended() {
  std::erase_if(processes_, [](const auto& one) { return one->status && !one->leads; });
}

// The system's part.

SimProcesses::Process* SimProcesses::child(ProcessId pid) {
  const auto found =
      std::ranges::find_if(processes_, [pid](const auto& one) { return one->leads && one->pid == pid; });
  return found == processes_.end() ? nullptr : found->get();
}

bool SimProcesses::is_held(const Pipe& pipe) const {
  return std::ranges::any_of(processes_, [&pipe](const auto& one) {
    return std::ranges::any_of(one->ends, [&pipe](const auto& end) { return end.get() == &pipe; });
  });
}

// The smallest one: a number is used again as soon as the system may do that.
ProcessId SimProcesses::free_number() const {
  const auto is_used = [this](ProcessId number) {
    return lost_.contains(number) || std::ranges::any_of(processes_, [number](const auto& one) {
             return one->pid == number || one->group == number;
           });
  };
  ProcessId number = first_number;
  while (is_used(number)) ++number;
  return number;
}

Descriptor SimProcesses::open_end(End end) {
  const int descriptor = network_.smallest_free();
  ends_.emplace(descriptor, std::move(end));
  return Descriptor(descriptor, this);
}

Spawned SimProcesses::spawn(const SubprocessCommand& command) {
  const test::HostCode host;
  if (host_is_dead_) return refused("the host is dead");
  const auto refuse = [this](std::string why) {
    watcher_.on_refused_start(why);
    return refused(std::move(why));
  };
  if (fails(ProcessFault::not_found)) return refuse("cannot start \"program\": No such file or directory");
  if (fails(ProcessFault::no_process))
    return refuse("cannot start \"program\": Resource temporarily unavailable");
  if (fails(ProcessFault::no_pipe)) return refuse("cannot make a pipe: Too many open files");
  const auto program = std::make_shared<Program>();
  program->number = ++programs_;
  program->pid = free_number();
  auto process = std::make_unique<Process>();
  process->pid = process->group = program->pid;
  process->program = program;
  process->leads = true;
  process->ignores_term = std::exchange(next_ignores_, false);
  Spawned spawned;
  spawned.pid = program->pid;
  const std::array<Descriptor*, 3> of_host{command.input.empty() ? nullptr : &spawned.input, &spawned.output,
                                           &spawned.errors};
  for (std::size_t i = 0; i < of_host.size(); ++i) {
    if (of_host[i] == nullptr) continue;
    process->ends[i] = std::make_shared<Pipe>();
    *of_host[i] = open_end({program, process->ends[i], i == input});
  }
  Process& started = *processes_.emplace_back(std::move(process));
  told(*program, "starts");
  watcher_.on_start(program);
  if (std::exchange(next_ends_, false)) {
    put(started, 0, "at once");
    end(started, {ExitStatus::Kind::exited, 0});
  }
  return spawned;
}

Descriptor SimProcesses::open_exit_descriptor(ProcessId pid) noexcept {
  const test::HostCode host;
  const Process* const process = child(pid);
  if (process == nullptr || !habits_.has_pidfd || fails(ProcessFault::no_pidfd)) return Descriptor();
  return open_end({process->program, nullptr, false});
}

bool SimProcesses::signal_group(ProcessId leader, Signal signal) noexcept {
  const test::HostCode host;
  if (host_is_dead_ || lost_.contains(leader)) return false;
  Process* const of = child(leader);
  if (of == nullptr) {
    watcher_.on_misuse("a signal to a group whose leader was reaped");
    return false;
  }
  Program& program = *of->program;
  told(program, signal == Signal::kill ? "gets SIGKILL" : "gets SIGTERM");
  watcher_.on_signal(program, signal);
  (signal == Signal::kill ? program.killed_at : program.terminated_at) = clock_.now();
  bool any = false;
  for (const auto& process : processes_) {
    if (process->group != leader) continue;
    hit(*process, signal == Signal::kill ? SIGKILL : SIGTERM);
    any = true;
  }
  forget_ended();
  return any;
}

bool SimProcesses::signal(ProcessId pid, Signal signal) noexcept {
  const test::HostCode host;
  if (host_is_dead_ || lost_.contains(pid)) return false;
  Process* const process = child(pid);
  if (process == nullptr)
    watcher_.on_misuse("a signal to a process that was reaped");
  else
    hit(*process, signal == Signal::kill ? SIGKILL : SIGTERM);
  return process != nullptr;
}

ChildState SimProcesses::look_at(ProcessId pid) noexcept {
  const test::HostCode host;
  if (host_is_dead_) return ChildState::gone;
  if (fails(ProcessFault::wait)) {
    if (const Process* const unclear = child(pid)) unclear->program->was_unclear = true;
    return ChildState::unknown;
  }
  const auto lost = lost_.extract(pid);
  if (lost) return ChildState::gone;
  const Process* const process = child(pid);
  if (process != nullptr) return process->status ? ChildState::ended : ChildState::running;
  watcher_.on_misuse("a second look at a program that was reaped");
  return ChildState::gone;
}

ChildState SimProcesses::reap(ProcessId pid, ExitStatus& status) noexcept {
  const test::HostCode host;
  if (host_is_dead_) return ChildState::gone;
  Process* const process = child(pid);
  if (fails(ProcessFault::wait)) {
    if (process != nullptr) process->program->was_unclear = true;
    return ChildState::unknown;
  }
  if (process == nullptr) {
    watcher_.on_misuse("a program is reaped twice");
    return ChildState::gone;
  }
  if (!process->status) return ChildState::running;
  status = *process->status;
  const std::shared_ptr<Program> program = process->program;
  std::erase_if(processes_, [process](const auto& one) { return one.get() == process; });
  program->reaped = true;
  const auto left = std::ranges::count_if(
      processes_, [pid](const auto& one) { return one->group == pid && !one->status && one->dies_of == 0; });
  told(*program, "is reaped");
  watcher_.on_reaped(*program, static_cast<std::size_t>(left));
  return ChildState::ended;
}

std::ptrdiff_t SimProcesses::read(const Descriptor& descriptor, std::span<char> buffer) noexcept {
  const test::HostCode host;
  if (host_is_dead_) return 0;
  if (fails(ProcessFault::read)) return errno = EINTR, -1;
  Pipe& pipe = *ends_.at(descriptor.get()).pipe;
  if (pipe.held.empty()) return is_held(pipe) ? (errno = EAGAIN, -1) : 0;
  std::size_t count = std::min(buffer.size(), pipe.held.size());
  if (habits_.most_per_call != 0) count = std::min(count, habits_.most_per_call);
  pipe.held.copy(buffer.data(), count);
  pipe.held.erase(0, count);
  flow();
  forget_ended();
  return static_cast<std::ptrdiff_t>(count);
}

std::size_t SimProcesses::bytes_held(const Descriptor& descriptor) noexcept {
  return host_is_dead_ ? 0 : ends_.at(descriptor.get()).pipe->held.size();
}

std::ptrdiff_t SimProcesses::write(const Descriptor& descriptor, std::string_view bytes) noexcept {
  const test::HostCode host;
  if (host_is_dead_) return errno = EPIPE, -1;
  if (fails(ProcessFault::write)) return errno = EINTR, -1;
  Pipe& pipe = *ends_.at(descriptor.get()).pipe;
  if (!is_held(pipe)) return errno = EPIPE, -1;
  std::size_t count = std::min(bytes.size(), capacity - pipe.held.size());
  if (count == 0) return errno = EAGAIN, -1;
  if (habits_.most_per_call != 0) count = std::min(count, habits_.most_per_call);
  pipe.held.append(bytes.substr(0, count));
  return static_cast<std::ptrdiff_t>(count);
}

void SimProcesses::close(int descriptor) noexcept {
  const test::HostCode host;
  const auto closed = ends_.extract(descriptor);
  if (!closed) {
    if (!host_is_dead_) watcher_.on_misuse("a descriptor is closed twice");
    return;
  }
  if (network_.is_watched(descriptor)) watcher_.on_misuse("a descriptor is closed while it is watched");
  if (closed.mapped().pipe) closed.mapped().pipe->host_has_end = false;
  flow();
  forget_ended();
}

IoEvents SimProcesses::events_of(int descriptor) const {
  if (host_is_dead_) return IoEvents::none;
  const End& end = ends_.at(descriptor);
  if (!end.pipe) return end.program->status ? IoEvents::readable : IoEvents::none;
  const bool is_open = is_held(*end.pipe);
  if (!end.writes) return end.pipe->held.empty() && is_open ? IoEvents::none : IoEvents::readable;
  if (!is_open) return IoEvents::writable | IoEvents::error;
  return end.pipe->held.size() < capacity ? IoEvents::writable : IoEvents::none;
}

bool SimProcesses::refuses_watch(int descriptor) {
  const test::HostCode host;
  if (host_is_dead_ || !fails(ProcessFault::unwatched)) return false;
  const End& end = ends_.at(descriptor);
  end.program->unwatched = end.program->unwatched || end.pipe;  // without pidfd there is a timer
  return true;
}

Duration SimProcesses::await_readable(int descriptor, Duration at_most) noexcept {
  const test::HostCode host;
  const bool any = settle();
  if (any || (descriptor >= 0 && events_of(descriptor) != IoEvents::none))
    return std::chrono::microseconds(1);
  waited_ += at_most;
  return at_most;
}

}  // namespace agentcore::sim
