#include "loop/source.hpp"

#include <algorithm>
#include <bit>

namespace agentcore::detail::loop {

bool PollBudget::spend_slow() noexcept {
  return take(used_ > 0);
}

bool PollBudget::take(bool reads_clock) noexcept {
  if (used_ == steps_ || (reads_clock && clock_.now() >= end_)) exhausted_ = true;
  if (!exhausted_) ++used_;
  next_check_ = exhausted_ ? used_ : next_check();
  return !exhausted_;
}

// A power of two up to 64, then a multiple of 64.
std::uint32_t PollBudget::next_check() const noexcept {
  constexpr std::uint32_t longest = 64;
  return std::min(steps_,
                  used_ <= longest ? std::bit_ceil(used_) : (used_ + longest - 1) / longest * longest);
}

void SourceList::add(std::shared_ptr<Source> source) {
  prepare_to_retire();
  sources_.push_back(std::move(source));
}

void SourceList::remove(const Source* source, bool in_poll) {
  const auto found = std::find_if(sources_.begin(), sources_.end(),
                                  [source](const auto& held) { return held && held.get() == source; });
  if (found == sources_.end()) return;
  std::shared_ptr<Source> removed = std::move(*found);
  // A running poll reads the list by index: it removes the null pointer at its end.
  if (!in_poll) sources_.erase(found);
  retire(std::move(removed), in_poll);
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

void SourceList::retire_all(std::vector<std::shared_ptr<Source>> taken, bool in_poll) {
  for (auto& source : taken)
    if (source) retire(std::move(source), in_poll);
  taken.clear();
  for (auto& [type, service] : std::exchange(services_, {})) retire(std::move(service), in_poll);
}

void SourceList::prepare_to_retire() {
  const std::size_t needed = retired_.size() + sources_.size() + services_.size() + 1;
  if (retired_.capacity() < needed) retired_.reserve(2 * needed);
}

void SourceList::retire(std::shared_ptr<void> object, bool in_poll) {
  if (in_poll) retired_.push_back(std::move(object));
}

void SourceList::release_retired() {
  // By index: a destructor may retire more objects. The vector keeps its memory (invariant 2).
  for (std::size_t i = 0; i < retired_.size(); ++i) const auto released = std::exchange(retired_[i], nullptr);
  retired_.clear();
}

}  // namespace agentcore::detail::loop
