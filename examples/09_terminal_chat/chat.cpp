#include "chat.hpp"

#include "history_file.hpp"

#include <charconv>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

#include <poll.h>

namespace {

constexpr const char* help =
    "/retry    asks the last question again; a running answer ends\n"
    "/rewind N removes the last N messages and their answers (N is 1 if left out)\n"
    "/fork     goes on with a copy of the conversation; a running answer is not in it\n"
    "/back     goes back to what was copied by /fork\n"
    "/pause    pauses the agent: a running answer may finish, nothing new begins, and messages wait\n"
    "/unpause  ends the pause: the messages that wait are sent\n"
    "/help     shows this text; //TEXT sends the message /TEXT\n"
    "a line    steers a running answer; in a pause, the line waits\n"
    "Esc       interrupts a running answer; messages that wait are sent after Enter, or after /unpause\n"
    "Ctrl-C    stops a running answer and drops the messages that wait; if there are none, leaves\n"
    "Ctrl-D    leaves after a running answer\n";

const char* advice(const agentcore::ChatError& error) {
  if (error.http_status == 401 || error.http_status == 403)
    return "-> Is the key right, and in the environment? Local servers need none.\n";
  if (error.code == agentcore::Errc::resolve_failed || error.code == agentcore::Errc::network_error ||
      error.code == agentcore::Errc::connect_timeout)
    return "-> Is the server running, and is --base-url right?\n";
  if (error.code == agentcore::Errc::invalid_config || error.http_status == 404)
    return "-> See --provider, --base-url and --model.\n";
  return error.retryable ? "-> This may pass: say it again.\n" : "";
}

}  // namespace

Chat::Chat(agentcore::Runtime& runtime, agentcore::LlmClient& llm, const Arguments& arguments,
           std::vector<agentcore::ChatMessage> history, int ctrl_c)
    : runtime_(runtime), tree_(runtime, {.llm = &llm}), arguments_(arguments), ctrl_c_(ctrl_c) {
  events_ = tree_.on_event([this](const agentcore::Event& event) {
    if (!agents_.empty() && event.agent() == agent()) on_event(event);
  });
  agentcore::AgentSpec spec{.system_prompt = arguments.system, .history = std::move(history)};
  spec.auto_resume = true;                                 // the next message resumes it after Ctrl-C
  spec.partial_answers = agentcore::PartialAnswers::keep;  // what was shown stays
  agents_.push_back(tree_.create(std::move(spec)).value());
}

int Chat::run() {
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

void Chat::on_event(const agentcore::Event& event) {
  event.visit(
      [this](const agentcore::ReasoningReceived& thought) {
        if (to_terminal_) show("\033[2m" + std::string(thought.text) + "\033[0m");  // dimmed
        thinking_ = to_terminal_;
      },
      [this](const agentcore::DeltaReceived& delta) {
        if (std::exchange(thinking_, false)) show("\n");
        show(delta.text);
      },
      [this](const agentcore::TurnStarted&) {
        busy_ = true;
        shown_ = thinking_ = false;
      },
      [](const agentcore::ModelCallEnded&) { std::fputs("\n[asking again]\n", stderr); },
      [](const agentcore::Steered& steered) {
        if (steered.fate == agentcore::SteerFate::queued) note("queued");
      },
      [](const agentcore::MessageDropped& dropped) { note("dropped: " + dropped.message.text); },
      [this](const agentcore::TurnEnded& end) { ended(end); });
}

void Chat::ended(const agentcore::TurnEnded& end) {
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
  save();
}

void Chat::save() const {
  if (!arguments_.history.empty() && !save_history(arguments_.history, agent().conversation().value()))
    std::perror(arguments_.history.c_str());
}

void Chat::show(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  shown_ = true;
}

void Chat::note(std::string_view text) {
  std::fprintf(stderr, "[%.*s]\n", static_cast<int>(text.size()), text.data());
}

bool Chat::works() const {
  const agentcore::AgentStatus status = agent().status().value();
  return busy_ || (waiting() != 0 && !status.paused && !status.queue_held);
}

void Chat::send(std::string text) {
  const auto sent = agent().send(std::move(text));
  if (!sent) note(to_string(sent.reason));
  if (sent && is_paused()) note("queued: " + std::to_string(waiting()) + " waiting");
  failed_ = failed_ || !sent;
}

// Takes lines until one of them begins an answer. If there is none yet, a prompt asks for it.
void Chat::take_lines() {
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
void Chat::take(std::string line) {
  if (interactive_ && line.starts_with('/')) {
    if (!line.starts_with("//")) return obey(line.substr(0, line.find_last_not_of(" \t") + 1));
    line.erase(0, 1);
  }
  if (!busy_) static_cast<void>(agent().release_queue());
  if (line.empty()) return;
  if (!busy_ || is_paused()) return send(std::move(line));
  const auto steered = agent().steer(std::move(line), {.when = agentcore::SteerWhen::now});
  if (!steered) note(to_string(steered.reason));
}

void Chat::obey(std::string_view command) {
  if (command == "/retry") return retry();
  if (command == "/rewind") return rewind("1");
  if (command.starts_with("/rewind ")) return rewind(command.substr(command.find_first_not_of(' ', 8)));
  if (command == "/fork") return fork();
  if (command == "/back") return back();
  if (command == "/pause") return pause();
  if (command == "/unpause") return unpause();
  if (command == "/help") return show(help);
  note("unknown command: see /help; //TEXT sends /TEXT");
}

void Chat::retry() {
  if (!busy_) static_cast<void>(agent().release_queue());
  const auto sent = agent().regenerate();
  if (!sent) return note(to_string(sent.reason));
  if (is_paused()) note("queued: " + std::to_string(waiting()) + " waiting");
}

// Removes the last turns, as many as `count` says.
void Chat::rewind(std::string_view count) {
  const auto turns = agent().turns().value();
  std::size_t last = 0;
  const auto read = std::from_chars(count.data(), count.data() + count.size(), last);
  if (read.ec != std::errc() || read.ptr != count.data() + count.size() || last == 0)
    return note("how many? /rewind 2 removes the last two messages and their answers");
  if (last > turns.size()) return note("there are " + std::to_string(turns.size()) + " to remove");
  const auto removed = agent().rewind(turns[turns.size() - last].turn);
  if (!removed) return note(removed.error().message);
  note("rewound to before: " + removed->front().content());
  save();
}

void Chat::fork() {
  auto copy = agent().fork();
  if (!copy) return note(copy.error().message);
  note("this is copy " + std::to_string(agents_.size()) + "; /back goes back");
  switch_to(std::move(*copy));
}

void Chat::back() {
  if (agents_.size() == 1) return note("this is no copy");
  static_cast<void>(agent().terminate());
  agents_.pop_back();
  note(agents_.size() == 1 ? "this is the first conversation" : "this is the copy before");
  switch_to(agents_.back());
}

void Chat::switch_to(agentcore::Agent other) {
  if (agents_.back() != other) agents_.push_back(std::move(other));
  const agentcore::AgentState state = agent().state().value();
  busy_ = state == agentcore::AgentState::waiting_llm || state == agentcore::AgentState::processing;
  rests_ = false;
  save();
}

void Chat::pause() {
  static_cast<void>(agent().pause({.reason = "/pause", .on_rest = [this] { rests_ = true; }}));
  note("paused: a running answer may finish; nothing new begins; /unpause goes on");
}

void Chat::unpause() {
  rests_ = false;
  note(agent().unpause().took_effect() ? "unpaused" : "not paused");
  if (!busy_) static_cast<void>(agent().release_queue());  // that Esc held
}

// Sleeps until there is something to do: for us, or for agentcore, which then does it.
void Chat::wait() {
  const bool listens = !input_ended() && (interactive_ || !works());  // a pipe waits for the answer
  pollfd watched[] = {{.fd = runtime_.poll_descriptor(), .events = POLLIN, .revents = 0},
                      {.fd = ctrl_c_, .events = POLLIN, .revents = 0},
                      {.fd = listens ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}};
  // The descriptor also reports timers. Without one (the system has none left) agentcore polls every 10 ms.
  ::poll(watched, std::size(watched), watched[0].fd < 0 ? 10 : -1);
  runtime_.poll();
  char bytes[4096];
  if (watched[1].revents != 0) interrupted_ = ::read(ctrl_c_, bytes, sizeof bytes) > 0;
  if (watched[2].revents != 0) keyboard_.read();
}

// What a person types while the agent works. Without a keyboard a pause has no end.
void Chat::take_keys() {
  if (keyboard_.take_escape() || (keyboard_.has_ended() && rests_)) {
    static_cast<void>(agent().interrupt({.queue = agentcore::QueueAction::hold, .reason = "Esc"}));
  } else {
    while (auto line = keyboard_.next_line()) take(std::move(*line));
  }
}

// Ctrl-C. False: there was nothing to stop, or it is not to go on afterwards.
bool Chat::stop() {
  interrupted_ = prompted_ = false;
  if (!busy_) std::fputs("\n", stderr);
  const bool stopped = (busy_ || waiting() != 0) && agent().stop({.reason = "Ctrl-C"}).took_effect();
  while (stopped && (busy_ || agent().state().value() == agentcore::AgentState::stopping)) runtime_.poll();
  return stopped && interactive_;
}
