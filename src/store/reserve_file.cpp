#include "store/reserve_file.hpp"

#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace agentcore::detail::store {

ReserveFile::ReserveFile(const std::string& path, std::uint64_t bytes) noexcept
    : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)), bytes_(bytes) {
  hold();
}

ReserveFile::ReserveFile(ReserveFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(other.bytes_), held_(other.held_) {
}

ReserveFile& ReserveFile::operator=(ReserveFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  std::swap(held_, other.held_);
  return *this;
}

ReserveFile::~ReserveFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ReserveFile::hold() noexcept {
  if (descriptor_ < 0 || held_ || bytes_ == 0) return;
  held_ = ::posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes_)) == 0;
  if (!held_) release();  // it may have got a part
}

void ReserveFile::release() noexcept {
  held_ = false;
  if (descriptor_ >= 0 && ::ftruncate(descriptor_, 0) != 0) return;
}

}  // namespace agentcore::detail::store
