#include "llm/http/replay_transport.hpp"

#include "core/wipe.hpp"
#include "llm/http/request_match.hpp"
#include "loop/time.hpp"
#include "net/call_handle.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::detail::llm {
namespace {

constexpr std::string_view method = "POST";  // of all our requests
constexpr const char* stopped_message = "The transfer was stopped.";

// Without scheme, host and query: a recording answers a client whatever its base URL is.
std::string_view path_of(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme != url.npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("?#"));
  const auto slash = url.find('/');
  return slash == url.npos ? std::string_view("/") : url.substr(slash);
}

net::HttpHead head_of(const HttpExchange& exchange) {
  net::HttpHead head{exchange.status, exchange.content_type};
  for (const std::string& header : exchange.headers) {
    const auto colon = header.find(':');
    if (colon == header.npos) continue;
    const auto value = header.find_first_not_of(' ', colon + 1);
    head.fields.emplace_back(header.substr(0, colon), value == header.npos ? "" : header.substr(value));
  }
  return head;
}

net::HttpEnd no_exchange(std::string_view url) {
  return {Errc::invalid_recording,
          "The recording has no exchange left for POST " + std::string(path_of(url)) +
              ". Record the exchange, or check which requests the program sends.",
          0};
}

// `next`: the exchange that the recording expects.
net::HttpEnd other_request(const HttpExchange& next, const net::HttpRequest& request) {
  return {Errc::invalid_recording,
          "The recording has no exchange left with this request for POST " +
              std::string(path_of(request.url)) + ". The next one differs in " +
              difference_of(next.request_body, request.body) +
              ". Record the exchange again, or use HttpReplay::Match::loose.",
          0};
}

}  // namespace

// An answer that is being replayed.
struct ReplayTransport::Playing {
  std::shared_ptr<net::CallHandle> handle;
  std::unique_ptr<net::HttpHandler> handler;
  const HttpExchange* exchange;  // null: none matches
  net::HttpEnd refusal;          // if none matches
  TimePoint begin;
  std::size_t limit;  // of the answer's bytes
  std::size_t received = 0;
  std::size_t pieces = 0;  // delivered already
  std::uint64_t timer = 0;
  bool has_head = false;
};

std::weak_ptr<ReplayTransport> ReplayTransport::make(loop::Engine& engine,
                                                     std::shared_ptr<const HttpReplay> replay) {
  auto transport = std::make_shared<ReplayTransport>(engine, std::move(replay));
  engine.add_source(transport);
  return transport;
}

ReplayTransport::ReplayTransport(loop::Engine& engine, std::shared_ptr<const HttpReplay> replay)
    : engine_(engine),
      replay_(std::move(replay)),
      stops_(std::make_shared<net::StopQueue>(engine.waker())),
      used_(replay_->exchanges().size()) {
}

ReplayTransport::~ReplayTransport() {
  stops_->close();
  for (const auto& [handle, playing] : open_) engine_.cancel_timer(playing->timer);
  const auto dropped = std::exchange(open_, {});
}

std::shared_ptr<net::CallHandle> ReplayTransport::make_handle() {
  return net::CallHandle::make(stops_);
}

void ReplayTransport::start(net::HttpRequest request, std::shared_ptr<net::CallHandle> handle,
                            std::unique_ptr<net::HttpHandler> handler) {
  if (engine_.closed()) return;
  for (std::string& header : request.headers) core::wipe(header);  // one of them holds the key
  const net::CallHandle* const key = handle.get();
  net::HttpEnd refusal;
  const HttpExchange* const exchange = find(request, refusal);
  auto playing =
      std::make_unique<Playing>(Playing{std::move(handle), std::move(handler), exchange, std::move(refusal),
                                        engine_.now(), request.max_response_bytes});
  plan(*open_.emplace(key, std::move(playing)).first->second);
}

// The first exchange with the same path and request, else the first with the same path that may answer any
// request. If there is none, `refusal` says why.
const HttpExchange* ReplayTransport::find(const net::HttpRequest& request, net::HttpEnd& refusal) {
  const auto& all = replay_->exchanges();
  const bool is_loose = replay_->match() == HttpReplay::Match::loose;
  std::size_t best = all.size(), next = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (used_[i] || all[i].method != method || path_of(all[i].url) != path_of(request.url)) continue;
    next = std::min(next, i);
    const std::string& body = all[i].request_body;
    const bool is_same = !body.empty() && asks_the_same(body, request.body);
    if (is_same || ((is_loose || body.empty()) && best == all.size())) best = i;
    if (is_same) break;
  }
  if (best != all.size()) {
    used_[best] = true;
    return &all[best];
  }
  refusal = next == all.size() ? no_exchange(request.url) : other_request(all[next], request);
  return nullptr;
}

// Starts the timer of the next piece, or of the end. A timer that is already due fires in the next poll.
void ReplayTransport::plan(Playing& playing) {
  Duration at{0};
  if (playing.exchange != nullptr && replay_->pace() == HttpReplay::Pace::as_recorded) {
    const HttpExchange& exchange = *playing.exchange;
    at = playing.pieces < exchange.body.size() ? exchange.body[playing.pieces].at : exchange.ended_at;
  }
  playing.timer = engine_.start_timer(loop::later(playing.begin, at),
                                      [this, handle = playing.handle.get()] { step(handle); });
}

void ReplayTransport::step(const net::CallHandle* handle) {
  Playing& playing = *open_.at(handle);
  playing.timer = 0;
  if (playing.handle->is_cut()) return end(handle, {Errc::cancelled, stopped_message, 0});
  if (playing.exchange == nullptr) return end(handle, std::move(playing.refusal));
  const HttpExchange& exchange = *playing.exchange;
  if (exchange.status != 0 && !std::exchange(playing.has_head, true) && !deliver_head(playing)) return;
  if (playing.pieces == exchange.body.size())
    return end(handle, {exchange.end, exchange.end_message, exchange.status, exchange.request_sent});
  if (deliver_piece(playing)) plan(playing);
}

// Calls the handler. False when nothing more is to be delivered: the transfer was cut (then run_control()
// ends it), it ended during the call, or the engine is destroyed.
template <typename Deliver>
bool ReplayTransport::deliver(Playing& playing, Deliver&& deliver) {
  const int status = playing.exchange->status;
  bool goes_on = false;
  const bool returned = engine_.guarded("the receiver of an HTTP answer", [&] { goes_on = deliver(); });
  if (engine_.closed() || playing.handle->is_cut()) return false;
  if (returned && goes_on) return true;
  end(playing.handle.get(),
      returned
          ? net::HttpEnd{Errc::invalid_response, "The receiver of the replayed answer refused a piece of it.",
                         status}
          : net::HttpEnd{Errc::callback_failed,
                         "The receiver of the replayed answer threw an exception; its message is in the log.",
                         status});
  return false;
}

bool ReplayTransport::deliver_head(Playing& playing) {
  return deliver(playing, [&] {
    playing.handler->on_head(head_of(*playing.exchange));
    return true;
  });
}

bool ReplayTransport::deliver_piece(Playing& playing) {
  const std::string& bytes = playing.exchange->body[playing.pieces++].bytes;
  playing.received += bytes.size();
  if (playing.received <= playing.limit)
    return deliver(playing, [&] { return playing.handler->on_body(bytes); });
  end(playing.handle.get(), {Errc::response_too_large,
                             "The replayed answer is larger than " + std::to_string(playing.limit) +
                                 " bytes; raise HttpLlmOptions::max_response_bytes.",
                             playing.exchange->status});
  return false;
}

void ReplayTransport::run_control(loop::PollBudget& budget) {
  while (!engine_.closed() && !stops_->empty() && budget.spend()) {
    const std::shared_ptr<net::CallHandle> handle = stops_->pop();
    const auto found = open_.find(handle.get());
    if (found == open_.end()) continue;
    const int status = found->second->has_head ? found->second->exchange->status : 0;
    end(handle.get(), {Errc::cancelled, stopped_message, status});
  }
}

void ReplayTransport::end(const net::CallHandle* handle, net::HttpEnd how) {
  const auto playing = std::move(open_.extract(handle).mapped());
  if (playing->timer != 0) engine_.cancel_timer(playing->timer);
  engine_.guarded("the receiver of an HTTP answer", [&] { playing->handler->on_end(std::move(how)); });
}

}  // namespace agentcore::detail::llm
