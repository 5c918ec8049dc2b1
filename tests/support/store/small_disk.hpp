// SmallDisk: a file system of a few MiB that this process alone sees, and that a test can fill up.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace agentcore::test {

// A small disk needs a mount namespace, and so a process of its own: on_small_disk() runs hidden tests of
// this program in one, with the folder of the disk in AGENTCORE_SMALL_DISK.
class SmallDisk {
 public:
  explicit SmallDisk(std::string path) : path_(std::move(path)) {}

  std::string file(const std::string& name = "agents.db") const { return path_ + "/" + name; }
  // Until no byte is left. Returns how many were.
  std::size_t fill() const {
    const int file = ::open(filler().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const std::string bytes(4096, 'f');
    std::size_t written = 0;
    for (std::size_t size = bytes.size(); size != 0;) {
      const ssize_t now = ::write(file, bytes.data(), size);
      if (now > 0)
        written += static_cast<std::size_t>(now);
      else
        size /= 2;
    }
    ::close(file);
    return written;
  }
  // Removes all files.
  void clear() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      std::filesystem::remove_all(entry.path());
  }
  void make_room() const { ::unlink(filler().c_str()); }

 private:
  std::string filler() const { return file("filler"); }
  std::string path_;
};

namespace small_disk {

constexpr int not_permitted = 77;

inline bool write_file(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

// A mount namespace, as root or with a user namespace.
inline bool enter_namespace() {
  const auto user = std::to_string(::geteuid()), group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    write_file("/proc/self/setgroups", "deny");
    if (!write_file("/proc/self/uid_map", "0 " + user + " 1\n")) return false;
    if (!write_file("/proc/self/gid_map", "0 " + group + " 1\n")) return false;
  }
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

}  // namespace small_disk

// Runs the tests of this program with that tag on a disk of so many MiB, which is mounted at `folder`.
// Returns the exit code of the program, or small_disk::not_permitted.
inline int on_small_disk(const std::string& folder, int mebibytes, const std::string& tag) {
  const std::string size = "size=" + std::to_string(mebibytes) + "m";
  const pid_t child = ::fork();
  if (child == 0) {
    if (!small_disk::enter_namespace() ||
        ::mount("agentcore", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, size.c_str()) != 0)
      ::_exit(small_disk::not_permitted);
    ::setenv("AGENTCORE_SMALL_DISK", folder.c_str(), 1);
    ::execl("/proc/self/exe", "agentcore tests", tag.c_str(), static_cast<char*>(nullptr));
    ::_exit(1);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace agentcore::test
