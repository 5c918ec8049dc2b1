// What the C++ Actor Framework 0.17 offers for the same work. It has no call that has closed every gate below
// an actor when it returns, so it has no figure for stop_gate_1m.
//
//   peer_caf_actors tree [AGENTS]   settle_1m, idle_bytes and create: a tree of linked actors
//   peer_caf_actors send            send: from an actor on the same thread, and from another thread
//   peer_caf_actors fan [AGENTS]    send_fan
#include "harness.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <caf/all.hpp>

namespace {

using namespace bench;

// With one thread for all actors: with two, trees and messages take longer.
struct Config : caf::actor_system_config {
  Config() { set("scheduler.max-threads", 1); }
};

// --- a tree ---

struct Tree {
  explicit Tree(std::size_t agents) : count(agents), waiting(static_cast<std::ptrdiff_t>(agents)) {}

  const std::size_t count;
  std::latch waiting;
  std::atomic<std::size_t> ended = 0;
};

// Keeps its children alive; the links end them with it.
struct Family {
  ~Family() {
    if (tree) tree->ended.fetch_add(1, std::memory_order_relaxed);
  }
  Tree* tree = nullptr;
  std::vector<caf::actor> children;
};

// The actor at place `i` of a tree with eight children each. It spawns all below itself.
caf::behavior agent(caf::stateful_actor<Family>* self, Tree* tree, std::size_t i) {
  self->state.tree = tree;
  for (std::size_t child = 8 * i + 1; child <= 8 * i + 8 && child < tree->count; ++child)
    self->state.children.push_back(self->spawn<caf::linked>(agent, tree, child));
  tree->waiting.count_down();
  return {[](const std::string&) {}};
}

void measure_tree(std::size_t count) {
  Config config;
  caf::actor_system system(config);
  Tree tree(count);
  const std::size_t memory = resident();
  std::uint64_t begin = now();
  caf::actor root = system.spawn(agent, &tree, std::size_t{0});
  tree.waiting.wait();
  const std::uint64_t created = now() - begin;
  const std::size_t grown = resident() - memory;

  begin = now();
  caf::anon_send_exit(root, caf::exit_reason::user_shutdown);
  root = nullptr;
  system.await_all_actors_done();
  const std::uint64_t settled = now() - begin;
  if (tree.ended != count) std::abort();

  const auto n = static_cast<double>(count);
  constexpr std::string_view peer = "CAF linked actors";
  report_peer("settle_1m", "tree of 8, " + std::to_string(count), static_cast<double>(settled) / n,
              "ns/agent", peer);
  report_peer("idle_bytes", std::to_string(count), static_cast<double>(grown) / n, "bytes", peer);
  report_peer("create", std::to_string(count), static_cast<double>(created) / n, "ns", peer);
}

// --- messages ---

using Handled = std::atomic<std::size_t>;

// Counts what it is sent, and answers a question.
caf::behavior handler(caf::event_based_actor*, Handled* handled) {
  return {
      [handled](const std::string& text) { handled->fetch_add(text.size(), std::memory_order_relaxed); },
      [](caf::ok_atom) { return caf::ok_atom_v; },
  };
}

struct Sending {
  const std::vector<caf::actor>& receivers;
  const std::size_t messages;
  std::size_t sent = 0;
  std::latch done{1};
};

// Sends windows of messages to the receivers in turn. A mailbox of CAF has no limit: after each window it
// asks the last receiver, and goes on when that has answered.
caf::behavior sender(caf::event_based_actor* self, Sending* work) {
  constexpr std::size_t window = 1000;
  return {[self, work](caf::ok_atom next) {
    if (work->sent == work->messages) {
      work->done.count_down();
      return self->quit();
    }
    const auto receiver = [work] { return work->receivers[work->sent % work->receivers.size()]; };
    const std::size_t end = std::min(work->sent + window, work->messages);
    for (; work->sent < end - 1; ++work->sent) self->send(receiver(), std::string("x"));
    const caf::actor last = receiver();
    self->send(last, std::string("x"));
    ++work->sent;
    self->request(last, caf::infinite, next).then([self, next](caf::ok_atom) { self->send(self, next); });
  }};
}

// Actors that handle messages, and what they have handled.
class Receivers {
 public:
  explicit Receivers(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) actors_.push_back(system_.spawn(handler, &handled_));
  }
  ~Receivers() {
    for (const caf::actor& actor : actors_) caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }

  // Nanoseconds per message until all are handled, when an actor sends them.
  double from_an_actor(std::size_t messages) {
    return timed(messages, [&] {
      Sending work{.receivers = actors_, .messages = messages};
      caf::anon_send(system_.spawn(sender, &work), caf::ok_atom_v);
      work.done.wait();
    });
  }

  // The same, when this thread sends them; the limit is that of our mailbox in message_bench.
  double from_this_thread(std::size_t messages) {
    constexpr std::size_t limit = 65'000;
    return timed(messages, [&] {
      for (std::size_t i = 0; i < messages; ++i) {
        while (i - handled_.load(std::memory_order_relaxed) >= limit) std::this_thread::yield();
        caf::anon_send(actors_[i % actors_.size()], std::string("x"));
      }
    });
  }

 private:
  template <typename Send>
  double timed(std::size_t messages, Send send) {
    handled_ = 0;
    const std::uint64_t begin = now();
    send();
    while (handled_.load(std::memory_order_relaxed) < messages) std::this_thread::yield();
    const std::uint64_t elapsed = now() - begin;
    if (handled_ != messages) std::abort();
    return static_cast<double>(elapsed) / static_cast<double>(messages);
  }

  Handled handled_ = 0;
  Config config_;
  caf::actor_system system_{config_};
  std::vector<caf::actor> actors_;
};

void measure_send() {
  constexpr std::size_t messages = 2'000'000;
  report_peer("send", "one thread", Receivers(1).from_an_actor(messages), "ns", "CAF actor");
  report_peer("send", "other thread", Receivers(1).from_this_thread(messages), "ns", "CAF actor");
}

void measure_fan(std::size_t count) {
  Receivers receivers(count);
  const auto round = [&] { return receivers.from_an_actor(count); };
  round();
  report_peer("send_fan", std::to_string(count), median_of(3, round), "ns", "CAF actors");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const std::size_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
  if (what == "tree") return measure_tree(count), 0;
  if (what == "send") return measure_send(), 0;
  if (what == "fan") return measure_fan(count), 0;
  std::fprintf(stderr, "usage: peer_caf_actors tree|send|fan [AGENTS]\n");
  return 2;
}
