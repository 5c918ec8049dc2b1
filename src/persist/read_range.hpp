// ReadRange: how the records of a store are read, with a tree or without one.
#pragma once

#include <agentcore/error.hpp>
#include <agentcore/store.hpp>

#include <functional>
#include <string_view>

namespace agentcore::detail::persist {

using VisitRecord = std::function<void(const RecordKey& key, std::string_view body)>;
// Calls the function with each record from `first` to `last`, both included. What it throws ends the reading,
// and is thrown.
using ReadRange =
    std::function<Result<void>(const RecordKey& first, const RecordKey& last, const VisitRecord& visit)>;

}  // namespace agentcore::detail::persist
