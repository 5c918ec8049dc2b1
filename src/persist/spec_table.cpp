#include "persist/spec_table.hpp"

#include "persist/record_kinds.hpp"
#include "persist/spec_json.hpp"

namespace agentcore::detail::persist {

std::uint64_t SpecTable::add(StoreBatch& batch, const SharedAgentSpec& spec) {
  if (const auto found = specs_.find(spec.get()); found != specs_.end()) {
    ++found->second.users;
    return found->second.number;
  }
  batch.put(key_of(Kind::spec, next_number_), to_json(*spec));
  specs_.emplace(spec.get(), Entry{spec, next_number_, 1});
  return next_number_++;
}

void SpecTable::remove(StoreBatch& batch, const AgentSpec* spec) {
  const auto found = specs_.find(spec);
  if (found == specs_.end()) return;
  if (found->second.users == 1) {
    batch.erase(key_of(Kind::spec, found->second.number));
    specs_.erase(found);
  } else {
    --found->second.users;
  }
}

void SpecTable::adopt(const SharedAgentSpec& spec, std::uint64_t number) {
  ++specs_.try_emplace(spec.get(), Entry{spec, number, 0}).first->second.users;
}

}  // namespace agentcore::detail::persist
