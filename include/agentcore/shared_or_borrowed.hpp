// SharedOrBorrowed: an object that the host provides, shared with it or borrowed from it.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>

namespace agentcore {

/// A type whose pointers convert to pointers to T.
template <typename U, typename T>
concept PointsTo = std::convertible_to<U*, T*>;

/// An object that the host provides: a client, a clock, a registry of tools, an executor. All options and
/// functions that keep such an object take a SharedOrBorrowed, so one rule holds for all of them. What it is
/// made from says who owns the object:
///
/// - Made from a pointer, it borrows: the host owns the object, and must keep it as long as the
///   SharedOrBorrowed or a copy exists.
/// - Made from a std::shared_ptr, it shares: the library owns the object together with the host. It is
///   destroyed with the last owner, on that thread; the library releases what it shares on the loop thread.
///
///     agentcore::testing::ScriptedClient llm{runtime};
///     agentcore::AgentTree tree{runtime, {.llm = &llm}};  // llm outlives the tree
///
///     auto tools = std::make_shared<agentcore::ToolRegistry>();
///     agentcore::AgentSpec spec;
///     spec.tools = tools;                                 // the agent keeps the registry
///
/// Threads: distinct objects may be used on several threads, as with std::shared_ptr.
template <typename T>
class SharedOrBorrowed {
 public:
  /// Refers to no object.
  SharedOrBorrowed() noexcept = default;
  /// Refers to no object.
  SharedOrBorrowed(std::nullptr_t) noexcept {}  // NOLINT: implicit by design
  /// Borrows an object that the host owns.
  template <std::convertible_to<T*> Pointer>
  SharedOrBorrowed(Pointer pointer) noexcept  // NOLINT: implicit by design
      : object_(std::shared_ptr<void>(), static_cast<T*>(pointer)) {}
  /// Shares the ownership of an object.
  template <PointsTo<T> U>
  SharedOrBorrowed(std::shared_ptr<U> object) noexcept  // NOLINT: implicit by design
      : object_(std::move(object)) {}
  /// Refers to the object of `other`, with the same ownership.
  template <PointsTo<T> U>
  SharedOrBorrowed(const SharedOrBorrowed<U>& other) noexcept  // NOLINT: implicit by design
      : object_(other.shared()) {}

  /// The object; null if there is none.
  T* get() const noexcept { return object_.get(); }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_.get(); }
  /// True if there is an object.
  explicit operator bool() const noexcept { return object_ != nullptr; }
  /// A shared pointer to the object. It owns the object only if it is shared, not if it is borrowed.
  const std::shared_ptr<T>& shared() const noexcept { return object_; }

  /// True if both refer to the same object.
  friend bool operator==(const SharedOrBorrowed& a, const SharedOrBorrowed& b) noexcept {
    return a.get() == b.get();
  }
  friend bool operator==(const SharedOrBorrowed& a, std::nullptr_t) noexcept { return a.get() == nullptr; }

 private:
  std::shared_ptr<T> object_;
};

}  // namespace agentcore
