#include "persist/merged_batches.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace agentcore::detail::persist {
namespace {

using Range = std::pair<RecordKey, RecordKey>;

// Joins those that overlap.
std::vector<Range> joined_ranges(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end());
  std::vector<Range> all;
  for (const Range& range : ranges) {
    if (!all.empty() && range.first <= all.back().second)
      all.back().second = std::max(all.back().second, range.second);
    else
      all.push_back(range);
  }
  return all;
}

}  // namespace

StoreBatch merged(const std::vector<const StoreBatch*>& batches) {
  std::map<RecordKey, const std::string*> written;
  std::vector<Range> erased;
  for (const StoreBatch* const batch : batches)
    for (const StoreBatch::Change& change : batch->changes()) {
      if (change.body) {
        written[change.first] = &*change.body;
      } else if (change.first <= change.last) {
        written.erase(written.lower_bound(change.first), written.upper_bound(change.last));
        erased.emplace_back(change.first, change.last);
      }
    }
  StoreBatch all;
  for (const Range& range : joined_ranges(std::move(erased))) all.erase(range.first, range.second);
  for (const auto& [key, body] : written) all.put(key, *body);
  return all;
}

}  // namespace agentcore::detail::persist
