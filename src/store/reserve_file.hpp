// ReserveFile: space on a disk that is given back when the disk is full.
#pragma once

#include <cstdint>
#include <string>

namespace agentcore::detail::store {

// A file beside a database. What is written when there is no other space gets its space. Used by one thread
// at a time.
class ReserveFile {
 public:
  ReserveFile() noexcept = default;
  // Creates the file with mode 0600 if it is missing. Without it there is no reserve.
  ReserveFile(const std::string& path, std::uint64_t bytes) noexcept;
  ReserveFile(ReserveFile&& other) noexcept;
  ReserveFile& operator=(ReserveFile&& other) noexcept;
  // The file keeps its space, for the next one that opens it.
  ~ReserveFile();

  // True if it holds the space.
  bool is_held() const noexcept { return held_; }
  // Takes the space, if the disk has it.
  void hold() noexcept;
  // Gives it back.
  void release() noexcept;

 private:
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
  bool held_ = false;
};

}  // namespace agentcore::detail::store
