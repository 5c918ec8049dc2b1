// LoopAttachment: what adapters to foreign loops are made of.
#include "support/catch.hpp"
#include "support/drive/loop_fixture.hpp"
#include "support/drive/no_descriptors.hpp"

#include <agentcore/adapters/game_loop.hpp>
#include <agentcore/loop_attachment.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

using namespace agentcore;
using namespace loop_test;

namespace {

// The error of open_descriptor(), and its text.
std::pair<std::error_code, std::string> refusal(LoopAttachment& attachment) {
  try {
    attachment.open_descriptor();
    return {};
  } catch (const std::system_error& error) {
    const Result<int> without_exception = attachment.try_open_descriptor();
    CHECK(without_exception.error().message == error.what());
    Errc expected = Errc::out_of_memory;
    if (error.code() == std::errc::operation_canceled) expected = Errc::runtime_gone;
    if (error.code() == std::errc::not_supported) expected = Errc::invalid_config;
    CHECK(without_exception.error().code == expected);
    return {error.code(), error.what()};
  }
}

}  // namespace

TEST_CASE("the descriptor of an attachment is readable when there is work and outlives the Runtime",
          "[loop][Q2][Q3]") {
  const auto before = open_descriptors();
  {
    std::optional<Runtime> runtime(std::in_place);
    LoopAttachment attachment(*runtime);
    const int descriptor = attachment.open_descriptor();
    CHECK(descriptor != runtime->poll_descriptor());
    CHECK(attachment.open_descriptor() == descriptor);
    CHECK_FALSE(readable(descriptor));
    int called = 0;
    runtime->post([&] { ++called; });
    CHECK(readable(descriptor));
    CHECK_FALSE(attachment.poll());
    CHECK(called == 1);
    CHECK_FALSE(readable(descriptor));
    const Timer timer = runtime->call_after(1ms, [&] { ++called; });
    wait_readable(descriptor);
    CHECK(attachment.is_attached());
    runtime.reset();
    CHECK_FALSE(attachment.is_attached());
    CHECK_FALSE(attachment.poll());
    CHECK_FALSE(attachment.poll(1ms));
    CHECK(called == 1);
    CHECK(attachment.open_descriptor() == descriptor);
    CHECK_FALSE(readable(descriptor));
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("the descriptor of an attachment stays readable while a poll leaves work", "[loop][Q2]") {
  Runtime runtime;
  LoopAttachment attachment(runtime);
  const int descriptor = attachment.open_descriptor();
  int called = 0;
  runtime.post([&] {
    ++called;
    runtime.post([&] { ++called; });
  });
  CHECK(attachment.poll());
  CHECK(called == 1);
  CHECK(readable(descriptor));
  CHECK_FALSE(attachment.poll());
  CHECK(called == 2);
}

TEST_CASE("an attachment and its Runtime may be destroyed within its poll", "[loop][Q3]") {
  auto runtime = std::make_unique<Runtime>();
  auto attachment = std::make_unique<LoopAttachment>(*runtime);
  attachment->open_descriptor();
  const bool runtime_too = GENERATE(true, false);
  runtime->post([&] {
    attachment.reset();
    if (runtime_too) runtime.reset();
  });
  CHECK_FALSE(attachment->poll());
  CHECK_FALSE(attachment);
}

TEST_CASE("an attachment says why there is no descriptor for a foreign loop", "[loop][Q2]") {
  testing::ManualClock clock;
  const std::string case_of = GENERATE("clock", "poll", "none left", "gone");
  CAPTURE(case_of);
  std::optional<Runtime> runtime(with(case_of == "poll" ? LoopBackend::poll : LoopBackend::automatic,
                                      case_of == "clock" ? &clock : SharedOrBorrowed<Clock>()));
  LoopAttachment attachment(*runtime);
  if (case_of == "gone") {
    runtime.reset();
    const auto [code, text] = refusal(attachment);
    CHECK(code == std::errc::operation_canceled);
    CHECK(text.starts_with("LoopAttachment: the Runtime was destroyed"));
  } else if (case_of == "none left") {
    std::optional<test::NoDescriptors> none(std::in_place);
    const auto [code, text] = refusal(attachment);
    none->release(4);  // enough for the Runtime, but not for the attachment
    const auto [second, same] = refusal(attachment);
    none.reset();
    CHECK(code == std::errc::too_many_files_open);
    CHECK(
        text.starts_with("LoopAttachment: the system has no descriptor left for the loop: close some, or "
                         "raise RLIMIT_NOFILE"));
    CHECK(second == std::errc::too_many_files_open);
    CHECK(same == text);
    CHECK(attachment.open_descriptor() >= 0);
  } else {
    const auto [code, text] = refusal(attachment);
    CHECK(code == std::errc::not_supported);
    CHECK(
        text.starts_with("LoopAttachment: the descriptor of this Runtime does not report timers: use the "
                         "SystemClock and LoopBackend::automatic, on a system with epoll and "
                         "timerfd_create()"));
  }
}

TEST_CASE("a game loop polls for the rest of the frame, and for a little if the frame is late",
          "[loop][Q2]") {
  std::optional<Runtime> runtime(std::in_place);
  adapters::GameLoop game(*runtime, 1h, 2ms);
  game.begin_frame();
  CHECK(game.rest() > 59min);
  CHECK(game.rest() <= 1h);
  CHECK(adapters::GameLoop(*runtime, 0ns, 0ns).rest() == 0ns);
  CHECK(adapters::GameLoop(*runtime, 2ms, 2ms).rest() == 2ms);
  int called = 0;
  runtime->post([&] { ++called; });
  CHECK_FALSE(game.poll());
  CHECK(called == 1);
  runtime.reset();
  CHECK_FALSE(game.poll());
}

TEST_CASE("a game loop rejects times that are negative or do not fit into the frame", "[loop]") {
  Runtime runtime;
  CHECK_THROWS_AS(adapters::GameLoop(runtime, 1ms, 2ms), std::invalid_argument);
  CHECK_THROWS_AS(adapters::GameLoop(runtime, 1ms, -1ns), std::invalid_argument);
}
