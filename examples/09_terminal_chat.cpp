// A chat in the terminal, with any provider that agentcore knows:
//
//   export OPENAI_API_KEY=...
//   example_09_terminal_chat --model gpt-5-mini
//   example_09_terminal_chat --provider ollama --model qwen3 --history talk.json
//   echo "Why is the sky blue?" | example_09_terminal_chat --base-url http://127.0.0.1:8080/v1 --model any
//
// While it answers:
//   Esc          interrupts the answer; what waits in the queue waits on until you press Enter
//   a line       steers: the answer ends, and the model is asked again with the line
//   Ctrl-C       stops the agent: the answer ends, and the queue is empty
// Otherwise Ctrl-C and Ctrl-D leave. One poll(2) waits for the keyboard, for Ctrl-C and for agentcore.
#include <agentcore/agentcore.hpp>
#include <agentcore/http_recording.hpp>
#include <agentcore/provider.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>
#include <termios.h>
#include <unistd.h>

namespace {

constexpr int interrupted_exit = 130;  // what shells expect after Ctrl-C

// ---- The command line.

constexpr const char* usage =
    "usage: example_09_terminal_chat [--provider NAME] [--base-url URL] [--model M] [--system TEXT]\n"
    "                                [--history FILE] [--record FILE] [MESSAGE]\n";

struct Arguments {
  std::string provider, base_url, model, system, history, record, message;
};

// False: they make no sense.
bool read_arguments(int argc, char** argv, Arguments& arguments) {
  const std::pair<std::string_view, std::string*> options[] = {
      {"--provider", &arguments.provider}, {"--base-url", &arguments.base_url},
      {"--model", &arguments.model},       {"--system", &arguments.system},
      {"--history", &arguments.history},   {"--record", &arguments.record}};
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto* option =
        std::find_if(std::begin(options), std::end(options), [&](auto& o) { return o.first == word; });
    if (option != std::end(options)) {
      if (++i == argc) return false;
      *option->second = argv[i];
    } else if (word.starts_with("-") || !arguments.message.empty()) {
      return false;
    } else {
      arguments.message = word;
    }
  }
  return true;
}

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Where the model is and how it is talked to: a known provider, or whatever speaks like OpenAI at that URL.
agentcore::Result<agentcore::HttpLlmOptions> client_options(const Arguments& arguments) {
  std::string url = arguments.base_url;
  if (url.empty() && arguments.provider.empty()) url = from_environment("OPENAI_BASE_URL");
  agentcore::HttpLlmOptions options;
  if (url.empty() || !arguments.provider.empty()) {
    auto known = agentcore::provider_options(arguments.provider.empty() ? "openai" : arguments.provider,
                                             {.name = "agentcore terminal chat"});
    if (!known) return known.error();
    options = std::move(*known);
  }
  if (!url.empty()) options.base_url = url;
  if (options.api_key_env.empty() && std::getenv("OPENAI_API_KEY")) options.api_key_env = "OPENAI_API_KEY";
  options.model = arguments.model.empty() ? from_environment("OPENAI_MODEL") : arguments.model;
  if (!arguments.record.empty()) {
    auto recorder = agentcore::HttpRecorder::to_file(arguments.record);
    if (!recorder) return recorder.error();
    options.recorder = std::move(*recorder);
  }
  return options;
}

// ---- The history: the conversation as JSON, as it is sent to models.

agentcore::Result<std::vector<agentcore::ChatMessage>> load_history(const std::string& path,
                                                                    const std::string& system) {
  std::ifstream file(path, std::ios::binary);
  if (!file && errno == ENOENT) return std::vector<agentcore::ChatMessage>{};  // the first time
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto messages = agentcore::history_from_json(text);
  if (!messages) return messages.error();
  // What we wrote is valid; a file may also come from elsewhere.
  auto repaired = agentcore::repair_history(std::move(*messages)).messages;
  // Its system message is the system prompt, unless the command line names another.
  const bool has_system = !repaired.empty() && repaired.front().role == agentcore::Role::system;
  if (has_system && !system.empty()) repaired.erase(repaired.begin());
  return repaired;
}

// Written beside it and renamed: whenever we are killed, the file is the old one or the new one.
bool save_history(const std::string& path, const std::vector<agentcore::ChatMessage>& messages) {
  const std::string draft = path + ".part";
  std::ofstream file(draft, std::ios::binary);
  file << agentcore::history_to_json(messages) << '\n';
  file.close();
  return file && std::rename(draft.c_str(), path.c_str()) == 0;
}

// ---- Ctrl-C: a handler may do next to nothing, so it writes a byte into a pipe that poll(2) watches.

int interrupt_pipe[2] = {-1, -1};

bool watch_interrupts() {
  if (::pipe(interrupt_pipe) != 0) return false;
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int saved = errno;
    [[maybe_unused]] const auto written = ::write(interrupt_pipe[1], "", 1);
    errno = saved;
  };
  return ::sigaction(SIGINT, &action, nullptr) == 0;
}

// ---- The keyboard: lines, which the terminal edits, or single keys while an answer comes.

class Keyboard {
 public:
  Keyboard() : is_terminal_(::isatty(STDIN_FILENO) != 0 && ::tcgetattr(STDIN_FILENO, &lines_) == 0) {}
  ~Keyboard() { give_keys(false); }
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;

  bool is_terminal() const { return is_terminal_; }
  bool has_ended() const { return ended_; }

  // True: each key comes at once. False: the terminal gives whole lines. Only for a terminal.
  void give_keys(bool keys) {
    if (!is_terminal_ || std::exchange(keys_, keys) == keys) return;
    escape_ = false;
    termios mode = lines_;
    if (keys) mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHOCTL);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &mode);
  }

  // Reads what has been typed.
  void read() {
    char bytes[4096];
    const ssize_t size = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (size == 0 || (size < 0 && errno != EINTR)) ended_ = true;
    if (size > 0) take({bytes, static_cast<std::size_t>(size)});
  }

  // The next line; the last one of a file may have no end.
  std::optional<std::string> next_line() {
    const auto end = input_.find('\n');
    if (end == std::string::npos && !(ended_ && !input_.empty())) return std::nullopt;
    std::string line = input_.substr(0, end);
    input_.erase(0, line.size() + 1);
    return line;
  }
  bool take_escape() { return std::exchange(escape_, false); }

 private:
  // A terminal may also give single keys after it was told to give lines: those that were typed before.
  void take(std::string_view typed) {
    if (!is_terminal_) {
      input_.append(typed);
      return;
    }
    for (std::size_t i = 0; i < typed.size(); ++i) {
      const bool begins_sequence = i + 1 < typed.size() && (typed[i + 1] == '[' || typed[i + 1] == 'O');
      if (typed[i] == escape && begins_sequence) {  // an arrow, a function key, ...
        for (i += 2; i < typed.size() && (typed[i] < '@' || typed[i] > '~'); ++i) {
        }
      } else if (typed[i] == escape) {
        escape_ = true;
      } else if (typed[i] == backspace || typed[i] == '\b') {
        if (!input_.empty() && input_.back() != '\n') input_.pop_back();
      } else if (typed[i] == end_of_input) {
        ended_ = true;
      } else {
        input_ += typed[i];
      }
    }
  }

  static constexpr char escape = '\033', backspace = '\177', end_of_input = '\004';

  termios lines_ = {};
  const bool is_terminal_;
  bool keys_ = false;
  bool escape_ = false;
  bool ended_ = false;  // Ctrl-D, or the end of a file
  std::string input_;   // read, but not used yet
};

// ---- The chat.

class Chat {
 public:
  Chat(agentcore::Runtime& runtime, agentcore::LlmClient& llm, const Arguments& arguments,
       std::vector<agentcore::ChatMessage> history)
      : runtime_(runtime), tree_(runtime, {.llm = &llm}), arguments_(arguments) {
    events_ = tree_.on_event([this](const agentcore::Event& event) { hear(event); });
    agent_ = tree_
                 .create({.system_prompt = arguments.system,
                          .auto_resume = true,  // the next message resumes it after Ctrl-C
                          .history = std::move(history)})
                 .value();
  }

  // The exit status.
  int run() {
    if (!arguments_.message.empty()) send(arguments_.message);
    for (;;) {
      if (!busy_) take_line();
      if (!busy_ && input_ended()) break;
      keyboard_.give_keys(busy_);
      wait();
      if (interrupted_ && !stop_answer()) return interrupted_exit;
      if (busy_ && interactive_) obey();
    }
    keyboard_.give_keys(false);
    if (interactive_) show("\n");
    return failed_ && !interactive_ ? 1 : 0;
  }

 private:
  void hear(const agentcore::Event& event) {
    if (const auto* thought = event.get<agentcore::ReasoningReceived>()) {
      if (!to_terminal_) return;
      show("\033[2m" + std::string(thought->text) + "\033[0m");  // dimmed
      thinking_ = true;
    } else if (const auto* delta = event.get<agentcore::DeltaReceived>()) {
      if (std::exchange(thinking_, false)) show("\n");
      show(delta->text);
    } else if (event.get<agentcore::TurnStarted>()) {
      busy_ = true;
    } else if (event.get<agentcore::ModelCallEnded>()) {
      std::fputs("\n[asking again]\n", stderr);
    } else if (const auto* steered = event.get<agentcore::Steered>()) {
      if (steered->fate == agentcore::SteerFate::queued) std::fputs("[queued]\n", stderr);
    } else if (const auto* end = event.get<agentcore::TurnEnded>()) {
      ended(*end);
    }
  }

  void ended(const agentcore::TurnEnded& end) {
    busy_ = false;
    if (shown_) show("\n");
    if (end.result->outcome == agentcore::TurnOutcome::stopped) {
      std::fputs("[stopped]\n", stderr);
    } else if (end.result->outcome == agentcore::TurnOutcome::interrupted) {
      std::fputs("[interrupted]\n", stderr);
    } else if (end.result->outcome == agentcore::TurnOutcome::failed) {
      std::fprintf(stderr, "%s\n%s", end.result->error.message.c_str(), advice(end.result->error));
    } else if (end.result->finish_reason == agentcore::FinishReason::length) {
      std::fputs("[cut off: the answer reached its greatest length]\n", stderr);
    }
    failed_ = failed_ || end.result->outcome != agentcore::TurnOutcome::completed;
    if (!arguments_.history.empty() && !save_history(arguments_.history, agent_.conversation().value()))
      std::fprintf(stderr, "cannot write %s: %s\n", arguments_.history.c_str(), std::strerror(errno));
  }

  static const char* advice(const agentcore::ChatError& error) {
    if (error.http_status == 401 || error.http_status == 403)
      return "-> Is the key right, and in the environment? Local servers need none.\n";
    if (error.code == agentcore::Errc::resolve_failed || error.code == agentcore::Errc::network_error ||
        error.code == agentcore::Errc::connect_timeout)
      return "-> Is the server running, and is --base-url right?\n";
    if (error.code == agentcore::Errc::invalid_config || error.http_status == 404)
      return "-> See --provider, --base-url and --model.\n";
    return error.retryable ? "-> This may pass: say it again.\n" : "";
  }

  void show(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    shown_ = true;
  }

  void send(std::string text) {
    shown_ = thinking_ = false;
    busy_ = true;
    if (const auto sent = agent_.send(std::move(text)); !sent) {
      std::fprintf(stderr, "%s\n", to_string(sent.reason).data());
      busy_ = false;
      failed_ = true;
    }
  }

  bool input_ended() const { return keyboard_.has_ended() || !arguments_.message.empty(); }

  // Sends the next line that says something. If there is none yet, a prompt asks for it.
  void take_line() {
    while (!busy_) {
      auto line = keyboard_.next_line();
      if (!line) break;
      prompted_ = false;
      busy_ = agent_.release_queue().took_effect() && agent_.queue_length().value() != 0;
      if (!line->empty()) send(std::move(*line));
    }
    if (busy_ || input_ended() || !interactive_ || std::exchange(prompted_, true)) return;
    keyboard_.give_keys(false);  // before the prompt: who sees it may type Ctrl-D at once
    show("> ");
  }

  // [snippet: wait]
  // Sleeps until there is something to do: for us, or for agentcore, which then does it.
  void wait() {
    pollfd watched[] = {{.fd = runtime_.poll_descriptor(), .events = POLLIN, .revents = 0},
                        {.fd = interrupt_pipe[0], .events = POLLIN, .revents = 0},
                        {.fd = listens() ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}};
    // The descriptor also reports timers. Without one (the system has none left) agentcore polls every 10 ms.
    ::poll(watched, std::size(watched), watched[0].fd < 0 ? 10 : -1);
    runtime_.poll();
    char bytes[4096];
    if (watched[1].revents != 0) interrupted_ = ::read(interrupt_pipe[0], bytes, sizeof bytes) > 0;
    if (watched[2].revents != 0) keyboard_.read();
  }
  // [/snippet]

  // What comes through a pipe waits for the answer before it.
  bool listens() const { return !input_ended() && (interactive_ || !busy_); }

  // [snippet: obey]
  // What a person types while the agent works.
  void obey() {
    if (keyboard_.take_escape()) {
      static_cast<void>(agent_.interrupt({.queue = agentcore::QueueAction::hold, .reason = "Esc"}));
      return;
    }
    while (auto line = keyboard_.next_line())
      if (!line->empty())
        if (const auto steered = agent_.steer(*line, {.when = agentcore::SteerWhen::now}); !steered)
          std::fprintf(stderr, "%s\n", to_string(steered.reason).data());
  }
  // [/snippet]

  // Ctrl-C. False: there was nothing to stop, or it is not to go on afterwards.
  bool stop_answer() {
    interrupted_ = false;
    const bool stopped = busy_ && agent_.stop({.reason = "Ctrl-C"}).took_effect();
    while (stopped && busy_) runtime_.poll();  // the end of the turn is emitted at once
    while (stopped && agent_.state().value() == agentcore::AgentState::stopping) runtime_.poll();
    if (!stopped) std::fputs("\n", stderr);
    return stopped && interactive_;
  }

  agentcore::Runtime& runtime_;
  agentcore::AgentTree tree_;
  const Arguments& arguments_;
  agentcore::Subscription events_;
  agentcore::Agent agent_;
  Keyboard keyboard_;
  const bool interactive_ = arguments_.message.empty() && keyboard_.is_terminal();
  const bool to_terminal_ = ::isatty(STDOUT_FILENO) != 0;
  bool interrupted_ = false;
  bool busy_ = false;      // a turn runs
  bool shown_ = false;     // something of the answer
  bool thinking_ = false;  // what was shown last is a thought
  bool prompted_ = false;  // for the line that is waited for
  bool failed_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!read_arguments(argc, argv, arguments)) {
    std::fputs(usage, stderr);
    return 2;
  }
  auto options = client_options(arguments);
  auto history = load_history(arguments.history, arguments.system);
  if (!options || !history) {
    std::fprintf(stderr, "%s\n", (options ? history.error() : options.error()).message.c_str());
    return 2;
  }
  if (!watch_interrupts()) return 1;
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr(agentcore::LogLevel::warning)}};
  agentcore::HttpLlmClient llm{runtime, std::move(*options)};
  return Chat(runtime, llm, arguments, std::move(*history)).run();
}
