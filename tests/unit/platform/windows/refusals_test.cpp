// What Windows cannot do is refused by name.
#ifdef _WIN32

#include "platform/process_system.hpp"
#include "support/catch.hpp"

#include <agentcore/loop_attachment.hpp>
#include <agentcore/runtime.hpp>

#include <system_error>

using namespace agentcore;

TEST_CASE("a program is not started on Windows, and the reason says so", "[process]") {
  SubprocessCommand command;
  command.arguments = {"tool.exe"};
  const auto spawned = detail::platform::make_process_system()->spawn(command);
  CHECK(spawned.pid == -1);
  CHECK(spawned.error ==
        "cannot start \"tool.exe\": programs as tools are not supported on Windows; use a function tool that "
        "starts the program");
}

TEST_CASE("a host's loop gets no descriptor on Windows", "[loop]") {
  Runtime runtime;
  LoopAttachment attachment(runtime);
  try {
    attachment.open_descriptor();
    FAIL("a descriptor was opened");
  } catch (const std::system_error& error) {
    CHECK(error.code() == std::errc::not_supported);
  }
}

#endif
