// FaultyVfs: a VFS of SQLite, of which a call fails when a test wants it to.
#pragma once

#include <cstddef>

namespace agentcore::test {

// What the calls of all files that are opened by this VFS do. One object at a time.
class FaultyVfs {
 public:
  static constexpr const char* name = "agentcore-faulty";
  enum class Fault : unsigned char {
    once,  // the call fails, the next one works
    gone,  // it and all that follow fail: the disk is gone
    torn,  // as `gone`, but if it is a write, half of it is written
    full,  // the call fails because the disk is full; the next one works
  };

  // Over SQLite's own VFS. A flush does nothing there: no test takes the power away, and a real one takes
  // milliseconds.
  FaultyVfs();
  // Over a VFS that SQLite knows by that name, and which must live as long. It gets the flushes, too.
  explicit FaultyVfs(const char* over);
  ~FaultyVfs();
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;

  // The call after `calls` more calls fails.
  void fail_after(std::size_t calls, Fault fault) noexcept;
  // Any call fails with a chance of one in `one_in`; of a write that fails, half is written with Fault::torn.
  // Fault::gone is the same as Fault::once here.
  void fail_at_random(unsigned seed, unsigned one_in, Fault fault) noexcept;
  // From here on no call fails.
  void repair() noexcept;
  // How many calls there were that could fail, since the construction or the last of the three functions
  // above.
  std::size_t calls() const noexcept;
  // How many of them have failed.
  std::size_t failures() const noexcept;
};

}  // namespace agentcore::test
