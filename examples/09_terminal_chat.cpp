// A chat in the terminal, with any provider that agentcore knows:
//
//   export OPENAI_API_KEY=...
//   example_09_terminal_chat --model gpt-5-mini
//   example_09_terminal_chat --provider ollama --model qwen3 --history talk.json
//   echo "Why is the sky blue?" | example_09_terminal_chat --base-url http://127.0.0.1:8080/v1 --model any
//
// While it answers, Esc interrupts, a line steers, and Ctrl-C stops. /pause pauses the agent: a running
// answer may finish, nothing new begins, and messages wait until /unpause. `help` lists all keys and
// commands, which only a terminal has. One poll(2) waits for the keyboard, for Ctrl-C and for agentcore.
#include <agentcore/agentcore.hpp>
#include <agentcore/http_recording.hpp>
#include <agentcore/provider.hpp>

#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>
#include <termios.h>
#include <unistd.h>

namespace {

// ---- The command line.
constexpr const char* usage =
    "usage: example_09_terminal_chat [--provider NAME] [--base-url URL] [--model M] [--system TEXT]\n"
    "                                [--history FILE] [--record FILE] [MESSAGE]\n";

constexpr const char* help =
    "/pause    pauses the agent: a running answer may finish, nothing new begins, and messages wait\n"
    "/unpause  ends the pause: the messages that wait are sent\n"
    "/help     shows this text; //TEXT sends the message /TEXT\n"
    "a line    steers a running answer; in a pause, the line waits\n"
    "Esc       interrupts a running answer; messages that wait are sent after Enter, or after /unpause\n"
    "Ctrl-C    stops a running answer and drops the messages that wait; if there are none, leaves\n"
    "Ctrl-D    leaves after a running answer\n";

struct Arguments {
  std::string provider, base_url, model, system, history, record, message;
};

// False: they make no sense.
bool read_arguments(int argc, char** argv, Arguments& arguments) {
  const std::map<std::string_view, std::string*> options = {
      {"--provider", &arguments.provider}, {"--base-url", &arguments.base_url},
      {"--model", &arguments.model},       {"--system", &arguments.system},
      {"--history", &arguments.history},   {"--record", &arguments.record}};
  for (int i = 1; i < argc; ++i) {
    const auto option = options.find(argv[i]);
    if (option == options.end() && (argv[i][0] == '-' || !arguments.message.empty())) return false;
    if (option != options.end() && ++i == argc) return false;
    (option != options.end() ? *option->second : arguments.message) = argv[i];
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
  auto messages = agentcore::history_from_json(std::string{std::istreambuf_iterator<char>(file), {}});
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
  const auto handler = [](int) {
    const int saved = errno;
    [[maybe_unused]] const auto written = ::write(interrupt_pipe[1], "", 1);
    errno = saved;
  };
  return ::pipe(interrupt_pipe) == 0 && std::signal(SIGINT, handler) != SIG_ERR;
}

// ---- The keyboard: lines, which the terminal edits, or single keys while an answer comes.
class Keyboard {
 public:
  Keyboard() : is_terminal_(::isatty(STDIN_FILENO) != 0 && ::tcgetattr(STDIN_FILENO, &lines_) == 0) {}
  ~Keyboard() { give_keys(false); }
  Keyboard(const Keyboard&) = delete;

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

  void read() {
    char bytes[4096];
    const ssize_t size = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (size == 0 || (size < 0 && errno != EINTR)) ended_ = true;
    if (size > 0) take(std::string(bytes, static_cast<std::size_t>(size)));
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
  void take(const std::string& typed) {
    static const std::regex sequence("\033[[O][^@-~]*[@-~]");  // an arrow, a function key, ...
    if (!is_terminal_) return void(input_ += typed);
    for (const char key : std::regex_replace(typed, sequence, "")) {
      const auto byte = static_cast<unsigned char>(key);
      if (key == '\033') escape_ = true;
      if (key == '\004') ended_ = true;  // Ctrl-D
      if ((key == '\177' || key == '\b') && !input_.empty() && input_.back() != '\n') input_.pop_back();
      if (std::isspace(byte) != 0 || std::iscntrl(byte) == 0) input_ += key;
    }
  }

  termios lines_ = {};
  const bool is_terminal_;
  bool keys_ = false, escape_ = false;
  bool ended_ = false;  // Ctrl-D, or the end of a file
  std::string input_;   // read, but not used yet
};

// ---- The chat.
class Chat {
 public:
  Chat(agentcore::Runtime& runtime, agentcore::LlmClient& llm, const Arguments& arguments,
       std::vector<agentcore::ChatMessage> history)
      : runtime_(runtime), tree_(runtime, {.llm = &llm}), arguments_(arguments) {
    events_ = tree_.on_event([this](const agentcore::Event& event) { on_event(event); });
    agentcore::AgentSpec spec{.system_prompt = arguments.system, .history = std::move(history)};
    spec.auto_resume = true;  // the next message resumes it after Ctrl-C
    agent_ = tree_.create(std::move(spec)).value();
  }

  int run() {  // returns the exit status
    if (interactive_) note("/help lists keys and commands");
    if (!arguments_.message.empty()) send(arguments_.message);
    for (;;) {
      if (!works()) take_lines();
      if (!works() && input_ended()) break;
      keyboard_.give_keys(works());
      wait();
      if (interrupted_ && !stop()) return 130;  // what shells expect after Ctrl-C
      if (works() && interactive_) take_keys();
    }
    keyboard_.give_keys(false);
    if (interactive_) show("\n");
    if (waiting() != 0) note("not sent: " + std::to_string(waiting()));
    return failed_ && !interactive_ ? 1 : 0;
  }

 private:
  void on_event(const agentcore::Event& event) {
    if (const auto* thought = event.get<agentcore::ReasoningReceived>()) {
      if (to_terminal_) show("\033[2m" + std::string(thought->text) + "\033[0m");  // dimmed
      thinking_ = to_terminal_;
    } else if (const auto* delta = event.get<agentcore::DeltaReceived>()) {
      if (std::exchange(thinking_, false)) show("\n");
      show(delta->text);
    } else if (event.get<agentcore::TurnStarted>()) {
      busy_ = true;
      shown_ = thinking_ = false;
    } else if (event.get<agentcore::ModelCallEnded>()) {
      std::fputs("\n[asking again]\n", stderr);
    } else if (const auto* steered = event.get<agentcore::Steered>()) {
      if (steered->fate == agentcore::SteerFate::queued) note("queued");
    } else if (const auto* dropped = event.get<agentcore::MessageDropped>()) {
      note("dropped: " + dropped->message.text);
    } else if (const auto* end = event.get<agentcore::TurnEnded>()) {
      ended(*end);
    }
  }

  void ended(const agentcore::TurnEnded& end) {
    busy_ = false;
    if (shown_) show("\n");
    if (end.result->outcome == agentcore::TurnOutcome::failed) {
      std::fprintf(stderr, "%s\n%s", end.result->error.message.c_str(), advice(end.result->error));
    } else if (end.result->outcome != agentcore::TurnOutcome::completed) {
      note(to_string(end.result->outcome));  // stopped or interrupted
    } else if (end.result->finish_reason == agentcore::FinishReason::length) {
      note("cut off: the answer reached its greatest length");
    }
    failed_ = failed_ || end.result->outcome != agentcore::TurnOutcome::completed;
    if (!arguments_.history.empty() && !save_history(arguments_.history, agent_.conversation().value()))
      std::perror(arguments_.history.c_str());
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

  static void note(std::string_view text) {
    std::fprintf(stderr, "[%.*s]\n", static_cast<int>(text.size()), text.data());
  }

  bool is_paused() const { return agent_.status().value().paused; }
  std::size_t waiting() const { return agent_.queue_length().value(); }
  // An answer comes, or is about to.
  bool works() const {
    const agentcore::AgentStatus status = agent_.status().value();
    return busy_ || (waiting() != 0 && !status.paused && !status.queue_held);
  }
  bool input_ended() const { return keyboard_.has_ended() || !arguments_.message.empty(); }

  void send(std::string text) {
    const auto sent = agent_.send(std::move(text));
    if (!sent) note(to_string(sent.reason));
    if (sent && is_paused()) note("queued: " + std::to_string(waiting()) + " waiting");
    failed_ = failed_ || !sent;
  }

  // Takes lines until one of them begins an answer. If there is none yet, a prompt asks for it.
  void take_lines() {
    std::optional<std::string> line;
    while (!works() && (line = keyboard_.next_line())) {
      prompted_ = false;
      take(std::move(*line));
    }
    if (works() || input_ended() || !interactive_ || std::exchange(prompted_, true)) return;
    keyboard_.give_keys(false);  // before the prompt: who sees it may type Ctrl-D at once
    show(is_paused() ? "paused> " : "> ");
  }

  // A line: a command, a message, or only Enter.
  void take(std::string line) {
    if (interactive_ && line.starts_with('/')) {
      if (!line.starts_with("//")) return obey(line.substr(0, line.find_last_not_of(" \t") + 1));
      line.erase(0, 1);
    }
    if (!busy_) static_cast<void>(agent_.release_queue());
    if (line.empty()) return;
    if (!busy_ || is_paused()) return send(std::move(line));
    const auto steered = agent_.steer(std::move(line), {.when = agentcore::SteerWhen::now});
    if (!steered) note(to_string(steered.reason));
  }

  void obey(std::string_view command) {
    if (command == "/pause") return pause();
    if (command == "/unpause") return unpause();
    if (command == "/help") return show(help);
    note("unknown command: see /help; //TEXT sends /TEXT");
  }

  void pause() {
    static_cast<void>(agent_.pause({.reason = "/pause", .on_rest = [this] { rests_ = true; }}));
    note("paused: a running answer may finish; nothing new begins; /unpause goes on");
  }

  void unpause() {
    rests_ = false;
    note(agent_.unpause().took_effect() ? "unpaused" : "not paused");
    if (!busy_) static_cast<void>(agent_.release_queue());  // that Esc held
  }

  // Sleeps until there is something to do: for us, or for agentcore, which then does it.
  void wait() {
    const bool listens = !input_ended() && (interactive_ || !works());  // a pipe waits for the answer
    pollfd watched[] = {{.fd = runtime_.poll_descriptor(), .events = POLLIN, .revents = 0},
                        {.fd = interrupt_pipe[0], .events = POLLIN, .revents = 0},
                        {.fd = listens ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}};
    // The descriptor also reports timers. Without one (the system has none left) agentcore polls every 10 ms.
    ::poll(watched, std::size(watched), watched[0].fd < 0 ? 10 : -1);
    runtime_.poll();
    char bytes[4096];
    if (watched[1].revents != 0) interrupted_ = ::read(interrupt_pipe[0], bytes, sizeof bytes) > 0;
    if (watched[2].revents != 0) keyboard_.read();
  }

  // What a person types while the agent works. Without a keyboard a pause has no end.
  void take_keys() {
    if (keyboard_.take_escape() || (keyboard_.has_ended() && rests_)) {
      static_cast<void>(agent_.interrupt({.queue = agentcore::QueueAction::hold, .reason = "Esc"}));
    } else {
      while (auto line = keyboard_.next_line()) take(std::move(*line));
    }
  }

  // Ctrl-C. False: there was nothing to stop, or it is not to go on afterwards.
  bool stop() {
    interrupted_ = prompted_ = false;
    if (!busy_) std::fputs("\n", stderr);
    const bool stopped = (busy_ || waiting() != 0) && agent_.stop({.reason = "Ctrl-C"}).took_effect();
    while (stopped && (busy_ || agent_.state().value() == agentcore::AgentState::stopping)) runtime_.poll();
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
  bool interrupted_ = false, failed_ = false;
  bool busy_ = false;      // a turn runs
  bool rests_ = false;     // it is paused, and nothing runs any more
  bool shown_ = false;     // something of the answer
  bool thinking_ = false;  // what was shown last is a thought
  bool prompted_ = false;  // for the line that is waited for
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
