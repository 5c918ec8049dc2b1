// Questions: those to people that are open now.
#pragma once

#include "core/node.hpp"

#include <agentcore/question.hpp>
#include <agentcore/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::turn {

struct AskedQuestion {
  OpenQuestion question;
  core::NodeId agent = 0;
  std::uint64_t turn = 0;
  std::uint32_t flight = 0;  // slot + 1 of the call that waits for it
  std::function<void(const Answer&)> closed;
  Timer timer;
};

// Each is taken out before its `closed` is called, so it is closed once. All @loop_thread.
class Questions {
 public:
  // Gives it its id and keeps it.
  AskedQuestion& add(AskedQuestion question);
  // With that id, or null.
  const AskedQuestion* find(std::string_view id) const noexcept;
  // True for the id of a question that was asked and is closed.
  bool was_closed(std::string_view id) const noexcept;
  std::optional<AskedQuestion> take(std::string_view id);
  // The oldest that a flight waits for.
  std::optional<AskedQuestion> take_of(std::uint32_t flight);

  std::vector<OpenQuestion> open() const;
  std::size_t size() const noexcept { return open_.size(); }
  std::size_t count(core::NodeId agent) const noexcept;
  void clear() { std::map<std::uint64_t, AskedQuestion>().swap(open_); }

 private:
  static std::optional<std::uint64_t> number_of(std::string_view id) noexcept;

  std::map<std::uint64_t, AskedQuestion> open_;
  std::uint64_t asked_ = 0;
};

}  // namespace agentcore::turn
