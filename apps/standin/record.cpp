#include "record.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <time.h>

namespace standin {

std::int64_t now_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string_view to_string(Ending ending) noexcept {
  switch (ending) {
    case Ending::open:
      return "open";
    case Ending::completed:
      return "completed";
    case Ending::client_closed:
      return "client_closed";
    case Ending::client_reset:
      return "client_reset";
    case Ending::server_closed:
      return "server_closed";
  }
  return "?";
}

std::uint64_t RecordLog::begin(Record record) {
  std::lock_guard lock(mutex_);
  record.number = ++last_number_;
  records_.push_back(std::move(record));
  ++stats_.requests;
  ++stats_.open;
  trim();
  changed_.notify_all();
  return last_number_;
}

void RecordLog::wrote(std::uint64_t number, int status, std::int64_t at_ns, std::uint64_t tokens) {
  std::lock_guard lock(mutex_);
  stats_.tokens += tokens;
  Record* record = find(number);
  if (record == nullptr) return;
  if (record->first_byte_ns == 0) record->first_byte_ns = at_ns;
  record->status = status;
  if (tokens != 0) {
    if (record->ending != Ending::open) stats_.tokens_after_client += tokens;
    if (record->first_token_ns == 0) record->first_token_ns = at_ns;
    record->last_token_ns = at_ns;
    record->tokens += tokens;
  }
  changed_.notify_all();
}

Record RecordLog::end(std::uint64_t number, Ending ending, std::int64_t at_ns) {
  std::lock_guard lock(mutex_);
  --stats_.open;
  if (ending == Ending::completed) ++stats_.completed;
  if (ending == Ending::client_closed || ending == Ending::client_reset) ++stats_.client_closed;
  if (ending == Ending::server_closed) ++stats_.server_closed;
  changed_.notify_all();
  Record* record = find(number);
  if (record == nullptr) return {};
  record->ending = ending;
  record->end_ns = at_ns;
  return *record;
}

std::vector<Record> RecordLog::records(std::uint64_t since) const {
  std::lock_guard lock(mutex_);
  const auto first = std::ranges::upper_bound(records_, since, {}, &Record::number);
  return {first, records_.end()};
}

Stats RecordLog::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void RecordLog::clear() {
  std::lock_guard lock(mutex_);
  std::erase_if(records_, [](const Record& record) { return record.ending != Ending::open; });
  stats_ = {};
  stats_.requests = stats_.open = records_.size();
  for (const Record& record : records_) stats_.tokens += record.tokens;
}

bool RecordLog::wait_until(const std::function<bool(const Stats&)>& done, int timeout_ms) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return done(stats_); });
}

Record* RecordLog::find(std::uint64_t number) {
  const auto found = std::ranges::lower_bound(records_, number, {}, &Record::number);
  return found != records_.end() && found->number == number ? &*found : nullptr;
}

// An open record is never removed: clients wait for its end.
void RecordLog::trim() {
  while (records_.size() > max_records_ && records_.front().ending != Ending::open) records_.pop_front();
}

std::string to_json(const std::vector<Record>& records) {
  fmt::memory_buffer text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{{\"now_ns\":{},\"records\":[", now_ns());
  const char* separator = "";
  for (const Record& r : records) {
    const auto agent = nlohmann::json(r.agent).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    fmt::format_to(out,
                   "{}\n{{\"number\":{},\"agent\":{},\"status\":{},\"stream\":{},\"start_ns\":{},"
                   "\"first_byte_ns\":{},\"first_token_ns\":{},\"last_token_ns\":{},\"end_ns\":{},"
                   "\"tokens\":{},\"ended\":\"{}\"}}",
                   separator, r.number, agent, r.status, r.stream, r.start_ns, r.first_byte_ns,
                   r.first_token_ns, r.last_token_ns, r.end_ns, r.tokens, to_string(r.ending));
    separator = ",";
  }
  fmt::format_to(out, "\n]}}\n");
  return fmt::to_string(text);
}

std::string to_json(const Stats& stats) {
  return fmt::format(
      "{{\"now_ns\":{},\"requests\":{},\"open_streams\":{},\"completed\":{},\"client_closed\":{},"
      "\"server_closed\":{},\"tokens\":{},\"tokens_after_client_gone\":{}}}\n",
      now_ns(), stats.requests, stats.open, stats.completed, stats.client_closed, stats.server_closed,
      stats.tokens, stats.tokens_after_client);
}

}  // namespace standin
