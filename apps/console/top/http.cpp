#include "console/top/http.hpp"

#include <stdexcept>
#include <utility>

namespace console_app::top {
namespace {

constexpr std::size_t most_answer_bytes = 64 << 20;  // of an answer
constexpr long answer_takes_ms = 15'000;
constexpr long silence_s = 40;  // of a stream: the console sends something every 15 s

bool is_loopback(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::string_view host =
      std::string_view(url).substr(scheme == std::string::npos ? 0 : scheme + std::string_view("://").size());
  return host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]");
}

}  // namespace

struct Http::Transfer {
  Transfer(HttpRequest the_request, HttpHandlers the_handlers);
  ~Transfer() {
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  static std::size_t on_write(char* bytes, std::size_t size, std::size_t count, void* self);
  static std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* self);
  template <typename T>
  void set(CURLoption option, T value) {
    if (curl_easy_setopt(easy, option, value) != CURLE_OK)
      throw std::runtime_error("libcurl refuses an option");
  }
  bool streams() const { return request.stream && answer.status == 200; }

  HttpRequest request;
  HttpHandlers handlers;
  HttpAnswer answer = {};
  CURL* easy = curl_easy_init();
  curl_slist* headers = nullptr;
  bool opened = false;  // its header is complete, and on_open was not called yet
};

Http::Transfer::Transfer(HttpRequest the_request, HttpHandlers the_handlers)
    : request(std::move(the_request)), handlers(std::move(the_handlers)) {
  if (easy == nullptr) throw std::runtime_error("libcurl cannot be used");
  for (const std::string& header : request.headers) headers = curl_slist_append(headers, header.c_str());
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  set(CURLOPT_HTTPHEADER, headers);
  set(CURLOPT_USERAGENT, "agentcore-console top");
  set(CURLOPT_NOSIGNAL, 1L);
  if (is_loopback(request.url)) set(CURLOPT_PROXY, "");
  if (!request.body.empty()) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.c_str());
  }
  set(CURLOPT_CONNECTTIMEOUT_MS, answer_takes_ms);
  if (!request.stream) set(CURLOPT_TIMEOUT_MS, answer_takes_ms);
  if (request.stream) set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  if (request.stream) set(CURLOPT_LOW_SPEED_TIME, silence_s);
  set(CURLOPT_WRITEFUNCTION, &on_write);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_HEADERFUNCTION, &on_header);
  set(CURLOPT_HEADERDATA, this);
}

std::size_t Http::Transfer::on_write(char* bytes, std::size_t size, std::size_t count, void* self) {
  std::string& body = static_cast<Transfer*>(self)->answer.body;
  if (body.size() + size * count > most_answer_bytes) return 0;
  body.append(bytes, size * count);
  return size * count;
}

std::size_t Http::Transfer::on_header(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::string_view line(bytes, size * count);
  if (line == "\r\n" || line == "\n") {
    curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &transfer.answer.status);
    transfer.opened = transfer.streams();
  }
  return size * count;
}

Http::Http() : multi_((curl_global_init(CURL_GLOBAL_DEFAULT), curl_multi_init())) {
  if (multi_ == nullptr) throw std::runtime_error("libcurl cannot be used");
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

Http::~Http() {
  for (auto& [id, transfer] : transfers_) curl_multi_remove_handle(multi_, transfer->easy);
  transfers_.clear();
  curl_multi_cleanup(multi_);
  curl_global_cleanup();
}

Http::Id Http::start(HttpRequest request, HttpHandlers handlers) {
  const Id id = ++last_;
  auto& transfer = transfers_[id];
  transfer = std::make_unique<Transfer>(std::move(request), std::move(handlers));
  curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, reinterpret_cast<void*>(id));
  curl_multi_add_handle(multi_, transfer->easy);
  return id;
}

void Http::cancel(Id& id) {
  const auto found = transfers_.find(std::exchange(id, 0));
  if (found == transfers_.end()) return;
  curl_multi_remove_handle(multi_, found->second->easy);
  transfers_.erase(found);
}

void Http::add_descriptors(std::vector<pollfd>& to) const {
  for (const auto& [socket, events] : sockets_) to.push_back({.fd = socket, .events = events, .revents = 0});
}

bool Http::run(const std::vector<pollfd>& polled, TimePoint now) {
  int running = 0;
  for (const pollfd& each : polled) {
    if (each.revents == 0 || !sockets_.contains(each.fd)) continue;
    const int ready = ((each.revents & POLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                      ((each.revents & POLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                      ((each.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0 ? CURL_CSELECT_ERR : 0);
    curl_multi_socket_action(multi_, each.fd, ready, &running);
  }
  if (deadline_ && *deadline_ <= now) {
    deadline_.reset();
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
  }
  std::vector<Id> streams;
  for (const auto& [id, transfer] : transfers_)
    if (transfer->streams()) streams.push_back(id);
  bool called = false;
  for (const Id id : streams) called = deliver(id) || called;
  return take_ended() || called;
}

// To the handlers of a stream, if it was not canceled.
bool Http::deliver(Id id) {
  const auto found = transfers_.find(id);
  if (found == transfers_.end()) return false;
  Transfer& transfer = *found->second;
  const std::string bytes = std::exchange(transfer.answer.body, {});
  const HttpHandlers handlers = transfer.handlers;  // they may cancel this transfer
  const bool opened = std::exchange(transfer.opened, false);
  if (opened && handlers.on_open) handlers.on_open();
  if (!bytes.empty() && handlers.on_data && transfers_.contains(id)) handlers.on_data(bytes);
  return opened || !bytes.empty();
}

bool Http::take_ended() {
  int left = 0;
  bool called = false;
  while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode result = message->data.result;
    char* private_data = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private_data);
    const Id id = reinterpret_cast<Id>(private_data);
    const auto found = transfers_.find(id);
    if (found == transfers_.end()) continue;
    const std::unique_ptr<Transfer> transfer = std::move(found->second);
    curl_multi_remove_handle(multi_, transfer->easy);
    transfers_.erase(found);
    if (result != CURLE_OK) transfer->answer.failure = curl_easy_strerror(result);
    transfer->handlers.on_end(std::move(transfer->answer));
    called = true;
  }
  return called;
}

int Http::on_socket(CURL* /*easy*/, curl_socket_t socket, int what, void* self, void* /*data*/) {
  auto& sockets = static_cast<Http*>(self)->sockets_;
  if (what == CURL_POLL_REMOVE)
    sockets.erase(socket);
  else
    sockets[socket] = static_cast<short>(((what & CURL_POLL_IN) != 0 ? POLLIN : 0) |
                                         ((what & CURL_POLL_OUT) != 0 ? POLLOUT : 0));
  return 0;
}

int Http::on_timer(CURLM* /*multi*/, long milliseconds, void* self) {
  auto& deadline = static_cast<Http*>(self)->deadline_;
  deadline.reset();
  if (milliseconds >= 0) deadline = SteadyClock::now() + std::chrono::milliseconds(milliseconds);
  return 0;
}

}  // namespace console_app::top
