// Searches all the memory that this process can write for a text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agentcore::test {

// A text that is in memory only in an encoded form.
class Masked {
 public:
  // `prefix` and as many random letters.
  Masked(std::string_view prefix, std::size_t letters);

  std::string reveal() const;

  // The search is for its second half: an allocator writes its own marks over the beginning of freed memory.
  bool ends(const char* bytes) const noexcept;  // true when that half is there
  std::size_t size() const noexcept { return masked_.size() / 2; }

 private:
  std::string masked_;
};

// The number of plain copies in memory. Reads through the system, so that no mapping can cause a fault.
std::size_t count_in_memory(const Masked& text);

}  // namespace agentcore::test
