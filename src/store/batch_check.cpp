#include "store/batch_check.hpp"

#include <string>

namespace agentcore::detail::store {
namespace {

const char* field_out_of_range(const RecordKey& key) noexcept {
  if (key.kind > RecordKey::max) return "kind";
  if (key.owner > RecordKey::max) return "owner";
  return key.number > RecordKey::max ? "number" : nullptr;
}

std::optional<Error> problem_of_keys(const char* where, const RecordKey& first, const RecordKey& last) {
  const char* field = field_out_of_range(first);
  if (!field) field = field_out_of_range(last);
  if (!field) return std::nullopt;
  return Error{Errc::invalid_config,
               std::string(where) + ": the " + field + " of a key is larger than RecordKey::max (2^63 - 1)"};
}

}  // namespace

std::optional<Error> problem_of(const StoreBatch& batch) {
  for (const StoreBatch::Change& change : batch.changes())
    if (auto problem = problem_of_keys("StoreBatch", change.first, change.last)) return problem;
  return std::nullopt;
}

std::optional<Error> problem_of_range(const RecordKey& first, const RecordKey& last) {
  return problem_of_keys("Store::read", first, last);
}

}  // namespace agentcore::detail::store
