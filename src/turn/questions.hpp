// Questions: the open questions to the user.
#pragma once

#include "core/node.hpp"
#include "core/operation_id.hpp"
#include "core/references.hpp"
#include "loop/wait_clock.hpp"
#include "turn/grants.hpp"
#include "turn/number_pass.hpp"
#include "turn/turn_data.hpp"

#include <agentcore/question.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::turn {

struct AskedQuestion {
  OpenQuestion question;
  core::NodeId agent = 0;
  std::uint64_t turn = 0;
  core::OperationId operation;  // the call that waits for it
  std::function<void(const Answer&)> closed;
  std::optional<Coverage> covers;  // of an approval: what a grant covers
  loop::WaitClock clock;           // of its time-out
  std::uint64_t hash = 0;          // question_hash()
};

// OpenQuestion::id of the question with that number.
std::string question_id(std::uint64_t number);

// A hash of what is asked: the text and the choices.
std::uint64_t question_hash(const OpenQuestion& question);

// Each is removed before its `closed` is called, so it is closed once. The costs of take_of() and count() do
// not depend on the questions of other agents. All @loop_thread.
class Questions {
 public:
  // Keeps it, with a new number; or with `number`, which was reserve()d.
  AskedQuestion& add(AskedQuestion question, std::optional<std::uint64_t> number = {});
  // The numbers up to that one were given before a restart.
  void reserve(std::uint64_t number) noexcept { asked_ = std::max(asked_, number); }
  // The highest number that was given.
  std::uint64_t last_number() const noexcept { return asked_; }
  // The open questions of a turn's calls, for the store. Throws std::bad_alloc.
  std::vector<RestoredQuestion> restorable(core::NodeId agent, std::uint64_t turn) const;
  // The question with that id, or null.
  AskedQuestion* find(std::string_view id) noexcept;
  // True for the id of a question that was asked and is closed.
  bool was_closed(std::string_view id) const noexcept;
  std::optional<AskedQuestion> take(std::string_view id);
  // The oldest question that this operation of that agent waits for.
  std::optional<AskedQuestion> take_of(core::NodeId agent, core::OperationId operation);

  // True if the operation waits for an answer.
  bool has(core::NodeId agent, core::OperationId operation) const noexcept;
  // The open questions from now on are visited by visit_some().
  void begin_visits() noexcept { visits_.restart(asked_); }
  // Calls visit(question) for those that are left, as long as the budget lasts. False: some are left.
  template <typename Visit>
  bool visit_some(loop::PollBudget& budget, Visit&& visit) {
    return visits_.run(budget, open_, [&](auto& entry) { visit(entry.second); });
  }
  bool has_visits() const noexcept { return visits_.is_active(); }
  std::vector<OpenQuestion> open() const;
  // The ids of the approvals that are open, the oldest first.
  std::vector<std::string> approvals() const;
  std::size_t size() const noexcept { return open_.size(); }
  // How often add() was called.
  std::uint64_t added() const noexcept { return added_; }
  std::size_t count(core::NodeId agent) const noexcept;
  // How many these agents have asked (for leak tests).
  std::size_t count(const core::References& refers) const noexcept;
  void clear();
  // How many entries take_of() and count() have visited so far (for tests of their cost).
  std::uint64_t looks() const noexcept { return looks_; }

 private:
  struct Owned {
    core::NodeId agent = 0;
    core::OperationId operation;
    std::uint64_t number = 0;

    auto operator<=>(const Owned&) const = default;  // NOLINT: clang-tidy 14 sees a null pointer
  };
  using Open = std::map<std::uint64_t, AskedQuestion>;

  static Owned owned(const Open::value_type& entry) noexcept {
    return {entry.second.agent, entry.second.operation, entry.first};
  }
  std::optional<AskedQuestion> take(Open::iterator place);
  static std::optional<std::uint64_t> number_of(std::string_view id) noexcept;

  Open open_;  // by number
  std::set<Owned> by_owner_;
  std::uint64_t asked_ = 0;  // the highest number so far
  std::uint64_t added_ = 0;
  NumberPass visits_;
  mutable std::uint64_t looks_ = 0;
};

}  // namespace agentcore::detail::turn
