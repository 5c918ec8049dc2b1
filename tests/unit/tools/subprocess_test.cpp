// The output of programs and their ends. (Stops of programs: unit/process/process_stop_test.cpp.)
#include "support/catch.hpp"
#include "support/drive/process_fixture.hpp"
#include "support/drive/tool_turn.hpp"

#include <array>
#include <csignal>
#include <limits>
#include <stdexcept>
#include <string>

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("a program that exits with 0 succeeds and its output is the message", "[tools][G13]") {
  const auto watch = EACH_WATCH();
  const auto backend = EACH_BACKEND();
  ToolFixture fixture(loop_test::with(backend));
  const ToolResult result = fixture.run(program(script("echo out; echo err >&2"), watch));
  CHECK(result.success);
  CHECK(result.message == "out\n");
  CHECK(result.data == R"({"exit_code":0})");
  CHECK(no_children());
}

TEST_CASE("any other exit code is a failure with all output", "[tools]") {
  ToolFixture fixture;
  const ToolResult result = fixture.run(program(script("echo out; echo err >&2; exit 3")));
  CHECK_FALSE(result.success);
  CHECK(result.message == "the program exited with code 3\nstandard output:\nout\n\nstandard error:\nerr\n");
  CHECK(result.data == R"({"exit_code":3})");
  CHECK(fixture.run(program(command_of({"false"}))).message == "the program exited with code 1");
}

TEST_CASE("a program that a signal ended has failed", "[tools]") {
  ToolFixture fixture;
  const ToolResult result = fixture.run(program(script("kill -KILL $$"), EACH_WATCH()));
  CHECK_FALSE(result.success);
  CHECK(result.message == "the program was ended by signal 9 (SIGKILL)");
  CHECK(result.data == R"({"signal":9})");
}

TEST_CASE("run_until_idle waits for programs", "[tools]") {
  ToolFixture fixture;
  const auto call = fixture.start(program(script("read line; echo done")));
  CHECK(fixture.runtime->run_until_idle());
  CHECK(fixture.has_result(call));
}

TEST_CASE("output over the limit is read and dropped and counted", "[tools][G15]") {
  ToolFixture fixture;
  const std::string text = "head -c 10485760 /dev/zero | tr '\\0' ";
  const ToolResult result = fixture.run(program(script(text + "x; echo end >&2")));
  CHECK(result.success);
  CHECK(result.message == std::string(65536, 'x') + "\n[10420224 bytes more were dropped]");
  SubprocessOptions options = running(script(text + "y >&2; echo out; exit 1"));
  options.max_output_bytes = 4;
  CHECK(fixture.run(make_subprocess_tool(program_spec(), options)).message ==
        "the program exited with code 1\nstandard output:\nout\n\nstandard error:\nyyyy\n[10485756 bytes "
        "more were dropped]");
}

TEST_CASE("a result that is cut to the tree's limit says how much of the output is missing", "[tools][G15]") {
  ToolTurn t({.max_tool_result_bytes = 1000});
  const auto add = [&](std::string name, std::string line) {
    t.tools->add(make_subprocess_tool({.name = std::move(name)}, running(script(line))));
  };
  add("good", "head -c 100000 /dev/zero | tr '\\0' x");
  add("bad", "head -c 100000 /dev/zero | tr '\\0' x; printf '%0500d' 0 >&2; exit 1");
  t.ask(t.agent());
  t.call({{.name = "good"}});
  REQUIRE(t.drive([&] { return t.llm->calls() == 2; }));
  CHECK(t["a"].conversation().value().back().content() ==
        std::string(744, 'x') + "\n[99256 bytes more were dropped]\n{\"exit_code\":0}");
  t.call({{.name = "bad"}});
  REQUIRE(t.drive([&] { return t.llm->calls() == 3; }));
  CHECK(t["a"].conversation().value().back().content() ==
        "error: the program exited with code 1\nstandard output:\n" + std::string(372, 'x') +
            "\n[99628 bytes more were dropped]\nstandard error:\n" + std::string(372, '0') +
            "\n[128 bytes more were dropped]\n{\"exit_code\":1}");
}

TEST_CASE("the kept output is valid UTF-8", "[tools][G15]") {
  ToolFixture fixture;
  CHECK(fixture.run(program(script("printf 'a\\377z'"))).message == "a\xEF\xBF\xBDz");
  SubprocessOptions options = running(script("printf 'a\\303\\274z'"));
  options.max_output_bytes = 2;
  CHECK(fixture.run(make_subprocess_tool(program_spec(), options)).message ==
        "a\n[3 bytes more were dropped]");
  options.max_output_bytes = 0;
  CHECK(fixture.run(make_subprocess_tool(program_spec(), options)).message ==
        "\n[4 bytes more were dropped]");
}

TEST_CASE("a large input comes back through cat", "[tools]") {
  ToolFixture fixture(loop_test::with(EACH_BACKEND()));
  SubprocessCommand command = command_of({"cat"});
  for (int i = 0; command.input.size() < 4'000'000; ++i) command.input += std::to_string(i) + "\n";
  SubprocessOptions options = running(command);
  options.max_output_bytes = std::numeric_limits<std::size_t>::max();
  const ToolResult result = fixture.run(make_subprocess_tool(program_spec(), options));
  CHECK(result.success);
  CHECK(result.message == command.input);
}

TEST_CASE("without input a program reads nothing", "[tools]") {
  ToolFixture fixture;
  CHECK(fixture.run(program(command_of({"cat"}))).success);
}

TEST_CASE("a program may reopen its input as a file", "[tools]") {
  ToolFixture fixture;
  SubprocessCommand command = command_of({"cat", "/dev/stdin"});
  command.input = "text";
  CHECK(fixture.run(program(command)).message == "text");
}

TEST_CASE("a program that does not read its input does not block or signal the host", "[tools][G16]") {
  ToolFixture fixture;
  SubprocessCommand command = script("exec <&-; echo fine");
  command.input = std::string(10'000'000, 'x');
  CHECK(fixture.run(program(command)).message ==
        "fine\n");  // and SIGPIPE, at its default, did not end the process
  sigset_t pending, mask;
  sigpending(&pending);
  CHECK(sigismember(&pending, SIGPIPE) == 0);
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  CHECK(sigismember(&mask, SIGPIPE) == 0);
}

TEST_CASE("a program that cannot be started says why", "[tools]") {
  ToolFixture fixture;
  const ToolResult result = fixture.run(program(command_of({"no-such-program-anywhere"})));
  CHECK_FALSE(result.success);
  CHECK(result.message == "cannot start \"no-such-program-anywhere\": No such file or directory");
  CHECK(result.data.empty());
  CHECK(fixture.run(program(command_of({"/etc/passwd"}))).message ==
        "cannot start \"/etc/passwd\": Permission denied");
  CHECK(fixture.run(program(command_of({"\xFF"}))).message ==
        "cannot start \"\xEF\xBF\xBD\": No such file or directory");
  CHECK(no_children());
}

TEST_CASE("an empty or invalid command is refused", "[tools]") {
  ToolFixture fixture;
  CHECK(fixture.run(program({})).message ==
        "SubprocessCommand::arguments is empty; its first entry must be a program");
  CHECK(fixture.run(program(command_of({""}))).message ==
        "SubprocessCommand::arguments is empty; its first entry must be a program");
  CHECK(fixture.run(program(command_of({"echo", std::string("a\0b", 3)}))).message ==
        "the command holds a null character");
  SubprocessCommand command = command_of({"true"});
  command.environment = {{"A=B", "c"}};
  CHECK(holds(fixture.run(program(command)).message, "without a proper name"));
}

TEST_CASE("a program runs in the directory that it is given", "[tools]") {
  ToolFixture fixture;
  SubprocessCommand command = command_of({"pwd"});
  command.directory = "/usr";
  CHECK(fixture.run(program(command)).message == "/usr\n");
  command.directory = "/no/such";
  CHECK(fixture.run(program(command)).message ==
        "cannot enter the directory \"/no/such\": No such file or directory");
}

TEST_CASE("a program gets the environment of the command with or without that of the host", "[tools]") {
  ToolFixture fixture;
  SubprocessCommand command = command_of({"/usr/bin/env"});
  command.environment = {{"AGENTCORE_A", "earlier"}, {"AGENTCORE_A", "1"}, {"HOME", "/nowhere"}};
  const std::string both = fixture.run(program(command)).message;
  CHECK(holds(both, "AGENTCORE_A=1\n"));
  CHECK(holds(both, "HOME=/nowhere\n"));
  CHECK(holds(both, "PATH="));
  CHECK_FALSE(holds(both, "AGENTCORE_A=earlier"));
  command.inherit_environment = false;
  CHECK(fixture.run(program(command)).message == "AGENTCORE_A=1\nHOME=/nowhere\n");
}

TEST_CASE("a tool whose command throws has failed and one without a command is refused", "[tools][G16]") {
  ToolFixture fixture;
  SubprocessOptions options;
  CHECK_THROWS_AS(make_subprocess_tool(program_spec(), options), std::invalid_argument);
  options.command = [](const nlohmann::json&) -> SubprocessCommand {
    throw std::runtime_error("which file?");
  };
  const ToolResult result = fixture.run(make_subprocess_tool(program_spec(), options));
  CHECK_FALSE(result.success);
  CHECK(result.message == "the tool failed: which file?");
}

TEST_CASE("a program inherits no descriptor but its three", "[tools][G13]") {
  ToolFixture fixture;
  const int open_to_all = ::open("/dev/null", O_RDONLY);  // NOLINT: without O_CLOEXEC
  const std::string number = std::to_string(open_to_all);
  CHECK(fixture.run(program(script("test -e /proc/$$/fd/1 && test ! -e /proc/$$/fd/" + number))).success);
  ::close(open_to_all);
}

TEST_CASE("programs run in a host that has closed its standard input and output", "[tools]") {
  ToolFixture fixture;
  const std::array<int, 2> kept{::fcntl(0, F_DUPFD_CLOEXEC, 100), ::fcntl(1, F_DUPFD_CLOEXEC, 100)};
  ::close(0);
  ::close(1);
  SubprocessCommand command = script("cat; echo err >&2; exit 1");
  command.input = "in\n";
  const ToolResult result = fixture.run(program(command));
  fixture.runtime.reset();  // it may use these numbers by now
  for (const int number : {0, 1}) {
    const auto from = kept[static_cast<std::size_t>(number)];
    if (from >= 0) ::dup2(from, number);
    if (from >= 0) ::close(from);
  }
  CHECK(result.message == "the program exited with code 1\nstandard output:\nin\n\nstandard error:\nerr\n");
}

TEST_CASE("if the host ignores SIGCHLD the end of a program is noticed without its exit status", "[tools]") {
  struct sigaction ignored {};
  struct sigaction before {};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignored, &before);
  {
    ToolFixture fixture;
    const ToolResult result = fixture.run(program(script("echo out"), EACH_WATCH()));
    CHECK_FALSE(result.success);
    CHECK(holds(result.message, "unknown status"));
    CHECK(holds(result.message, "out\n"));
    CHECK(result.data.empty());
  }
  sigaction(SIGCHLD, &before, nullptr);
}
