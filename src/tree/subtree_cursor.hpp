// Positions in a subtree, for walks that are interrupted and continued. @loop_thread
#pragma once

#include "core/agent_table.hpp"

namespace agentcore::detail::tree {

// The agent after `node` in a walk through the subtree of `root`, parents before children; null at its end.
// `descend`: the walk goes below `node`.
inline core::Node* next_parent_first(const core::AgentTable& table, const core::Node& root,
                                     const core::Node& node, bool descend) noexcept {
  if (core::Node* child = descend ? table.first_child(node) : nullptr) return child;
  for (const core::Node* up = &node; up != &root; up = up->parent.load(std::memory_order_relaxed))
    if (core::Node* sibling = table.next_sibling(*up)) return sibling;
  return nullptr;
}

// The position of a walk through the subtree of a root, parents before children. The cursor is idle when
// `at()` is null; otherwise `at()` lies in that subtree and is the next agent of the walk.
class ParentFirstCursor {
 public:
  ParentFirstCursor() = default;  // idle
  explicit ParentFirstCursor(core::Node& root) noexcept : root_(&root), at_(&root) {}

  core::Node* at() const noexcept { return at_; }

  // Moves past at(). `descend`: the walk goes below it.
  void advance(const core::AgentTable& table, bool descend) noexcept {
    at_ = next_parent_first(table, *root_, *at_, descend);
  }
  // Moves to the first child of at(), which has one, and keeps that subtree. Returns a cursor for the agents
  // after it.
  ParentFirstCursor split(const core::AgentTable& table) noexcept {
    ParentFirstCursor rest = *this;
    rest.advance(table, false);
    root_ = at_;
    at_ = table.first_child(*at_);
    return rest;
  }

 private:
  core::Node* root_ = nullptr;
  core::Node* at_ = nullptr;
};

// The position of a walk through the subtree of `root()`, children before parents.
//
// Invariants:
// 1. The cursor is idle (`at()` is null), or `at()` lies in the subtree of `root()`.
// 2. `is_before_children()`: the children of `at()` are still to be visited; otherwise all of them were.
class ChildFirstCursor {
 public:
  ChildFirstCursor() = default;  // idle
  explicit ChildFirstCursor(core::Node& root) noexcept : root_(&root), at_(&root), before_children_(true) {}

  core::Node* root() const noexcept { return root_; }
  core::Node* at() const noexcept { return at_; }
  bool is_before_children() const noexcept { return before_children_; }

  // To the first child of at(), which has one.
  void descend(const core::AgentTable& table) noexcept { at_ = table.first_child(*at_); }
  // Moves past at() and its subtree: to the next sibling, or back to the parent; idle after the root.
  void advance(const core::AgentTable& table) noexcept {
    const bool at_root = at_ == root_;
    core::Node* const sibling = at_root ? nullptr : table.next_sibling(*at_);
    before_children_ = sibling != nullptr;
    if (sibling)
      at_ = sibling;
    else
      at_ = at_root ? nullptr : at_->parent.load(std::memory_order_relaxed);
  }
  // Keeps the subtree of at(), which is not the root, and returns a cursor for the agents after it.
  ChildFirstCursor split(const core::AgentTable& table) noexcept {
    ChildFirstCursor rest = *this;
    rest.advance(table);
    root_ = at_;
    return rest;
  }

 private:
  core::Node* root_ = nullptr;
  core::Node* at_ = nullptr;
  bool before_children_ = false;
};

}  // namespace agentcore::detail::tree
