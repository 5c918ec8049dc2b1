#include "process/process.hpp"

#include "loop/time.hpp"
#include "process/processes.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <new>
#include <span>
#include <system_error>
#include <utility>

namespace agentcore::detail::process {

namespace {

constexpr Duration longest_check_interval = std::chrono::milliseconds(50);
// A killed program ends at once, unless the kernel itself keeps it (a disk that does not answer) or it runs
// as another user; a destructor does not wait for those.
constexpr Duration longest_kill_wait = std::chrono::seconds(1);

// A call that a signal has interrupted is made again.
template <typename Call>
std::ptrdiff_t uninterrupted(Call&& call) noexcept {
  std::ptrdiff_t count = 0;
  do {
    count = call();
  } while (count < 0 && errno == EINTR);
  return count;
}

}  // namespace

void CappedText::append(std::string_view bytes) noexcept {
  std::size_t room = std::min(limit - text.size(), bytes.size());
  try {
    text.append(bytes.substr(0, room));
  } catch (const std::bad_alloc&) {
    limit = text.size();
    room = 0;
  }
  dropped += bytes.size() - room;
}

Process::Process(Processes& all, std::uint64_t id, const ProcessOptions& options, OnEnd on_end)
    : all_(all),
      engine_(all.engine()),
      system_(all.system()),
      id_(id),
      options_(options),
      on_end_(std::move(on_end)),
      group_(system_) {
  output_.kept.limit = errors_.kept.limit = options_.max_output_bytes;
}

Process::~Process() {
  stop_callback_.reset();  // waits for a callback that is running
  end_group();
  cancel(grace_timer_);
  cancel(check_timer_);
  for (platform::Descriptor* const descriptor : {&exit_, &input_, &output_.descriptor, &errors_.descriptor})
    close(*descriptor);
}

std::string Process::run(platform::Spawned spawned, std::string input, StopToken stop) {
  group_.lead(spawned.pid);
  input_ = std::move(spawned.input);
  to_write_ = std::move(input);
  output_.descriptor = std::move(spawned.output);
  errors_.descriptor = std::move(spawned.errors);
  if (options_.watch == ExitWatch::automatic) exit_ = system_.open_exit_descriptor(spawned.pid);
  if (exit_ && engine_.watch(exit_.get(), loop::IoEvents::readable, *this)) exit_.reset();
  if (!exit_) check_end_later();
  std::error_code refused;
  if (input_) refused = engine_.watch(input_.get(), loop::IoEvents::writable, *this);
  if (!refused) refused = engine_.watch(output_.descriptor.get(), loop::IoEvents::readable, *this);
  if (!refused) refused = engine_.watch(errors_.descriptor.get(), loop::IoEvents::readable, *this);
  if (refused)
    return "the program was ended, because the system refuses to watch what it writes: " + refused.message();
  stop_callback_.emplace(std::move(stop), [this] { on_stop(); });
  return {};
}

// On the stopping thread. Allocates nothing, so that it cannot fail.
void Process::on_stop() noexcept {
  group_.terminate();
  stopped_at_.store(engine_.now(), std::memory_order_relaxed);
  stopped_.store(true, std::memory_order_release);
  all_.note_stopped();
}

void Process::begin_grace() {
  if (grace_timer_ != 0 || !stopped_.load(std::memory_order_acquire)) return;
  const TimePoint end = loop::later(stopped_at_.load(std::memory_order_relaxed), options_.kill_grace);
  grace_timer_ = engine_.start_timer(end, [this] { kill(); });
}

void Process::on_io(int descriptor, loop::IoEvents) {
  if (descriptor == input_.get()) return write_some();
  if (descriptor == exit_.get()) return check_end();
  Stream& stream = descriptor == output_.descriptor.get() ? output_ : errors_;
  read_some(stream, all_.buffer().size());
}

void Process::look() {
  if (const auto status = group_.try_reap()) all_.on_end(*this, *status);
}

// If the program has ended, destroys `this`.
void Process::check_end() {
  if (const auto status = group_.try_reap()) return all_.on_end(*this, *status);
  if (!exit_) check_end_later();
}

void Process::check_end_later() {
  check_timer_ = engine_.start_timer(loop::later(engine_.now(), check_after_), [this] { check_end(); });
  check_after_ = std::min(check_after_ * 2, longest_check_interval);
}

void Process::write_some() {
  const std::string_view rest = std::string_view(to_write_).substr(written_);
  const std::ptrdiff_t count = uninterrupted([&] { return system_.write(input_, rest); });
  if (count < 0 && errno == EAGAIN) return;
  if (count > 0) written_ += static_cast<std::size_t>(count);
  if (count > 0 && written_ < to_write_.size()) return;
  close(input_);  // all is written, or the program reads no more
  to_write_ = {};
}

// Returns the number of bytes read. Closes the stream at its end.
std::size_t Process::read_some(Stream& stream, std::size_t at_most) {
  auto& buffer = all_.buffer();
  const std::span into = std::span(buffer).first(std::min(at_most, buffer.size()));
  const std::ptrdiff_t count = uninterrupted([&] { return system_.read(stream.descriptor, into); });
  if (count < 0 && errno == EAGAIN) return 0;
  if (count <= 0) {
    close(stream.descriptor);
    return 0;
  }
  const auto size = static_cast<std::size_t>(count);
  stream.kept.append({buffer.data(), size});
  return size;
}

// Reads the present content of the pipe, and no more: a process that left the group may hold the pipe, too,
// and write without end.
void Process::read_rest(Stream& stream) {
  if (!stream.descriptor) return;
  for (std::size_t left = system_.bytes_held(stream.descriptor); left > 0;) {
    const std::size_t count = read_some(stream, left);
    if (count == 0) return;
    left -= count;
  }
}

void Process::finish(std::unique_ptr<Process> process, ExitStatus status) {
  process->read_rest(process->output_);
  process->read_rest(process->errors_);
  ProcessEnd end{status, process->stopped_, std::move(process->output_.kept),
                 std::move(process->errors_.kept)};
  const OnEnd on_end = std::move(process->on_end_);
  process.reset();
  on_end(std::move(end));
}

void Process::close(platform::Descriptor& descriptor) noexcept {
  if (!descriptor) return;
  engine_.unwatch(descriptor.get());
  descriptor.reset();
}

void Process::cancel(std::uint64_t& timer) noexcept {
  if (timer != 0) engine_.cancel_timer(std::exchange(timer, 0));
}

void Process::end_group() noexcept {
  kill();
  Duration left = longest_kill_wait;
  while (group_.alive() && !group_.try_reap() && left > Duration(0))
    left -= system_.await_readable(exit_.get(),
                                   exit_ ? left : std::min<Duration>(left, std::chrono::milliseconds(1)));
}

}  // namespace agentcore::detail::process
