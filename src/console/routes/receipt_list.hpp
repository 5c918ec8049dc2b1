// ReceiptList: the last receipts of stops and deletes, for viewers.
#pragma once

#include <agentcore/shared_or_borrowed.hpp>
#include <agentcore/stop_audit.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

namespace agentcore::detail::console {

// Receipts are numbered from 1 on. @loop_thread
class ReceiptList final : public StopAudit {
 public:
  explicit ReceiptList(SharedOrBorrowed<StopAudit> next) : next_(std::move(next)) {}

  void record(const StopRecord& record) override;

  std::uint64_t first() const noexcept { return first_; }
  std::uint64_t last() const noexcept { return first_ + records_.size() - 1; }  // first() - 1: there are none
  // The text of a JSON object: see to_json().
  const std::string& at(std::uint64_t number) const { return records_[number - first_]; }

  // Called after each receipt, with its text; empty: not called.
  std::function<void(const std::string& receipt)> on_record = {};

 private:
  static constexpr std::size_t kept = 1000;

  SharedOrBorrowed<StopAudit> next_;  // gets each record, too; null: none
  std::deque<std::string> records_;
  std::uint64_t first_ = 1;
};

}  // namespace agentcore::detail::console
