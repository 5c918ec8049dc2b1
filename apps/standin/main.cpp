// agentcore-standin: see command_line.cpp for its manual, docs/standin.md for more.
#include "command_line.hpp"
#include "server_thread.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

namespace {

// A stream needs a descriptor; the usual soft limit of 1024 is far below what this server can hold.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void print_record(const standin::Record& record) {
  const double seconds = static_cast<double>(record.end_ns - record.start_ns) / 1e9;
  fmt::print("#{} agent={} status={} tokens={} {} after {:.3f} s\n", record.number,
             record.agent.empty() ? "-" : record.agent, record.status, record.tokens,
             standin::to_string(record.ending), seconds);
  std::fflush(stdout);
}

// Written to a temporary file and renamed, so that a process that waits for the file never reads half of it.
bool write_port_file(const std::string& path, std::uint16_t port) {
  const std::string draft = path + ".part";
  std::FILE* file = std::fopen(draft.c_str(), "w");
  if (file == nullptr) return false;
  const bool written = std::fprintf(file, "%u\n", unsigned{port}) > 0;
  return (std::fclose(file) == 0) && written && std::rename(draft.c_str(), path.c_str()) == 0;
}

int serve(standin::CommandLine line) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed reader of the log must not end the server
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // inherited by the server's thread
  raise_descriptor_limit();
  if (line.log) line.options.on_request_end = print_record;
  standin::ServerThread server(std::move(line.options));
  if (!line.port_file.empty() && !write_port_file(line.port_file, server->port())) {
    fmt::print(stderr, "agentcore-standin: cannot write {}\n", line.port_file);
    return 1;
  }
  fmt::print("listening on {}\n", server->base_url());
  std::fflush(stdout);
  int received = 0;
  sigwait(&signals, &received);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  standin::CommandLine line = standin::parse_command_line({argv + 1, argv + argc});
  if (!line.error.empty()) {
    fmt::print(stderr, "agentcore-standin: {} (see --help)\n", line.error);
    return 2;
  }
  if (line.help) {
    fmt::print("{}", standin::manual());
    return 0;
  }
  try {
    return serve(std::move(line));
  } catch (const std::exception& error) {
    fmt::print(stderr, "agentcore-standin: {}\n", error.what());
    return 1;
  }
}
