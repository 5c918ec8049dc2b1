// records_of: the records of a store as a map.
#pragma once

#include <agentcore/store.hpp>

#include <map>
#include <string>
#include <string_view>

namespace agentcore::test {

using StoredRecords = std::map<RecordKey, std::string>;

// Throws BadResultAccess if they cannot be read.
inline StoredRecords records_of(Store& store, const RecordKey& first = {},
                                const RecordKey& last = {RecordKey::max, RecordKey::max, RecordKey::max}) {
  StoredRecords records;
  store
      .read(first, last,
            [&](const RecordKey& key, std::string_view body) {
              records.emplace(key, body);
              return true;
            })
      .value();
  return records;
}

}  // namespace agentcore::test
