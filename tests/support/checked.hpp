// Containers and pointers for fixtures: a test that accesses an element that does not exist, or dereferences
// null, fails. With std::vector and a plain pointer the test program would crash.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace agentcore::test {

// A vector that throws std::out_of_range where std::vector has undefined behaviour.
template <typename T>
class Checked : public std::vector<T> {
 public:
  using std::vector<T>::vector;

  T& operator[](std::size_t index) { return this->at(index); }
  const T& operator[](std::size_t index) const { return this->at(index); }
  T& front() { return this->at(0); }
  const T& front() const { return this->at(0); }
  T& back() { return this->at(this->size() - 1); }
  const T& back() const { return this->at(this->size() - 1); }
};

// A pointer, plain or smart, that throws where it is null and is dereferenced.
template <typename Pointer>
class CheckedPointer {
 public:
  CheckedPointer() = default;
  CheckedPointer(Pointer pointer) : pointer_(std::move(pointer)) {}  // NOLINT: implicit by design

  decltype(auto) operator*() const { return *checked(); }
  const Pointer& operator->() const { return checked(); }
  explicit operator bool() const noexcept { return static_cast<bool>(pointer_); }
  operator const Pointer&() const noexcept { return pointer_; }  // NOLINT: implicit by design

 private:
  const Pointer& checked() const {
    if (!pointer_) throw std::logic_error("a test dereferenced a null pointer");
    return pointer_;
  }

  Pointer pointer_{};
};

}  // namespace agentcore::test
