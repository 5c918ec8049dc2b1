// LineFile: a file of lines: read from its beginning, and extended at its end.
#pragma once

#include <agentcore/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::receipts {

class LineFile {
 public:
  enum class Mode : unsigned char {
    read,    // must exist
    append,  // is created with mode 0600 if it is missing
    create,  // must not exist
  };

  LineFile() noexcept = default;
  // Refuses what is no regular file.
  static Result<LineFile> open(const std::string& path, Mode mode);
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&& other) noexcept;
  ~LineFile();

  // The next complete line, without its end, up to `most` bytes. Nothing: there is none; then tail_bytes()
  // are left. A longer line is an error (`store_corrupt`). The line is valid until the next call.
  Result<std::optional<std::string_view>> next(std::size_t most);
  // The bytes of all lines that next() has returned, and those of the last one without an end.
  std::uint64_t read_bytes() const noexcept { return read_; }
  std::uint64_t tail_bytes() const noexcept { return buffer_.size() - begin_; }

  // Writes at `place`, which is the end of the file. After an error a part of it may be there.
  Result<void> write(std::string_view text, std::uint64_t place) noexcept;
  Result<void> truncate(std::uint64_t size) noexcept;
  // Returns when the disk has the file.
  Result<void> flush() noexcept;
  // Replaces the file of that path.
  Result<void> rename(const std::string& path);
  // Returns when the disk has the name of the file.
  Result<void> flush_folder() const;

  const std::string& path() const noexcept { return path_; }

 private:
  Error error() const noexcept;

  std::string path_;
  int descriptor_ = -1;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what was not returned yet, in the buffer
  std::size_t seen_ = 0;   // up to here it has no end of a line
  std::uint64_t read_ = 0;
};

}  // namespace agentcore::detail::receipts
