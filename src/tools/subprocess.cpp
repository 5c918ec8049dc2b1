// The result of a program, worded for the model.
#include "core/utf8.hpp"
#include "core/validate.hpp"
#include "process/processes.hpp"
#include "tools/call_scope.hpp"
#include "tools/subprocess_tool.hpp"

#include <agentcore/subprocess.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore {

namespace detail::tools {

namespace {

std::string name_of(int signal) {
  const std::string_view name = detail::process::signal_name(signal);
  return name.empty() ? std::string() : " (" + std::string(name) + ")";
}

std::string text_of(const detail::process::ExitStatus& status) {
  switch (status.kind) {
    case detail::process::ExitStatus::Kind::exited:
      return "the program exited with code " + std::to_string(status.number);
    case detail::process::ExitStatus::Kind::signalled:
      return "the program was ended by signal " + std::to_string(status.number) + name_of(status.number);
    case detail::process::ExitStatus::Kind::lost:
      break;
  }
  return "the program ended with an unknown status: the host ignores SIGCHLD, or has reaped it";
}

std::string data_of(const detail::process::ExitStatus& status) {
  switch (status.kind) {
    case detail::process::ExitStatus::Kind::exited:
      return "{\"exit_code\":" + std::to_string(status.number) + "}";
    case detail::process::ExitStatus::Kind::signalled:
      return "{\"signal\":" + std::to_string(status.number) + "}";
    case detail::process::ExitStatus::Kind::lost:
      break;
  }
  return {};
}

// The kept output, at most `room` bytes of it, and the number of bytes that are missing.
std::string text_of(const detail::process::CappedText& kept, std::size_t room) {
  const std::string_view whole =
      kept.dropped == 0 ? std::string_view(kept.text) : detail::core::whole_characters(kept.text);
  std::string text = detail::core::valid_utf8(whole);
  std::size_t dropped = kept.dropped + kept.text.size() - whole.size();
  if (text.size() > room) {
    const std::size_t left = detail::core::whole_characters(std::string_view(text).substr(0, room)).size();
    dropped += text.size() - left;
    text.resize(left);
  }
  return dropped == 0 ? text : text + "\n[" + std::to_string(dropped) + " bytes more were dropped]";
}

std::string section(std::string_view title, const detail::process::CappedText& kept, std::size_t room) {
  const std::string text = text_of(kept, room);
  return text.empty() ? text : std::string("\n").append(title).append(":\n").append(text);
}

// At most `max_bytes`: a later cut would remove the number of the dropped bytes.
ToolResult result_of(const detail::process::ProcessEnd& end, std::size_t max_bytes) {
  constexpr std::size_t words = 256;  // around the program's output
  const std::size_t room = max_bytes - std::min(words, max_bytes / 2);
  const bool well =
      end.status.kind == detail::process::ExitStatus::Kind::exited && end.status.number == 0 && !end.stopped;
  ToolResult result;
  result.success = well;
  result.data = data_of(end.status);
  result.message = well ? text_of(end.output, room)
                        : (end.stopped ? "told to end, " : "") + text_of(end.status) +
                              section("standard output", end.output, room / 2) +
                              section("standard error", end.errors, room / 2);
  return result;
}

// Allocates nothing if that fails: the program has ended, and its call must have a result.
ToolResult result_or_why_not(const detail::process::ProcessEnd& end, std::size_t max_bytes) {
  try {
    return result_of(end, max_bytes);
  } catch (const std::bad_alloc&) {
    ToolResult result;
    result.success = false;
    result.message = "out of memory";
    return result;
  }
}

// Holds its own copy of the options: the host's code may destroy the tool meanwhile.
void start_program(std::shared_ptr<const SubprocessOptions> options, detail::process::ExitWatch watch,
                   const nlohmann::json& arguments, const ToolContext& context, const ToolDone& done) {
  const std::shared_ptr<detail::loop::Engine> engine = ContextAccess::scope(context).engine;
  const std::size_t max_bytes = ContextAccess::scope(context).max_result_bytes;
  SubprocessCommand command = options->command(arguments);
  // That call ran the host's code: it may have stopped the agent or destroyed the Runtime. The gate is asked,
  // too: a stop that has returned may trigger the token later (StopCut).
  if (engine->closed()) return;
  const CallScope& scope = ContextAccess::scope(context);
  if (context.stop().stop_requested() || scope.owner->refusal_of(scope) != Errc::none)
    return done(ToolResult::failed("cancelled"));
  const detail::process::ProcessOptions limits{options->max_output_bytes, options->kill_grace, watch};
  const std::shared_ptr<detail::process::Processes> all = detail::process::Processes::of(*engine);
  // Before the start: what throws here must not leave a program whose call has failed.
  ContextAccess::scope(context).begin->set_look([programs = std::weak_ptr(all), id = all->next_id()] {
    if (const auto running = programs.lock()) running->look(id);
  });
  const std::string error = all->start(
      std::move(command), limits, context.stop(),
      [done, max_bytes](const detail::process::ProcessEnd& end) { done(result_or_why_not(end, max_bytes)); });
  if (!error.empty()) done(ToolResult::failed(detail::core::valid_utf8(error)));
}

}  // namespace

Tool subprocess_tool(ToolSpec spec, SubprocessOptions options, detail::process::ExitWatch watch) {
  detail::core::require_function(options.command != nullptr, "SubprocessOptions::command");
  detail::core::Validation("SubprocessOptions").not_negative("kill_grace", options.kill_grace).raise();
  const auto shared = std::make_shared<const SubprocessOptions>(std::move(options));
  return {std::move(spec),
          [shared, watch](const nlohmann::json& arguments, const ToolContext& context, const ToolDone& done) {
            start_program(shared, watch, arguments, context, done);
          }};
}

}  // namespace detail::tools

Tool make_subprocess_tool(ToolSpec spec, SubprocessOptions options) {
  return detail::tools::subprocess_tool(std::move(spec), std::move(options),
                                        detail::process::ExitWatch::automatic);
}

}  // namespace agentcore
