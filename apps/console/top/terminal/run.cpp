#include "console/top/run.hpp"

#include "console/top/terminal/screen.hpp"
#include "console/top/terminal/signals.hpp"
#include "console/top/viewer.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <vector>

#include <poll.h>
#include <unistd.h>

namespace console_app::top {
namespace {

// Text streams faster than a person reads, and each picture costs bytes of an ssh connection.
constexpr auto between_pictures = std::chrono::milliseconds(50);

class Loop {
 public:
  explicit Loop(const Settings& settings) : api_(http_, settings) {}

  void run() {
    follower_.start();
    draw();
    while (step()) {
    }
  }

 private:
  bool step() {
    std::vector<pollfd> watched{{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                {.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
    http_.add_descriptors(watched);
    if (::poll(watched.data(), watched.size(), wait_ms()) < 0) {
      if (errno != EINTR) throw std::runtime_error("poll(2) failed");
      for (pollfd& each : watched) each.revents = 0;
    }
    const TimePoint now = SteadyClock::now();
    const Signals::Seen seen = signals_.take();
    if (seen.quit || (watched[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return false;
    if (seen.resized) screen_.resize();
    const bool has_keys = (watched[0].revents & POLLIN) != 0;
    while (const std::optional<KeyPress> key = has_keys ? screen_.read_key() : std::nullopt)
      if (!viewer_.press(*key)) return false;
    const bool answered = http_.run(watched, now), ran = timers_.run(now);
    follower_.follow_selected();
    is_old_ = is_old_ || answered || ran;
    // What a person does is seen at once.
    if (has_keys || seen.resized || (is_old_ && now - drawn_ >= between_pictures)) draw();
    return true;
  }

  void draw() {
    screen_.draw(viewer_.frame(screen_.size()));
    drawn_ = SteadyClock::now();
    is_old_ = false;
  }

  // For ::poll(): -1 is forever.
  int wait_ms() const {
    std::optional<TimePoint> until = is_old_ ? std::optional(drawn_ + between_pictures) : std::nullopt;
    for (const auto& other : {http_.deadline(), timers_.next()})
      if (other) until = until ? std::min(*until, *other) : other;
    if (!until) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - SteadyClock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
  }

  Http http_;
  Timers timers_;
  Api api_;
  Agents agents_;
  Questions questions_;
  Conversation conversation_;
  Follower follower_{api_, timers_, agents_, questions_, conversation_};
  Viewer viewer_{api_, agents_, questions_, conversation_, follower_};
  Signals signals_;
  Screen screen_;
  TimePoint drawn_ = {};
  bool is_old_ = false;  // the picture
};

}  // namespace

int run(const Settings& settings) {
  Loop(settings).run();
  return 0;
}

}  // namespace console_app::top
