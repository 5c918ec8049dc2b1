// SdlLoop: drives a Runtime from the events of SDL 2, also while SDL_WaitEvent() sleeps.
#pragma once

#include <agentcore/adapters/failures.hpp>
#include <agentcore/error.hpp>
#include <agentcore/loop_attachment.hpp>

#include <cerrno>
#include <memory>
#include <thread>
#include <utility>

#include <SDL.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace agentcore::adapters {

/// Drives a Runtime from SDL's event queue. SDL cannot watch descriptors, so the adapter has a thread that
/// does: it sleeps until the Runtime has work, pushes one event, and sleeps again until handle() has got it.
/// It blocks all signals.
///
///     SDL_Init(SDL_INIT_VIDEO);
///     agentcore::Runtime runtime;
///     agentcore::adapters::SdlLoop attached{runtime};
///     for (SDL_Event event; SDL_WaitEvent(&event) == 1 && event.type != SDL_QUIT;) {
///       if (attached.handle(event)) continue;  // agentcore was driven
///       // ... your events
///     }
///
/// A game that draws each frame and never sleeps needs no thread: use game_loop.hpp.
///
/// Threads. The thread that calls handle() is the loop thread; it is the one that receives SDL's events.
///
/// Lifetime. The destructor ends the adapter and its thread; it does not wait for the loop. It may be called
/// in any callback, before and after the end of the Runtime, and before and after SDL_Quit(). But SDL_Quit()
/// must not be called while another thread brings work to the Runtime and the adapter exists, because no
/// thread may push events meanwhile.
///
/// If SDL does not take the event, because its queue is full, its events are not initialized or a filter
/// drops it, the thread tries again every 10 ms. If there is more work than RuntimeOptions::poll_budget
/// allows, a further event follows, behind those that are in the queue.
///
/// @loop_thread
class SdlLoop {
 public:
  /// Attaches `runtime`. Throws std::system_error for the reasons that LoopAttachment::open_descriptor()
  /// names and if the system has no thread left, and std::runtime_error if SDL has no type of events left.
  explicit SdlLoop(Runtime& runtime) : watch_(std::make_shared<Watch>(runtime)) {
    const int descriptor = watch_->attachment.open_descriptor();
    if (!has_event_type()) detail::throw_runtime_error(no_event_type);
    if (const int error = watch_->start(descriptor); error != 0) detail::throw_system_error(error, "SdlLoop");
  }
  /// As the constructor, for hosts without exceptions. Errors: those of
  /// LoopAttachment::try_open_descriptor(); out_of_memory if the system has no descriptor or thread left, or
  /// SDL no type of events.
  static Result<std::unique_ptr<SdlLoop>> make(Runtime& runtime) {
    auto watch = std::make_shared<Watch>(runtime);
    const Result<int> descriptor = watch->attachment.try_open_descriptor();
    if (!descriptor) return descriptor.error();
    if (!has_event_type()) return Error{Errc::out_of_memory, no_event_type};
    if (const int error = watch->start(*descriptor); error != 0)
      return Error{Errc::out_of_memory, error == EAGAIN ? "SdlLoop: the system has no thread left"
                                                        : "SdlLoop: the system has no descriptor left"};
    return std::unique_ptr<SdlLoop>(new SdlLoop(std::move(watch)));
  }
  /// Detaches. No poll() follows.
  ~SdlLoop() { watch_->end(); }
  SdlLoop(const SdlLoop&) = delete;
  SdlLoop& operator=(const SdlLoop&) = delete;

  /// If `event` comes from this adapter, calls Runtime::poll() and returns true. Call it for each event that
  /// you receive.
  bool handle(const SDL_Event& event) {
    if (event.type != event_type() || event.user.data1 != watch_.get()) return false;
    const auto watch = watch_;  // a callback may destroy the adapter
    watch->attachment.poll();
    if (watch->attachment.is_attached()) watch->command(Command::go_on);
    return true;
  }

  /// The type of the events of all adapters: one of SDL_RegisterEvents().
  static Uint32 event_type() {
    static const Uint32 type = SDL_RegisterEvents(1);
    return type;
  }

 private:
  static constexpr const char* no_event_type = "SdlLoop: SDL has no type of events left";
  static bool has_event_type() { return event_type() != static_cast<Uint32>(-1); }

  enum class Command : char { go_on, end };

  // A thread that watches the descriptor, and a pipe for commands to it.
  struct Watch {
    explicit Watch(Runtime& runtime) : attachment(runtime) {}
    ~Watch() { end(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // 0, or the error of the system; EAGAIN: it has no thread left.
    int start(int descriptor) {
      if (::pipe(pipe) != 0) return errno;
      for (const int end_of_pipe : pipe) ::fcntl(end_of_pipe, F_SETFD, FD_CLOEXEC);
      sigset_t all, before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
      const bool started = detail::start_thread(thread, [this, descriptor] { push_events(descriptor); });
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      if (!started) close_pipe();
      return started ? 0 : EAGAIN;
    }

    void command(Command one) const {
      if (thread.joinable()) [[maybe_unused]]
        const auto count = ::write(pipe[1], &one, 1);
    }
    void end() {
      if (!thread.joinable()) return;
      command(Command::end);
      thread.join();
      close_pipe();
    }
    void close_pipe() const {
      for (const int end_of_pipe : pipe) ::close(end_of_pipe);
    }

    // On the thread. While an event is in SDL's queue, or SDL refused one, it waits for commands only.
    void push_events(int descriptor) {
      enum class State { idle, pushed, refused } state = State::idle;
      for (;;) {
        pollfd watched[2] = {{pipe[0], POLLIN, 0}, {state == State::idle ? descriptor : -1, POLLIN, 0}};
        const int ready = ::poll(watched, 2, state == State::refused ? 10 : -1);
        if (ready < 0) continue;
        if (watched[0].revents != 0) {
          Command command = Command::end;
          if (::read(pipe[0], &command, 1) != 1 || command == Command::end) return;
          state = State::idle;
        } else {
          state = push_event() ? State::pushed : State::refused;
        }
      }
    }
    bool push_event() {
      SDL_Event event{};
      event.type = event_type();
      event.user.data1 = this;
      return SDL_PushEvent(&event) == 1;
    }

    LoopAttachment attachment;
    int pipe[2] = {-1, -1};
    std::thread thread;
  };

  explicit SdlLoop(std::shared_ptr<Watch> watch) noexcept : watch_(std::move(watch)) {}

  std::shared_ptr<Watch> watch_;
};

}  // namespace agentcore::adapters
