// A look for a text in all the memory that this process can write.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agentcore::test {

// A text that lies in memory only in disguise.
class Masked {
 public:
  // `prefix` and as many random letters.
  Masked(std::string_view prefix, std::size_t letters);

  std::string reveal() const;

  // What is looked for is its second half: an allocator writes its own marks over the beginning of what it
  // was given back.
  bool ends(const char* bytes) const noexcept;  // true when that half lies there
  std::size_t size() const noexcept { return masked_.size() / 2; }

 private:
  std::string masked_;
};

// How often it is there, in clear. Reads through the system, so that nothing that is mapped can hurt.
std::size_t count_in_memory(const Masked& text);

}  // namespace agentcore::test
