// faults_of: what of the records of a store breaks the invariants between them.
#pragma once

#include "persist/host_store.hpp"
#include "persist/record_kinds.hpp"
#include "persist/stored_forest.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/store.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::test {

// A text for each record without an owner, and for each that is missing. Throws BadResultAccess if the store
// cannot be read.
inline std::vector<std::string> faults_of(Store& store) {
  namespace persist = detail::persist;
  persist::StoredForest forest;
  forest.read(persist::ranges_of(store)).value();
  const StoredRecords records = records_of(store);
  std::vector<std::string> faults;
  std::set<std::uint64_t> keys, contexts, specs;
  std::set<std::pair<std::uint64_t, std::uint64_t>> messages;
  for (const auto& agent : forest.agents()) {
    keys.insert(agent->key);
    specs.insert(agent->record.spec);
    if (agent->record.has_context) contexts.insert(agent->key);
    for (const persist::Piece& piece : agent->record.history)
      for (std::uint64_t number = piece.first; number < piece.end(); ++number) {
        messages.emplace(piece.segment, number);
        if (!records.contains(persist::key_of(persist::Kind::history, piece.segment, number)))
          faults.push_back("no message " + std::to_string(piece.segment) + '/' + std::to_string(number));
      }
  }
  for (const auto& [key, body] : records) {
    const persist::Kind kind{key.kind};
    const bool is_owned = kind == persist::Kind::tree || kind == persist::Kind::agent ||
                          (kind == persist::Kind::spec && specs.contains(key.owner)) ||
                          (kind == persist::Kind::context && contexts.contains(key.owner)) ||
                          (kind == persist::Kind::mail && keys.contains(key.owner)) ||
                          (kind == persist::Kind::grant && keys.contains(key.owner)) ||
                          (kind == persist::Kind::history && messages.contains({key.owner, key.number}));
    if (!is_owned)
      faults.push_back("no owner of " + std::to_string(key.kind) + '/' + std::to_string(key.owner) + '/' +
                       std::to_string(key.number));
  }
  return faults;
}

}  // namespace agentcore::test
