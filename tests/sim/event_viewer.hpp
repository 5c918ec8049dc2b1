// EventViewer: a page that shows the agents. It loads them, follows the events of the console, and connects
// again when its stream has ended: as docs/console.md says how to miss nothing.
#pragma once

#include "sim/client_socket.hpp"
#include "sim/verdict.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/event.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::sim {

// The line that an event is in EventViewer::lines(); empty: viewers get none for it.
std::string line_of(const Event& event);

// An agent, as events and the list of agents show it.
struct ShownAgent {
  std::string parent, state, stop_pending;
  bool paused = false, held = false;
  std::uint64_t waiting = 0, turns = 0, tokens = 0;
};

// The text of an answer: agent, turn, call, and whether it is reasoning.
using TextKey = std::tuple<std::string, std::uint64_t, std::uint64_t, bool>;

class EventViewer {
 public:
  // `reads_late`: it reads what is there when read() is called, and not before.
  EventViewer(Verdict& verdict, bool reads_late) : verdict_(verdict), reads_late_(reads_late) {}

  // Begins, or goes on behind the last event that it got. `access`: header lines. False: it does so already.
  bool follow(std::string access);
  void leave(bool in_order);
  // The server's process has ended. It connects to the next one.
  void forget();
  void read(std::size_t most) noexcept { may_read_ += most; }
  // Reads what is there, and takes the next step.
  void move(ClientNetwork& network, TimePoint now);
  void reads_at_once() noexcept { reads_late_ = false; }

  bool is_off() const noexcept { return phase_ == Phase::off; }
  // It follows, and has nothing left to read. `lines()` are since it has loaded all agents.
  bool is_current() const;
  // The server waits for it.
  bool is_blocking() const { return phase_ == Phase::following && socket_ && socket_->is_full(); }
  bool is_closed() const { return !socket_ || socket_->has_ended(); }
  const std::map<std::string, ShownAgent>& agents() const noexcept { return agents_; }
  const std::vector<std::string>& lines() const noexcept { return lines_; }
  const std::map<TextKey, std::string>& texts() const noexcept { return texts_; }
  // It has loaded them in pages: a turn that has ended in between is counted twice.
  bool has_pages() const noexcept { return has_pages_; }
  // What it has got, and done, since the last call: a line for each.
  std::vector<std::string> take_news() { return std::exchange(news_, {}); }
  // How often it has asked for events.
  std::size_t streams() const noexcept { return streams_; }
  // How often it has loaded everything again, was told to, and has gone on behind its last event.
  std::size_t loads() const noexcept { return loads_; }
  std::size_t lags() const noexcept { return lags_; }
  std::size_t continued() const noexcept { return continued_; }

 private:
  enum class Phase : std::uint8_t { off, waiting, loading, following };

  bool connect(ClientNetwork& network);
  void ask(const std::string& target, const std::string& headers);
  void begin(ClientNetwork& network, TimePoint now);
  void load_next();
  void wait(TimePoint until);
  bool take_page(TimePoint now);
  bool take_head(TimePoint now);
  bool take_event();
  void take_id(std::string_view id, bool is_reset);
  void apply(const nlohmann::json& event);
  void apply_to(const std::string& id, const std::string& type, const nlohmann::json& event);
  void pause(const std::vector<std::string>& tops, bool paused);
  void enter(const nlohmann::json& agent);

  Verdict& verdict_;
  bool reads_late_;
  std::size_t may_read_ = 0;
  Phase phase_ = Phase::off;
  TimePoint until_ = {};  // of `waiting`
  std::string access_;
  std::shared_ptr<ClientSocket> socket_;
  std::string received_;
  bool has_head_ = false, loaded_ = false, begun_ = false, has_pages_ = false;
  std::string last_id_;  // of the last event; empty: it has loaded nothing
  std::string epoch_;
  std::uint64_t number_ = 0, next_page_ = 0;
  std::map<std::string, ShownAgent> agents_;
  std::map<std::string, bool> arrived_;  // agents of events and pages, while it loads
  std::vector<std::string> lines_, news_;
  std::map<TextKey, std::string> texts_;
  std::size_t loads_ = 0, streams_ = 0, lags_ = 0, continued_ = 0;
};

}  // namespace agentcore::sim
