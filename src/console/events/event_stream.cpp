#include "console/events/event_stream.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace agentcore::detail::console {
namespace {

// A viewer that wants few of many events must not keep the loop either.
constexpr std::size_t events_per_fill = 4096;

// How long a browser waits before it connects again, in milliseconds.
constexpr std::string_view reconnect_after = "retry: 1000\n\n";

}  // namespace

bool EventFilter::wants(const LoggedEvent& event) const noexcept {
  if (!event.path) return true;
  if (event.is_text) return std::find(text.begin(), text.end(), event.path->serial) != text.end();
  return subtree == 0 || event.path->is_below(subtree);
}

Stream::Next EventStream::fill(std::string& out, std::size_t max_bytes) {
  if (std::exchange(begins_, false)) out += reconnect_after;
  if (resets_) {
    // With the position, so that the viewer continues from here if it connects again.
    out += "id: " + log_->id_of(next_ - 1) + "\ndata: {\"type\":\"reset\"}\n\n";
    resets_ = false;
  }
  if (next_ < log_->first()) {
    out += "data: {\"type\":\"lagged\"}\n\n";
    return Next::end;
  }
  for (std::size_t looked_at = 0; next_ <= log_->last(); ++next_, ++looked_at) {
    if (out.size() >= max_bytes || looked_at == events_per_fill) return Next::more;
    const LoggedEvent& event = log_->at(next_);
    if (filter_.wants(event)) out += event.bytes;
  }
  return Next::wait;
}

}  // namespace agentcore::detail::console
