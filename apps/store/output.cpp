#include "output.hpp"

#include "failure.hpp"

#include <cerrno>
#include <cstddef>
#include <system_error>

#include <unistd.h>

namespace store_tool {

void Output::print(std::string_view text) {
  constexpr std::size_t most = 1 << 16;
  if (closed_) return;
  collected_ += text;
  if (collected_.size() >= most) flush();
}

void Output::flush() {
  std::string_view left = collected_;
  while (!left.empty() && !closed_) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno != EINTR) {
      const std::string why = std::generic_category().message(errno);
      collected_.clear();
      throw Failure(agentcore::Errc::none, "standard output: " + why + "; write to another file or terminal");
    }
  }
  collected_.clear();
}

}  // namespace store_tool
