// Connection: one client's socket, its requests one after the other, and the answer that is being written.
#pragma once

#include "exchange.hpp"
#include "http.hpp"
#include "options.hpp"
#include "prompt_cache.hpp"
#include "record.hpp"
#include "timer_wheel.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace standin {

// The state that the connections of one server share. One thread, except for the log.
struct Shared {
  explicit Shared(Options the_options)
      : options(std::move(the_options)), log(options.max_records), wheel(now_ns()), input(64 << 10, '\0') {}

  const Options options;
  RecordLog log;
  PromptCache cache;
  TimerWheel wheel;
  int epoll = -1;
  std::string input;             // scratch: received by recv()
  std::string output;            // scratch: produced by an exchange
  std::vector<TokenMark> marks;  // scratch: where tokens end in `output`
};

// Functions that return bool return false when the connection has ended; then its owner calls forget() and
// destroys it, which closes the socket. All run on the server's thread.
class Connection {
 public:
  // Takes over the socket, which must be non-blocking, and registers it with the epoll instance.
  Connection(Shared& shared, int socket);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // `now` is a reading of the clock taken when the events were there already.
  bool on_events(std::uint32_t events, std::int64_t now);
  bool on_timer(std::int64_t now);
  // No event and no timer after this. The socket stays open until the connection is destroyed.
  void forget();
  int socket() const noexcept { return socket_; }

 private:
  bool read_all();
  bool serve_input();
  bool serve(const HttpRequest& request);
  bool begin_chat(const HttpRequest& request, Api api);
  bool refuse_chat(std::string_view error, int status, Record record);

  bool produce(std::int64_t now);
  bool follow();
  bool write(std::string_view bytes, const std::vector<TokenMark>& marks);
  bool flush();
  std::size_t send_some(std::string_view bytes);
  void count(std::int64_t at_ns, std::size_t bytes, const std::vector<TokenMark>& marks);

  bool client_gone(Ending how, std::int64_t at_ns);
  bool close_gently();
  void end_exchange(Ending how, std::int64_t at_ns);
  void stop_listening();
  bool wants_input() const noexcept;
  void watch();

  Shared& shared_;
  const int socket_;
  std::uint32_t watched_ = 0;  // requested epoll events
  bool broken_ = false;        // the kernel has refused a write
  bool client_ended_ = false;  // it sends no more
  bool keep_alive_ = true;     // what the latest request allows
  bool deaf_ = false;          // it sent far too much ahead: its data is discarded, only its end is detected
  bool draining_ = false;  // our side is closed; what still comes is thrown away, lest a reset overtakes it
  Timer timer_;
  RequestParser parser_;
  std::string in_;                // read, not yet parsed
  std::string out_;               // not taken by the kernel yet
  std::vector<TokenMark> marks_;  // where tokens end in out_
  std::optional<Exchange> exchange_;
  Next next_;  // what follows when out_ is empty
};

}  // namespace standin
