// HomeProcess: the process in which an object was made.
#pragma once

#include "core/internal_api.hpp"

#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace agentcore::detail::core {

// The id of this process. Defined in src/platform, for each system.
AGENTCORE_INTERNAL_API std::int64_t process_id() noexcept;

// A process that forks has a child with a copy of each object, and the two share what the objects refer to
// outside of the memory: sockets, epoll sets, files, process groups. They belong to the parent. In the child
// a destructor must touch none of it, nor wait for a thread or a mutex: the threads of the parent do not
// exist there, and one of them may have held the mutex. So what an object holds stays as it is until the
// child ends or runs another program (docs/design/fork.md).
class HomeProcess {
 public:
  // True in a child that was forked since the construction.
  bool is_left() const noexcept { return process_id() != id_; }

 private:
  std::int64_t id_ = process_id();
};

// In such a child: what `held` refers to is never destroyed. Allocates nothing.
template <typename T>
void keep_for_ever(std::shared_ptr<T> held) noexcept {
  union Kept {
    Kept() noexcept {}  // NOLINT(modernize-use-equals-default): it would be deleted
    ~Kept() {}          // NOLINT(modernize-use-equals-default): the same
    std::shared_ptr<T> pointer;
  };
  Kept kept;
  ::new (&kept.pointer) std::shared_ptr<T>(std::move(held));
}

}  // namespace agentcore::detail::core
