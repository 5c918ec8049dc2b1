#include "key_file.hpp"

#include "core/wipe.hpp"
#include "failure.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace store_tool {
namespace {

using agentcore::Errc;

constexpr std::size_t longest = 4096;
constexpr std::size_t shortest = 16;

[[noreturn]] void refuse_key_file(const std::string& file, int number) {
  throw Failure(Errc::store_unavailable, file + ": " + std::generic_category().message(number) +
                                             "; give --key-file the file with the key");
}

// Reads until the end of the file, or until the buffer is full.
std::size_t read_bytes(const std::string& file, char* to, std::size_t size) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) refuse_key_file(file, errno);
  std::size_t have = 0;
  int problem = 0;
  while (have < size && problem == 0) {
    const ssize_t got = ::read(descriptor, to + have, size - have);
    if (got == 0) break;
    if (got > 0)
      have += static_cast<std::size_t>(got);
    else if (errno != EINTR)
      problem = errno;
  }
  ::close(descriptor);
  if (problem != 0) refuse_key_file(file, problem);
  return have;
}

}  // namespace

std::string read_key(const std::string& file) {
  std::array<char, longest + 3> bytes{};  // an end of line, and one byte that is too many
  std::string_view key(bytes.data(), read_bytes(file, bytes.data(), bytes.size()));
  if (key.ends_with('\n')) key.remove_suffix(key.ends_with("\r\n") ? 2 : 1);
  std::string result(key);
  agentcore::detail::core::wipe(bytes.data(), bytes.size());
  if (result.size() >= shortest && result.size() <= longest) return result;
  agentcore::detail::core::wipe(result);
  throw Failure(Errc::invalid_config,
                file + ": a key has 16 to 4096 bytes; give --key-file the file with the key");
}

}  // namespace store_tool
