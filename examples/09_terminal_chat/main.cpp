// A chat in the terminal, with any provider that agentcore knows:
//
//   export OPENAI_API_KEY=...
//   example_09_terminal_chat --model gpt-5-mini
//   example_09_terminal_chat --provider ollama --model qwen3 --history talk.json
//   echo "Why is the sky blue?" | example_09_terminal_chat --base-url http://127.0.0.1:8080/v1 --model any
//
// While it answers, Esc interrupts, a line steers, and Ctrl-C stops; what was shown of the answer stays in
// the conversation. /retry asks again, /rewind takes turns back, /fork goes on with a copy. `/help` lists all
// keys and commands, which only a terminal has. One poll(2) waits for the keyboard, for Ctrl-C and for
// agentcore.
#include "arguments.hpp"
#include "chat.hpp"
#include "history_file.hpp"
#include "keyboard.hpp"

#include <agentcore/http_llm_client.hpp>
#include <agentcore/log.hpp>
#include <agentcore/runtime.hpp>

#include <cstdio>
#include <utility>

int main(int argc, char** argv) {
  const auto arguments = read_arguments(argc, argv);
  if (!arguments) {
    std::fputs(usage, stderr);
    return 2;
  }
  auto options = client_options(*arguments);
  auto history = load_history(arguments->history, arguments->system);
  if (!options || !history) {
    std::fprintf(stderr, "%s\n", (options ? history.error() : options.error()).message.c_str());
    return 2;
  }
  const int ctrl_c = watch_ctrl_c();
  if (ctrl_c < 0) return 1;
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr(agentcore::LogLevel::warning)}};
  agentcore::HttpLlmClient llm{runtime, std::move(*options)};
  return Chat(runtime, llm, *arguments, std::move(*history), ctrl_c).run();
}
