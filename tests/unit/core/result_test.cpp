// What a Result asserts in programs that have assertions.
#include "support/catch.hpp"

#include <agentcore/error.hpp>

#include <string>

#if !defined(NDEBUG) && !defined(_WIN32)
#include <csignal>
#include <cstddef>
#include <functional>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

using namespace agentcore;

namespace {

// What the program writes before it aborts; "" if it does not abort.
std::string last_words(const std::function<void()>& function) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);
    function();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string words;
  char piece[512];
  for (ssize_t read = 0; (read = ::read(ends[0], piece, sizeof piece)) > 0;)
    words.append(piece, static_cast<std::size_t>(read));
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? words : std::string();
}

bool says(const std::function<void()>& function, const std::string& words) {
  return last_words(function).find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a value that a result does not hold is asserted", "[core][result]") {
  Result<std::string> bad = Error{Errc::agent_limit, "full"};
  const Result<std::string>& same = bad;
  const std::string words = "it holds an Error and no value";
  CHECK(says([&] { *bad = "x"; }, words));
  CHECK(says([&] { static_cast<void>((*same).size()); }, words));
  CHECK(says([&] { static_cast<void>(*std::move(bad)); }, words));
  CHECK(says([&] { bad->clear(); }, words));
  CHECK(says([&] { static_cast<void>(same->size()); }, words));
}

TEST_CASE("an error that a result does not hold is asserted", "[core][result]") {
  const Result<int> good = 7;
  const Result<void> done;
  CHECK(says([&] { static_cast<void>(good.error().code); }, "it holds a value"));
  CHECK(says([&] { static_cast<void>(done.error().code); }, "it holds no Error"));
}

TEST_CASE("a result that holds what is asked for asserts nothing", "[core][result]") {
  const Result<int> good = 7, bad = Error{Errc::agent_limit, "full"};
  const Result<void> failed = Error{Errc::agent_limit, "full"};
  CHECK(last_words([&] { static_cast<void>(*good); }).empty());
  CHECK(bad.error().code == Errc::agent_limit);
  CHECK(failed.error().code == Errc::agent_limit);
}

#endif
