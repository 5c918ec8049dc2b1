#include "persist/host_store.hpp"

#include <exception>
#include <string>

namespace agentcore::detail::persist {
namespace {

Error thrown(const char* function, const char* what) noexcept {
  Error error{Errc::store_failed, {}};
  try {
    error.message = std::string(function) + " threw an exception: " + what;
  } catch (const std::exception&) {
    error.message.clear();
  }
  return error;
}

}  // namespace

Result<void> commit_to(Store& store, const StoreBatch& batch, StoreSync sync) noexcept {
  constexpr const char* function = "Store::commit()";
  try {
    return store.commit(batch, sync);
  } catch (const std::exception& error) {
    return thrown(function, error.what());
  } catch (...) {
    return thrown(function, "not a std::exception");
  }
}

// No exception of ours is thrown through the store.
Result<void> read_from(Store& store, const RecordKey& first, const RecordKey& last,
                       const VisitRecord& visit) {
  constexpr const char* function = "Store::read()";
  std::exception_ptr of_visit;
  Result<void> done;
  try {
    done = store.read(first, last, [&](const RecordKey& key, std::string_view body) {
      if (of_visit) return false;  // the store must not go on
      try {
        visit(key, body);
      } catch (...) {
        of_visit = std::current_exception();
      }
      return of_visit == nullptr;
    });
  } catch (const std::exception& error) {
    done = thrown(function, error.what());
  } catch (...) {
    done = thrown(function, "not a std::exception");
  }
  if (of_visit) std::rethrow_exception(of_visit);
  return done;
}

}  // namespace agentcore::detail::persist
