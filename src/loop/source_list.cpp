#include "loop/source_list.hpp"

#include <algorithm>
#include <cassert>

namespace agentcore::detail::loop {

void SourceList::add(std::shared_ptr<Source> source) {
  assert(state_.on_loop_thread());
  if (state_.closed || !source) return;
  const bool has_work = source->has_work() || source->has_end_work();
  prepare_to_retire();
  sources_.push_back(std::move(source));
  if (has_work) waker_.notify();
}

void SourceList::remove(const Source* source) {
  const auto found = std::find_if(sources_.begin(), sources_.end(),
                                  [source](const auto& held) { return held && held.get() == source; });
  if (found == sources_.end()) return;
  std::shared_ptr<Source> removed = std::move(*found);
  // A running poll reads the list by index: it removes the null pointer at its end.
  if (!state_.in_poll) sources_.erase(found);
  retire(std::move(removed));
}

bool SourceList::any_has_work() const noexcept {
  return std::any_of(sources_.begin(), sources_.end(), [](const auto& source) {
    return source && (source->has_work() || source->has_end_work());
  });
}

bool SourceList::any_has_pending() const noexcept {
  return std::any_of(sources_.begin(), sources_.end(),
                     [](const auto& source) { return source && source->has_pending(); });
}

void SourceList::release_removed() {
  std::erase(sources_, nullptr);
  release_retired();
  std::erase(sources_, nullptr);  // a destructor may have removed others
}

std::vector<std::shared_ptr<Source>> SourceList::take_and_report_closed() {
  auto taken = std::exchange(sources_, {});
  for (const auto& source : taken)
    if (source) source->on_engine_closed();
  return taken;
}

void SourceList::retire_all(std::vector<std::shared_ptr<Source>> taken) {
  for (auto& source : taken)
    if (source) retire(std::move(source));
  taken.clear();
  for (auto& [type, service] : std::exchange(services_, {})) retire(std::move(service));
}

void SourceList::prepare_to_retire() {
  const std::size_t needed = retired_.size() + sources_.size() + services_.size() + 1;
  if (retired_.capacity() < needed) retired_.reserve(2 * needed);
}

void SourceList::retire(std::shared_ptr<void> object) {
  if (state_.in_poll) retired_.push_back(std::move(object));
}

void SourceList::release_retired() {
  // By index: a destructor may retire more objects. The vector keeps its memory (invariant 2).
  for (std::size_t i = 0; i < retired_.size(); ++i) const auto released = std::exchange(retired_[i], nullptr);
  retired_.clear();
}

}  // namespace agentcore::detail::loop
