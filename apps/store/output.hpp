// Output: what the program prints to its standard output.
#pragma once

#include <string>
#include <string_view>

namespace store_tool {

class Output {
 public:
  explicit Output(int descriptor) : descriptor_(descriptor) {}

  // The text must be safe for a terminal. Throws Failure if it cannot be written.
  void print(std::string_view text);
  // Writes what print() has collected. Throws Failure.
  void flush();
  // The reader is gone, as with `| head`. This is no failure: what is printed further is dropped.
  bool is_closed() const noexcept { return closed_; }

 private:
  int descriptor_;
  std::string collected_;
  bool closed_ = false;
};

}  // namespace store_tool
