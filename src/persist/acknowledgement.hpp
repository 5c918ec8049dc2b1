// Acknowledgement: what is reported to the host when a batch has reached the store.
#pragma once

#include "core/node.hpp"

#include <agentcore/message.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::detail::persist {

struct Acknowledgement {
  enum class What : std::uint8_t { stop, erasure, message, end_of_message, intents };

  What what = What::message;
  core::NodeId agent = 0;  // 0: the tree
  MessageId message = {};  // `message`, `end_of_message`
  std::string name = {};   // `stop`, `erasure`: the id of the agent
};

// What is to be reported, in order. Bounded, because a store may fail for a long time; but for `intents`, of
// which an agent has one at a time, and without which its turn would not go on.
class Acknowledgements {
 public:
  static constexpr std::size_t most = 100'000;

  // Throws std::bad_alloc; then it is not added.
  void add(Acknowledgement one) {
    if (one.what == Acknowledgement::What::intents || list_.size() < most)
      list_.push_back(std::move(one));
    else
      ++left_out_;
  }
  // Those for which the function is true. Throws std::bad_alloc; then some are added.
  template <typename Predicate>
  void add_all(const Acknowledgements& others, Predicate&& predicate) {
    for (const Acknowledgement& one : others.list_)
      if (predicate(one)) add(one);
    left_out_ += others.left_out_;
  }
  template <typename Predicate>
  void remove_if(Predicate&& predicate) {
    std::erase_if(list_, std::forward<Predicate>(predicate));
  }
  const std::vector<Acknowledgement>& list() const noexcept { return list_; }
  std::size_t left_out() const noexcept { return left_out_; }
  bool empty() const noexcept { return list_.empty(); }

 private:
  std::vector<Acknowledgement> list_;
  std::size_t left_out_ = 0;
};

}  // namespace agentcore::detail::persist
