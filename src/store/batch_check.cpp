#include "store/batch_check.hpp"

#include <string>

namespace agentcore::detail::store {
namespace {

const char* field_out_of_range(const RecordKey& key) noexcept {
  if (key.kind > RecordKey::max) return "kind";
  if (key.owner > RecordKey::max) return "owner";
  return key.number > RecordKey::max ? "number" : nullptr;
}

}  // namespace

std::optional<Error> problem_of(const StoreBatch& batch) {
  for (const StoreBatch::Change& change : batch.changes()) {
    const char* field = field_out_of_range(change.first);
    if (!field) field = field_out_of_range(change.last);
    if (field)
      return Error{Errc::invalid_config, std::string("StoreBatch: the ") + field +
                                             " of a key is larger than RecordKey::max (2^63 - 1)"};
  }
  return std::nullopt;
}

}  // namespace agentcore::detail::store
