// A real Qt event loop that runs inside a callback, and one that runs after the callback.
#include "loop/engine.hpp"
#include "support/catch.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <QCoreApplication>
#include <QEventLoop>
#include <QSocketNotifier>
#include <QTimer>
#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include <unistd.h>

using namespace agentcore;
using namespace std::chrono_literals;

namespace {

// Drives a Runtime from Qt's event loop.
class QtAdapter {
 public:
  explicit QtAdapter(Runtime& runtime)
      : runtime_(runtime), notifier_(runtime.poll_descriptor(), QSocketNotifier::Read) {
    timer_.setSingleShot(true);
    QObject::connect(&notifier_, &QSocketNotifier::activated, [this] { poll(); });
    QObject::connect(&timer_, &QTimer::timeout, [this] { poll(); });
    watch_deadline();
  }

  int wakes = 0;  // how often Qt's loop called poll()

 private:
  void poll() {
    ++wakes;
    runtime_.poll();
    watch_deadline();
  }
  void watch_deadline() {
    const auto deadline = runtime_.next_deadline();
    if (!deadline) return timer_.stop();
    const auto left = std::max(*deadline - runtime_.now(), Duration(0));
    timer_.start(std::chrono::ceil<std::chrono::milliseconds>(left));
  }

  Runtime& runtime_;
  QSocketNotifier notifier_;
  QTimer timer_;
};

struct Application {
  int count = 1;
  char name[5] = "test";
  char* words[2] = {name, nullptr};
  QCoreApplication qt{count, words};
};

// Reads one byte from each descriptor that is ready.
struct Reader final : detail::loop::IoHandler {
  void on_io(int descriptor, detail::loop::IoEvents) override {
    char byte = 0;
    reads += ::read(descriptor, &byte, 1) == 1 ? 1 : 0;
    if (on_read) on_read();
  }
  int reads = 0;
  std::function<void()> on_read;
};

// A nested loop, like that of QDialog::exec(). It ends after fifty rounds of Qt's event loop.
void exec_dialog() {
  QEventLoop dialog;
  int looks = 0;
  QTimer looking;
  QObject::connect(&looking, &QTimer::timeout, [&] {
    if (++looks == 50) dialog.quit();
  });
  looking.start(0);
  dialog.exec();
}

}  // namespace

TEST_CASE("a dialog that is opened in a callback does not keep Qt's loop busy", "[qt][Q2][Q3]") {
  Application application;
  Runtime runtime({.poll_budget = 1h});
  testing::ScriptedClient llm(runtime);
  AgentTree tree(runtime, {.llm = &llm});
  const Agent asker = *tree.create({.id = "asker"});
  const Agent other = *tree.create({.id = "other"});
  QtAdapter adapter(runtime);
  int ended = 0, while_open = -1, posts = 0;
  const auto events = tree.on_event([&](const Event& event) {
    if (event.get<TurnEnded>() == nullptr) return;
    if (++ended == 2) QCoreApplication::quit();
    if (ended != 1) return;
    // Work of another agent, of another thread, and a timer that is due.
    CHECK(other.send("hello"));
    std::thread([&] { runtime.post([&] { ++posts; }); }).join();
    const int before = adapter.wakes;
    exec_dialog();
    while_open = adapter.wakes - before;
    CHECK(ended == 1);
  });
  const Timer due = runtime.call_after(0ns, [] {});
  REQUIRE(asker.send("hello"));
  QCoreApplication::exec();
  CHECK(ended == 2);
  CHECK(posts == 1);
  CHECK(while_open >= 0);
  CHECK(while_open <= 2);
  CHECK(adapter.wakes < 50);
}

TEST_CASE("a dialog that a callback posts to Qt's loop drives the agents", "[qt][Q3]") {
  Application application;
  Runtime runtime({.poll_budget = 1h});
  testing::ScriptedClient llm(runtime);
  AgentTree tree(runtime, {.llm = &llm});
  const Agent asker = *tree.create({.id = "asker"});
  const Agent other = *tree.create({.id = "other"});
  QtAdapter adapter(runtime);
  QEventLoop dialog;
  int ended_in_dialog = 0;
  const auto events = tree.on_event([&](const Event& event) {
    if (event.get<TurnEnded>() == nullptr) return;
    if (dialog.isRunning()) {
      ++ended_in_dialog;
      dialog.quit();
      return;
    }
    const auto open = [&] {
      CHECK(other.send("go on"));
      dialog.exec();
      QCoreApplication::quit();
    };
    QMetaObject::invokeMethod(&application.qt, open, Qt::QueuedConnection);
  });
  REQUIRE(asker.send("hello"));
  QCoreApplication::exec();
  CHECK(ended_in_dialog == 1);
}

TEST_CASE("with only its descriptor the loop does not spin while a socket has data and a callback runs",
          "[qt][Q2]") {
  Application application;
  Runtime runtime({.poll_budget = 1h});
  QtAdapter adapter(runtime);
  Reader reader;
  int ends[2] = {-1, -1};
  REQUIRE(::pipe(ends) == 0);
  REQUIRE_FALSE(detail::loop::engine_of(runtime)->watch(ends[0], detail::loop::IoEvents::readable, reader));
  int pings = 0, while_open = -1;
  const auto quit_after_both = [&] {
    if (pings != 0 && reader.reads != 0) QCoreApplication::quit();
  };
  reader.on_read = quit_after_both;
  runtime.post([&] {
    CHECK(::write(ends[1], "x", 1) == 1);
    runtime.post([&] {
      ++pings;
      quit_after_both();
    });
    const int before = adapter.wakes;
    exec_dialog();
    while_open = adapter.wakes - before;
  });
  const Timer end = runtime.call_after(10s, [] { QCoreApplication::quit(); });
  QCoreApplication::exec();
  CHECK(pings == 1);
  CHECK(reader.reads == 1);
  CHECK(while_open >= 0);
  CHECK(while_open <= 1);
  detail::loop::engine_of(runtime)->unwatch(ends[0]);
  for (const int end_of_pipe : ends) ::close(end_of_pipe);
}
