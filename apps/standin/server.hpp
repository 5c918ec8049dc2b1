// Server: the stand-in model server. One thread, one epoll instance, as many streams as there are
// descriptors.
#pragma once

#include "options.hpp"
#include "record.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace standin {

// start(), then run() on the thread that shall serve. ServerThread does both for tests.
class Server {
 public:
  Server();
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens; clients can connect from now on. Once per server.
  [[nodiscard]] std::error_code start(Options options);
  // Serves until stop(). Then every open connection is closed and its record ended as server_closed.
  void run();
  // Ends run(), now or when it begins. @threadsafe, and safe in a signal handler
  void stop() noexcept;

  // All below: after start(), @threadsafe. A client can have read bytes shortly before they are in the
  // records: use wait_until(), or read the records over HTTP, where the order is kept.
  std::uint16_t port() const noexcept;
  // "http://127.0.0.1:PORT/v1"
  std::string base_url() const;
  // Copies of the records with numbers above `since`.
  std::vector<Record> records(std::uint64_t since = 0) const;
  Stats stats() const;
  void clear_records();
  // Blocks until `done(stats)` holds, woken by each change; false when `timeout_ms` passes first.
  bool wait_until(const std::function<bool(const Stats&)>& done, int timeout_ms = 60'000) const;

 private:
  struct Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace standin
