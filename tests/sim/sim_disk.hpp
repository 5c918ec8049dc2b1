// SimDisk: a disk in memory behind SQLite. It knows what was flushed, so that a loss of power can take away
// what was not.
#pragma once

#include "sim/faults.hpp"
#include "sim/random.hpp"

#include <agentcore/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct sqlite3_vfs;

namespace agentcore::sim {

// The files of a VFS that SQLite knows by the name of this class. One object at a time, one connection at a
// time.
class SimDisk {
 public:
  static constexpr const char* name = "agentcore-sim-disk";
  // What the end of a process takes away.
  enum class Loss : std::uint8_t {
    nothing,    // the system goes on, and has all that was written
    unflushed,  // the power is gone: of what was not flushed, any part may be there, or a part of a write
  };

  // `space_beside`: the bytes that other files hold on this disk.
  SimDisk(Clock& clock, Loss loss, std::function<std::uint64_t()> space_beside);
  ~SimDisk();
  SimDisk(const SimDisk&) = delete;
  SimDisk& operator=(const SimDisk&) = delete;

  // The process ends now: this is what the next one finds. What is written until go_back() is lost.
  void cut(std::uint64_t seed);
  // After the files were closed.
  void go_back();
  // The process ends within the change after `changes` more of them, and `on_death` is called.
  void die_after(std::size_t changes, std::uint64_t seed, std::function<void()> on_death);
  void live_on() noexcept { dies_at_.reset(); }

  // From now on there is room for so many bytes more; nothing: for all.
  void limit_space(std::optional<std::uint64_t> bytes);
  // The next change takes so long.
  void be_slow(Duration time) noexcept { slow_ = time; }
  // The next `tries` to write, or to make a checkpoint, find another process at it.
  void be_busy(std::size_t tries) noexcept { busy_ = tries; }
  void heal() noexcept;

  // How often it had no room, and a lock was held.
  std::size_t refused() const noexcept { return refused_; }
  std::size_t found_busy() const noexcept { return found_busy_; }
  Failing calls;            // all that can fail
  bool is_checked = false;  // the oracle reads: these neither fail nor count

 private:
  struct Calls;
  friend struct Calls;
  struct Write {
    std::size_t at = 0;
    std::optional<std::string> bytes;  // nothing: the file is cut off at `at`
  };
  struct Node {
    std::string bytes;         // as the process sees them
    std::string flushed;       // as they are after a loss of power
    std::vector<Write> since;  // the last flush
    bool is_named = false;     // its name was flushed
    std::vector<std::unique_ptr<char[]>>
        shared;  // the index of a write-ahead log, which no end of a process leaves
  };
  using Names = std::map<std::string, std::shared_ptr<Node>>;

  static void apply(std::string& bytes, const Write& write);
  void change(Node& node, Write write);
  bool fails() noexcept { return !is_checked && calls.next(); }
  // Before each change. True: the process dies within it.
  bool dies();
  void die();
  bool has_room(const Node& node, std::size_t size);
  void flush(Node& node);
  std::uint64_t used() const;

  Clock& clock_;
  const Loss loss_;
  const std::function<std::uint64_t()> space_beside_;
  Names names_, flushed_names_;
  std::optional<std::map<std::string, std::string>> kept_;  // since cut()
  std::optional<std::size_t> dies_at_;
  std::uint64_t death_seed_ = 0;
  std::function<void()> on_death_;
  std::optional<std::uint64_t> most_;
  Duration slow_{};
  std::size_t busy_ = 0, refused_ = 0, found_busy_ = 0;
  std::unique_ptr<sqlite3_vfs> vfs_;
};

}  // namespace agentcore::sim
