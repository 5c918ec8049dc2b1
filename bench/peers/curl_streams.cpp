// The peer that does the least: libcurl's multi interface by socket callbacks and epoll, counting the bytes'
// event ends and nothing more. A stop is the usual one: the loop is woken and removes the handle.
//
//   peer_curl_streams PORT RECORD STREAMS SECONDS STOPS
#include "stream_figures.hpp"

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include <curl/curl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

namespace {

struct Stream {
  CURL* easy = nullptr;
  std::string body;
};

class Client {
 public:
  explicit Client(const bench::StreamPlan& plan)
      : url_("http://127.0.0.1:" + plan.port + "/chat/completions"), streams_(plan.streams) {
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Client::on_socket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Client::on_timer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    headers_ = curl_slist_append(headers_, "Content-Type: application/json");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = wake_;
    epoll_ctl(poller_, EPOLL_CTL_ADD, wake_, &event);
  }

  void open(std::size_t number) {
    Stream& stream = streams_[number];
    stream.body = R"({"model":"m","stream":true,"messages":[{"role":"user","content":"stream )" +
                  std::to_string(number) + "\"}]}";
    CURL* const easy = stream.easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, stream.body.c_str());
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Client::on_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
    curl_multi_add_handle(multi_, easy);
  }

  // From any thread: has the loop remove these handles.
  void stop(const std::vector<std::size_t>& numbers) {
    {
      const std::lock_guard guard(mutex_);
      stops_.insert(stops_.end(), numbers.begin(), numbers.end());
    }
    eventfd_write(wake_, 1);
  }

  void step() {
    epoll_event events[512];
    const int count = epoll_wait(poller_, events, 512, wait_ms());
    int running = 0;
    for (int i = 0; i < count; ++i) {
      const std::uint32_t what = events[i].events;
      if (events[i].data.fd == wake_) {
        remove_stopped();
        continue;
      }
      const int bits = (what & EPOLLIN ? CURL_CSELECT_IN : 0) | (what & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                       (what & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
      curl_multi_socket_action(multi_, events[i].data.fd, bits, &running);
    }
    if (due_ == 0 || bench::now() < due_) return;
    due_ = 0;
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
  }

  const std::size_t& chunks() const { return chunks_; }

 private:
  static std::size_t on_bytes(char* bytes, std::size_t, std::size_t length, void* self) {
    const char* at = bytes;
    const char* const end = bytes + length;
    while ((at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at))))) {
      if (++at == end) break;
      if (*at == '\n') ++static_cast<Client*>(self)->chunks_;
    }
    return length;
  }

  static int on_socket(CURL*, curl_socket_t socket, int what, void* self, void* known) {
    auto& client = *static_cast<Client*>(self);
    epoll_event event{};
    event.data.fd = socket;
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
    if (what == CURL_POLL_REMOVE) return epoll_ctl(client.poller_, EPOLL_CTL_DEL, socket, &event), 0;
    epoll_ctl(client.poller_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
    curl_multi_assign(client.multi_, socket, self);
    return 0;
  }

  static int on_timer(CURLM*, long ms, void* self) {
    static_cast<Client*>(self)->due_ = ms < 0 ? 0 : bench::now() + static_cast<std::uint64_t>(ms) * 1'000'000;
    return 0;
  }

  int wait_ms() const {
    const std::uint64_t now = bench::now();
    if (due_ == 0) return 20;
    return due_ <= now ? 0 : static_cast<int>(std::min<std::uint64_t>(20, (due_ - now) / 1'000'000 + 1));
  }

  void remove_stopped() {
    eventfd_t count = 0;
    eventfd_read(wake_, &count);
    std::vector<std::size_t> stops;
    {
      const std::lock_guard guard(mutex_);
      stops.swap(stops_);
    }
    for (const std::size_t number : stops) {
      curl_multi_remove_handle(multi_, streams_[number].easy);
      curl_easy_cleanup(streams_[number].easy);
    }
  }

  const std::string url_;
  CURLM* const multi_ = curl_multi_init();
  const int poller_ = epoll_create1(EPOLL_CLOEXEC);
  const int wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  curl_slist* headers_ = nullptr;
  std::uint64_t due_ = 0;
  std::size_t chunks_ = 0;
  std::vector<Stream> streams_;
  std::mutex mutex_;
  std::vector<std::size_t> stops_;
};

void open_all(const bench::StreamPlan& plan, const bench::StreamRecord& record, Client& client) {
  std::size_t asked = 0;
  bench::drive_until(
      "opening streams", [&] { return record.opened == plan.streams; },
      [&] {
        for (; asked < plan.streams && asked - record.opened < bench::max_opening; ++asked)
          client.open(asked);
        client.step();
      });
}

// One stream after the other, called from another thread.
void stop_some(const bench::StreamPlan& plan, const bench::StreamRecord& record, Client& client,
               const std::vector<std::size_t>& order) {
  std::vector<std::pair<std::size_t, std::uint64_t>> stops;
  std::thread stopper([&] {
    for (std::size_t i = 0; i < plan.stops; ++i) {
      bench::pace_ms(3);
      stops.emplace_back(order[i], bench::now());
      client.stop({order[i]});
    }
  });
  bench::drive_until(
      "single stops", [&] { return record.closed >= plan.stops; }, [&] { client.step(); });
  stopper.join();
  bench::report_stops(plan, "stop_wire", record, stops);
}

void stop_rest(const bench::StreamPlan& plan, const bench::StreamRecord& record, Client& client,
               const std::vector<std::size_t>& order) {
  std::uint64_t called = 0;
  std::thread stopper([&] {
    called = bench::now();
    client.stop({order.begin() + static_cast<std::ptrdiff_t>(plan.stops), order.end()});
  });
  bench::drive_until(
      "stopping all", [&] { return record.closed == plan.streams; }, [&] { client.step(); });
  stopper.join();
  bench::report_stop_all(plan, record, called, order, plan.stops);
}

}  // namespace

int main(int argc, char** argv) {
  const auto plan = bench::StreamPlan::parse(argc, argv, "raw libcurl");
  bench::raise_descriptor_limit(plan.streams);
  curl_global_init(CURL_GLOBAL_ALL);
  const bench::StreamRecord& record = bench::map_record(plan.record, false);
  const auto order = plan.shuffled();
  Client client(plan);
  const std::size_t before = bench::resident();
  open_all(plan, record, client);
  bench::measure_chunks(plan, client.chunks(), [&] { client.step(); });
  plan.report("stream_bytes", "",
              static_cast<double>(bench::resident() - before) / static_cast<double>(plan.streams), "bytes");
  stop_some(plan, record, client, order);
  stop_rest(plan, record, client, order);
  std::fflush(stdout);
  std::_Exit(0);
}
