#include "console/routes/receipt_list.hpp"

#include "console/events/agent_json.hpp"

namespace agentcore::detail::console {

void ReceiptList::record(const StopRecord& record) {
  records_.push_back(to_line(to_json(record, last() + 1)));
  if (records_.size() > kept) {
    records_.pop_front();
    ++first_;
  }
  if (on_record) on_record(records_.back());
  if (next_) next_->record(record);  // last: it may throw
}

}  // namespace agentcore::detail::console
