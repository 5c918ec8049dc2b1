// Record: the data about one chat request. RecordLog: all records, readable from any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace standin {

// CLOCK_MONOTONIC in nanoseconds: comparable with any process on the same machine. @threadsafe
std::int64_t now_ns() noexcept;

enum class Ending : std::uint8_t {
  open,           // still being answered
  completed,      // the whole answer was handed to the kernel
  client_closed,  // the client ended the connection first (FIN)
  client_reset,   // ... by a reset (RST), as a close() with unread bytes does
  server_closed,  // this server ended it: a requested fault, or its own shutdown
};

// "completed", "client_closed", ...
std::string_view to_string(Ending ending) noexcept;

// One POST to the chat path, from the moment its last byte was read. Instants are now_ns() readings; 0:
// never.
struct Record {
  std::uint64_t number = 0;  // 1, 2, 3 ... in the order of arrival; also sent as header x-request-id
  std::string agent;         // header x-agent-id, else the JSON field "user", else empty
  int status = 0;            // HTTP status of the answer; 0: none was sent
  bool stream = false;
  std::int64_t start_ns = 0;        // request complete
  std::int64_t first_byte_ns = 0;   // just before the first byte of the answer was written
  std::int64_t first_token_ns = 0;  // just before the first token was written
  std::int64_t last_token_ns = 0;   // just before the latest token was written
  std::int64_t end_ns = 0;   // client_*: the instant at which the loop detected the closed connection; else
                             // the end of the answer
  std::uint64_t tokens = 0;  // tokens whose last byte the kernel has taken; never grows after end_ns
  Ending ending = Ending::open;
  std::string request;  // its body, if Options::keep_requests is set; not in the JSON
};

struct Stats {
  std::uint64_t requests = 0;       // records ever begun (since the last clear)
  std::uint64_t open = 0;           // of these, still being answered
  std::uint64_t completed = 0;      // ended so
  std::uint64_t client_closed = 0;  // ended so, reset or not
  std::uint64_t server_closed = 0;  // ended so
  std::uint64_t tokens = 0;         // produced, all requests together
  std::uint64_t tokens_after_client =
      0;  // written after the client's end was detected: 0, or this server is broken
};

// Every function is @threadsafe. Writers are the server's own thread.
class RecordLog {
 public:
  explicit RecordLog(std::size_t max_records) : max_records_(max_records) {}

  // Adds a record and gives it its number.
  std::uint64_t begin(Record record);
  // Bytes of the answer went out at `at_ns`, and with them the ends of `tokens` tokens.
  void wrote(std::uint64_t number, int status, std::int64_t at_ns, std::uint64_t tokens);
  // Ends a record and returns a copy of it.
  Record end(std::uint64_t number, Ending ending, std::int64_t at_ns);

  // Copies of the records numbered above `since`, in order; open ones included.
  std::vector<Record> records(std::uint64_t since = 0) const;
  Stats stats() const;
  // Removes all records that have ended, and restarts the totals with those that are open. Numbers continue.
  void clear();
  // Blocks until `done(stats)` or `timeout_ms` has passed; returns whether it was done. `done` is called
  // under the lock.
  bool wait_until(const std::function<bool(const Stats&)>& done, int timeout_ms) const;

 private:
  Record* find(std::uint64_t number);
  void trim();

  const std::size_t max_records_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Record> records_;  // in the order of their numbers
  std::uint64_t last_number_ = 0;
  Stats stats_;
};

// {"records": [...], "now_ns": N}
std::string to_json(const std::vector<Record>& records);
std::string to_json(const Stats& stats);

}  // namespace standin
