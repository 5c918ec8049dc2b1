#include "support/observe/memory_scan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace agentcore::test {
namespace {

constexpr char disguise = 0x55;
constexpr std::size_t window = std::size_t{1} << 20;

// The data that was read is in a mapping of its own, which is not searched.
class Window {
 public:
  Window()
      : bytes_(static_cast<char*>(
            ::mmap(nullptr, window, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        memory_(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC)) {}
  ~Window() {
    ::munmap(bytes_, window);
    ::close(memory_);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // In [begin, end), which may hold the window itself.
  std::size_t count(std::uintptr_t begin, std::uintptr_t end, const Masked& text) {
    const auto own = reinterpret_cast<std::uintptr_t>(bytes_);
    if (begin < own + window && own < end)
      return count(begin, std::max(begin, own), text) + count(std::min(end, own + window), end, text);
    std::size_t found = 0;
    while (begin + text.size() <= end) {
      const auto got =
          ::pread(memory_, bytes_, std::min<std::size_t>(window, end - begin), static_cast<off_t>(begin));
      if (got < static_cast<ssize_t>(text.size())) return found;
      const std::size_t last = static_cast<std::size_t>(got) - text.size();
      for (std::size_t i = 0; i <= last; ++i) found += text.ends(bytes_ + i);
      begin += last + 1;  // one that the window cut is found in the next
    }
    return found;
  }

 private:
  char* bytes_;
  int memory_;
};

}  // namespace

Masked::Masked(std::string_view prefix, std::size_t letters) {
  std::random_device random;
  for (const char c : prefix) masked_.push_back(static_cast<char>(c ^ disguise));
  for (; letters > 0; --letters) masked_.push_back(static_cast<char>(('a' + random() % 26) ^ disguise));
}

std::string Masked::reveal() const {
  std::string text;
  text.reserve(masked_.size());
  for (const char c : masked_) text.push_back(static_cast<char>(c ^ disguise));
  return text;
}

bool Masked::ends(const char* bytes) const noexcept {
  return std::equal(masked_.end() - static_cast<std::ptrdiff_t>(size()), masked_.end(), bytes,
                    [](char own, char c) { return (own ^ disguise) == c; });
}

std::size_t count_in_memory(const Masked& text) {
  Window window_of_memory;
  std::size_t found = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, access) == 3 && access[1] == 'w')
      found += window_of_memory.count(begin, end, text);
  }
  return found;
}

}  // namespace agentcore::test
