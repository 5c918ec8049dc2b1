#include "receipts/line_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace agentcore::detail::receipts {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{64} << 10;

Errc code_of(int number, bool is_open) noexcept {
  switch (number) {
    case EACCES:
    case EPERM:
    case EROFS:
      return Errc::store_read_only;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Errc::store_full;
    default:
      return is_open ? Errc::store_failed : Errc::store_unavailable;
  }
}

Error error_of(const std::string& path, int number, bool is_open) noexcept {
  try {
    return {code_of(number, is_open), path + ": " + std::generic_category().message(number)};
  } catch (const std::bad_alloc&) {
    return {code_of(number, is_open), {}};
  }
}

int flags_of(LineFile::Mode mode) noexcept {
  switch (mode) {
    case LineFile::Mode::read:
      return O_RDONLY;
    case LineFile::Mode::append:
      return O_RDWR | O_CREAT;
    case LineFile::Mode::create:
      return O_RDWR | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

}  // namespace

Result<LineFile> LineFile::open(const std::string& path, Mode mode) {
  LineFile file;
  file.path_ = path;
  // Not blocking: a pipe would wait for its other end.
  file.descriptor_ = ::open(path.c_str(), flags_of(mode) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  if (file.descriptor_ < 0) return error_of(path, errno, false);
  struct stat status {};
  if (::fstat(file.descriptor_, &status) != 0) return error_of(path, errno, false);
  if (!S_ISREG(status.st_mode))
    return Error{Errc::store_unavailable, path + " is no regular file; give the path of a file"};
  return file;
}

LineFile::LineFile(LineFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_),
      seen_(other.seen_),
      read_(other.read_) {
}

LineFile& LineFile::operator=(LineFile&& other) noexcept {
  path_.swap(other.path_);
  std::swap(descriptor_, other.descriptor_);
  buffer_.swap(other.buffer_);
  begin_ = other.begin_;
  seen_ = other.seen_;
  read_ = other.read_;
  return *this;
}

LineFile::~LineFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Error LineFile::error() const noexcept {
  return error_of(path_, errno, true);
}

Result<std::optional<std::string_view>> LineFile::next(std::size_t most) {
  for (;;) {
    const std::size_t end = buffer_.find('\n', seen_);
    const std::size_t size = std::min(end, buffer_.size()) - begin_;
    if (size > most) return Error{Errc::store_corrupt, "has more than " + std::to_string(most) + " bytes"};
    if (end != buffer_.npos) {
      const std::string_view line = std::string_view(buffer_).substr(begin_, size);
      begin_ = seen_ = end + 1;
      read_ += size + 1;
      return std::optional(line);
    }
    buffer_.erase(0, std::exchange(begin_, 0));
    seen_ = buffer_.size();
    buffer_.resize(seen_ + chunk_bytes);
    ssize_t got = 0;
    do {
      got = ::read(descriptor_, buffer_.data() + seen_, chunk_bytes);
    } while (got < 0 && errno == EINTR);
    const int number = errno;
    buffer_.resize(seen_ + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0) return error_of(path_, number, true);
    if (got == 0) return std::optional<std::string_view>();
  }
}

Result<void> LineFile::write(std::string_view text, std::uint64_t place) noexcept {
  while (!text.empty()) {
    const ssize_t done = ::pwrite(descriptor_, text.data(), text.size(), static_cast<off_t>(place));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return error();
    text.remove_prefix(static_cast<std::size_t>(done));
    place += static_cast<std::uint64_t>(done);
  }
  return {};
}

Result<void> LineFile::truncate(std::uint64_t size) noexcept {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) return error();
  return {};
}

Result<void> LineFile::flush() noexcept {
  if (::fsync(descriptor_) != 0) return error();
  return {};
}

Result<void> LineFile::rename(const std::string& path) {
  std::string renamed = path;
  if (std::rename(path_.c_str(), path.c_str()) != 0) return error();
  path_.swap(renamed);
  return {};
}

Result<void> LineFile::flush_folder() const {
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == path_.npos ? "." : path_.substr(0, std::max<std::size_t>(slash, 1));
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return error_of(folder, errno, true);
  const int failed = ::fsync(descriptor);
  const int number = errno;
  ::close(descriptor);
  // A file system may not support it.
  if (failed != 0 && number != EINVAL) return error_of(folder, number, true);
  return {};
}

}  // namespace agentcore::detail::receipts
