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
  if (batch.epoch() <= RecordKey::max) return std::nullopt;
  return Error{Errc::invalid_config, "StoreBatch: the epoch is larger than RecordKey::max (2^63 - 1)"};
}

std::optional<Error> fence_of(const StoreBatch& batch, std::uint64_t kept) {
  const std::uint64_t epoch = batch.epoch();
  if (epoch == 0 || (batch.begins_epoch() ? epoch > kept : epoch == kept)) return std::nullopt;
  return Error{Errc::store_fenced, "the store is in epoch " + std::to_string(kept) +
                                       ", and the batch is of epoch " + std::to_string(epoch) +
                                       ": another tree has taken the agents over; use that tree, or call "
                                       "AgentTree::restore() in a new one"};
}

std::optional<Error> problem_of_range(const RecordKey& first, const RecordKey& last) {
  return problem_of_keys("Store::read", first, last);
}

}  // namespace agentcore::detail::store
