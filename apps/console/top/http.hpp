// HTTP requests on one thread: the caller polls the descriptors, and run() does what is ready.
#pragma once

#include "console/top/timers.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <curl/curl.h>
#include <poll.h>

namespace console_app::top {

struct HttpRequest {
  std::string method = "GET";
  std::string url = {};
  std::vector<std::string> headers = {};
  std::string body = {};
  bool stream = false;  // an answer without an end: it has no deadline, but may not be silent for long
};

struct HttpAnswer {
  long status = 0;           // 0: there was none
  std::string body = {};     // but what went to HttpHandlers::on_data
  std::string failure = {};  // why there was no answer, or no whole one
};

// Called by Http::run(). They may start and cancel requests.
struct HttpHandlers {
  std::function<void(HttpAnswer)> on_end;
  // Of a stream with status 200: when it begins, and for its bytes.
  std::function<void()> on_open = {};
  std::function<void(std::string_view)> on_data = {};
};

class Http {
 public:
  using Id = std::uint64_t;  // 0: none

  Http();
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  Id start(HttpRequest request, HttpHandlers handlers);
  // Its handlers are not called any more. Sets the id to 0.
  void cancel(Id& id);

  void add_descriptors(std::vector<pollfd>& to) const;
  // When run() is to be called though no descriptor is ready.
  std::optional<TimePoint> deadline() const { return deadline_; }
  // `polled`: what ::poll() left in the descriptors of add_descriptors().
  // False: no handler was called.
  bool run(const std::vector<pollfd>& polled, TimePoint now);

 private:
  struct Transfer;

  static int on_socket(CURL*, curl_socket_t socket, int what, void* self, void*);
  static int on_timer(CURLM*, long milliseconds, void* self);
  bool deliver(Id id);
  bool take_ended();

  CURLM* multi_;
  std::map<Id, std::unique_ptr<Transfer>> transfers_;
  std::map<curl_socket_t, short> sockets_;
  std::optional<TimePoint> deadline_ = {};
  Id last_ = 0;
};

}  // namespace console_app::top
