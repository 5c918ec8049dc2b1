#include "llm/http/replay_transport.hpp"

#include "core/wipe.hpp"
#include "loop/time.hpp"
#include "net/cut.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace agentcore::llm {
namespace {

constexpr std::string_view method = "POST";  // of all our requests

// Without scheme, host and query: a recording is replayed wherever the client would send its requests.
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

}  // namespace

// An answer that is being given.
struct ReplayTransport::Playing {
  std::shared_ptr<net::Cut> cut;
  std::unique_ptr<net::HttpHandler> handler;
  const HttpExchange* exchange;  // null: none fits
  std::string url;
  TimePoint begin;
  std::size_t limit;  // of the answer's bytes
  std::size_t received = 0;
  std::size_t pieces = 0;  // given already
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
      cuts_(std::make_shared<net::CutQueue>(engine.waker())),
      used_(replay_->exchanges().size()) {
}

ReplayTransport::~ReplayTransport() {
  cuts_->close();
  for (const auto& [cut, playing] : open_) engine_.cancel_timer(playing->timer);
  const auto dropped = std::exchange(open_, {});
}

std::shared_ptr<net::Cut> ReplayTransport::make_cut() {
  return net::Cut::make(cuts_);
}

void ReplayTransport::start(net::HttpRequest request, std::shared_ptr<net::Cut> cut,
                            std::unique_ptr<net::HttpHandler> handler) {
  if (engine_.closed()) return;
  for (std::string& header : request.headers) core::wipe(header);  // one of them holds the key
  const net::Cut* const key = cut.get();
  auto playing =
      std::make_unique<Playing>(Playing{std::move(cut), std::move(handler), find(request),
                                        std::move(request.url), engine_.now(), request.max_response_bytes});
  plan(*open_.emplace(key, std::move(playing)).first->second);
}

// The first that fits altogether, else the first whose body differs.
const HttpExchange* ReplayTransport::find(const net::HttpRequest& request) {
  const auto& all = replay_->exchanges();
  std::size_t best = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (used_[i] || all[i].method != method || path_of(all[i].url) != path_of(request.url)) continue;
    const bool same_body = all[i].request_body == request.body;
    if (same_body || best == all.size()) best = i;
    if (same_body) break;
  }
  if (best == all.size()) return nullptr;
  used_[best] = true;
  return &all[best];
}

// When the next thing happens. A timer that is due already fires in the next poll.
void ReplayTransport::plan(Playing& playing) {
  Duration at{0};
  if (playing.exchange != nullptr && replay_->pace() == HttpReplay::Pace::as_recorded) {
    const HttpExchange& exchange = *playing.exchange;
    at = playing.pieces < exchange.body.size() ? exchange.body[playing.pieces].at : exchange.ended_at;
  }
  playing.timer =
      engine_.start_timer(loop::later(playing.begin, at), [this, cut = playing.cut.get()] { step(cut); });
}

void ReplayTransport::step(const net::Cut* cut) {
  Playing& playing = *open_.at(cut);
  playing.timer = 0;
  const HttpExchange* const exchange = playing.exchange;
  if (playing.cut->is_cut()) return end(cut, {Errc::cancelled, "the transfer was stopped", 0});
  if (exchange == nullptr)
    return end(cut,
               {Errc::invalid_recording,
                "no exchange is left in the recording for POST " + std::string(path_of(playing.url)), 0});
  if (exchange->status != 0 && !std::exchange(playing.has_head, true) && !give_head(playing)) return;
  if (playing.pieces == exchange->body.size())
    return end(cut, {exchange->end, exchange->end_message, exchange->status, exchange->request_sent});
  if (give_piece(playing)) plan(playing);
}

// These two return false when that was the last thing that the handler heard.

bool ReplayTransport::give_head(Playing& playing) {
  const bool fine =
      engine_.guarded("an HTTP handler", [&] { playing.handler->on_head(head_of(*playing.exchange)); });
  if (engine_.closed()) return false;
  if (fine && !playing.cut->is_cut()) return true;
  if (!fine)
    end(playing.cut.get(),
        {Errc::callback_failed, "the receiver of the answer threw", playing.exchange->status});
  return false;
}

bool ReplayTransport::give_piece(Playing& playing) {
  const int status = playing.exchange->status;
  const std::string& bytes = playing.exchange->body[playing.pieces++].bytes;
  playing.received += bytes.size();
  if (playing.received > playing.limit) {
    end(playing.cut.get(),
        {Errc::response_too_large, "the answer is larger than max_response_bytes", status});
    return false;
  }
  bool goes_on = false;
  const bool fine = engine_.guarded("an HTTP handler", [&] { goes_on = playing.handler->on_body(bytes); });
  if (engine_.closed()) return false;
  if (playing.cut->is_cut()) return false;  // run_control() ends it
  if (fine && goes_on) return true;
  end(playing.cut.get(),
      fine ? net::HttpEnd{Errc::invalid_response, "the answer was refused by its receiver", status}
           : net::HttpEnd{Errc::callback_failed, "the receiver of the answer threw", status});
  return false;
}

void ReplayTransport::run_control(loop::Budget& budget) {
  while (!engine_.closed() && !cuts_->empty() && budget.spend()) {
    const std::shared_ptr<net::Cut> cut = cuts_->pop();
    const auto found = open_.find(cut.get());
    if (found == open_.end()) continue;
    const int status = found->second->has_head ? found->second->exchange->status : 0;
    end(cut.get(), {Errc::cancelled, "the transfer was stopped", status});
  }
}

void ReplayTransport::end(const net::Cut* cut, net::HttpEnd how) {
  const auto playing = std::move(open_.extract(cut).mapped());
  if (playing->timer != 0) engine_.cancel_timer(playing->timer);
  engine_.guarded("an HTTP handler", [&] { playing->handler->on_end(std::move(how)); });
}

}  // namespace agentcore::llm
