// What only QtLoop does.
#include "support/catch.hpp"

#include <agentcore/adapters/qt.hpp>

#include <QCoreApplication>
#include <QEventLoop>
#include <QThread>
#include <memory>
#include <stdexcept>
#include <string>

using namespace agentcore;
using adapters::QtLoop;

TEST_CASE("without an application QtLoop says what is missing", "[loops][qt]") {
  Runtime runtime;
  try {
    const QtLoop attached(runtime);
    FAIL("attached");
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()) ==
          "QtLoop: this thread has no event dispatcher: create the QCoreApplication before");
  }
  const auto made = QtLoop::make(runtime);
  REQUIRE_FALSE(made);
  CHECK(made.error().code == Errc::invalid_config);
  CHECK(made.error().message ==
        "QtLoop: this thread has no event dispatcher: create the QCoreApplication before");
}

TEST_CASE("QtLoop drives a Runtime from the loop of a QThread", "[loops][qt][qthread]") {
  int count = 1;
  char name[] = "test";
  char* words[] = {name, nullptr};
  const QCoreApplication application(count, words);
  int called = 0;
  const std::unique_ptr<QThread> thread(QThread::create([&] {
    Runtime runtime;
    QEventLoop loop;
    const QtLoop attached(runtime);
    runtime.post([&] {
      ++called;
      loop.quit();
    });
    loop.exec();
  }));
  thread->start();
  REQUIRE(thread->wait());
  CHECK(called == 1);
}
