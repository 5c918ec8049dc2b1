#include <agentcore/store.hpp>

#include <utility>

namespace agentcore {

void StoreBatch::put(const RecordKey& key, std::string body) {
  const std::size_t size = body.size();
  changes_.push_back({key, key, std::move(body)});
  bytes_ += size;
}

void StoreBatch::erase(const RecordKey& key) {
  erase(key, key);
}

void StoreBatch::erase(const RecordKey& first, const RecordKey& last) {
  changes_.push_back({first, last, std::nullopt});
}

void StoreBatch::clear() noexcept {
  changes_.clear();
  bytes_ = 0;
  uses_reserve_ = false;
  set_epoch(0);
}

}  // namespace agentcore
