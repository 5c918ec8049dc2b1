#include "net/transfer_callbacks.hpp"

#include "loop/engine.hpp"
#include "net/socket_table.hpp"
#include "net/transfer.hpp"

#include <string_view>
#include <utility>

namespace agentcore::detail::net {

namespace {

// True when `step` returned true. After an exception the transfer has failed.
template <typename Step>
bool guarded(Transfer& transfer, Step&& step) noexcept {
  bool goes_on = false;
  if (transfer.engine().guarded("the receiver of an HTTP answer", [&] { goes_on = step(); })) return goes_on;
  return transfer.answer().fail(Failure::handler_threw);
}

// A return value of these two other than the size makes libcurl end the transfer.

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) noexcept {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::string_view line(data, size * count);
  const bool goes_on = !transfer.is_over() && guarded(transfer, [&] { return transfer.take_head(line); });
  return goes_on ? line.size() : CURL_WRITEFUNC_ERROR;
}

std::size_t on_write(char* data, std::size_t size, std::size_t count, void* self) noexcept {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::string_view bytes(data, size * count);
  const bool goes_on = !transfer.is_over() && guarded(transfer, [&] { return transfer.take_body(bytes); });
  return goes_on ? bytes.size() : CURL_WRITEFUNC_ERROR;
}

// Connected, and about to send the request. The last check before that: when a kept connection turns out to
// be dead, libcurl tries again on another, and a connection that was just shut down by a cut looks dead, too.
int on_request(void* self, char*, char*, int, int) noexcept {
  auto& transfer = *static_cast<Transfer*>(self);
  if (transfer.is_over()) return CURL_PREREQFUNC_ABORT;
  transfer.take_connection();
  return CURL_PREREQFUNC_OK;
}

curl_socket_t on_open(void* self, curlsocktype, curl_sockaddr* address) noexcept {
  auto& transfer = *static_cast<Transfer*>(self);
  return transfer.is_over() ? CURL_SOCKET_BAD : transfer.open_socket(*address);
}

int on_close(void* sockets, curl_socket_t descriptor) noexcept {
  static_cast<SocketTable*>(sockets)->close(descriptor);
  return 0;
}

}  // namespace

CURLcode set_callbacks(CURL* easy, Transfer& transfer, SocketTable& sockets) noexcept {
  CURLcode result = CURLE_OK;
  const auto set = [&](CURLoption option, auto value) {
    if (result == CURLE_OK) result = curl_easy_setopt(easy, option, value);
  };
  void* const self = &transfer;
  set(CURLOPT_PRIVATE, self);
  set(CURLOPT_WRITEFUNCTION, &on_write);
  set(CURLOPT_WRITEDATA, self);
  set(CURLOPT_HEADERFUNCTION, &on_header);
  set(CURLOPT_HEADERDATA, self);
  set(CURLOPT_PREREQFUNCTION, &on_request);
  set(CURLOPT_PREREQDATA, self);
  set(CURLOPT_OPENSOCKETFUNCTION, &on_open);
  set(CURLOPT_OPENSOCKETDATA, self);
  set(CURLOPT_CLOSESOCKETFUNCTION, &on_close);
  set(CURLOPT_CLOSESOCKETDATA, static_cast<void*>(&sockets));  // a connection outlives the transfer
  return result;
}

Transfer* transfer_of(CURL* easy) noexcept {
  char* self = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
  return reinterpret_cast<Transfer*>(self);
}

}  // namespace agentcore::detail::net
