#include "support/observe/recorder.hpp"

#include <agentcore/history.hpp>

#include <algorithm>

namespace agentcore::test {
namespace {

// The name of an enumerator with spaces: "tool result" for "tool_result", "background task" for "background".
std::string in_words(std::string_view name) {
  std::string words(name);
  for (char& c : words)
    if (c == '_') c = ' ';
  return words == "background" ? "background task" : words;
}

}  // namespace

void Recorder::watch(AgentTree& tree, bool states) {
  if (states) return events_.push_back(tree.on_event([this](const Event& event) { on_event(event); }));
  watch_all_but_states(tree, static_cast<const detail::EventBody*>(nullptr));
}

template <typename... Types>
void Recorder::watch_all_but_states(AgentTree& tree, const std::variant<Types...>* /*type only*/) {
  const auto watch_one = [&]<typename T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, StateChanged>)
      events_.push_back(tree.on<T>([this](const T& body) {
        const detail::EventBody data(body);
        on_event(Event(last_ + 1, data));
      }));
  };
  (watch_one(std::type_identity<Types>()), ...);
}

void Recorder::unwatch() {
  events_.clear();
}

std::vector<std::string> Recorder::with(std::string_view prefix) const {
  std::vector<std::string> found;
  for (const auto& line : lines)
    if (line.starts_with(prefix)) found.push_back(line);
  return found;
}

int Recorder::index(std::string_view line) const {
  const auto place = std::find(lines.begin(), lines.end(), line);
  return place == lines.end() ? -1 : static_cast<int>(place - lines.begin());
}

std::optional<AgentState> Recorder::reported_state(const Agent& agent) const {
  const auto place = reported_.find(agent);
  if (place == reported_.end()) return std::nullopt;
  return place->second.state;
}

void Recorder::number(std::uint64_t sequence) {
  if (sequence <= last_) broken("sequence " + std::to_string(sequence) + " follows " + std::to_string(last_));
  last_ = sequence;
}

void Recorder::on_state(const StateChanged& change) {
  lines.push_back(change.agent.id() + " " + std::string(to_string(change.from)) + ">" +
                  std::string(to_string(change.to)));
  Reported& reported = reported_[change.agent];
  if (reported.deleted) broken("a state after the end");
  if (reported.state != change.from) broken("states do not join");
  if (!is_allowed(change.from, change.to)) broken("a forbidden edge");
  reported.state = change.to;
}

void Recorder::begin_turn(Reported& reported, std::uint64_t turn) {
  if (reported.in_turn) broken("turns overlap");
  const bool is_first = reported.turn == 0;  // it continues the turns of AgentSpec::history
  if (!is_first && turn != reported.turn + 1) broken("turns are not numbered in order");
  reported.in_turn = true;
  reported.turn = turn;
}

std::string Recorder::tool_line(const Event& event, const std::string& id) {
  Reported& reported = reported_[event.agent()];
  if (const auto* started = event.get<ToolStarted>()) {
    if (!reported.in_turn || started->turn != reported.turn) broken("a tool call outside its turn");
    ++reported.tools;
    return "tool " + id + " " + started->call_id + " " + started->tool + " " + started->arguments;
  }
  if (const auto* refused = event.get<ToolRefused>()) {
    if (!reported.in_turn || refused->turn != reported.turn) broken("a refused tool call outside its turn");
    return "refused " + id + " " + refused->call_id + " " + refused->tool + " " + refused->reason;
  }
  if (const auto* progress = event.get<ToolProgress>())
    return "progress " + id + " " + progress->call_id + " " + progress->text;
  if (const auto* ended = event.get<ToolEnded>()) {
    if (!reported.in_turn || ended->turn != reported.turn || reported.tools-- == 0)
      broken("an end of no tool call");
    return "tool-end " + id + " " + ended->call_id + " " + std::string(to_string(ended->outcome)) +
           (ended->result.success ? " ok" : " failed");
  }
  if (const auto* asked = event.get<QuestionAsked>()) {
    ++reported.questions;
    return "asked " + id + " " + asked->question.id + " " + std::string(to_string(asked->question.kind)) +
           " " + asked->question.text;
  }
  if (const auto* closed = event.get<QuestionClosed>()) {
    if (reported.questions-- == 0) broken("an end of no question");
    return "closed " + id + " " + closed->question_id + " " + std::string(to_string(closed->outcome));
  }
  if (const auto* task = event.get<TaskChanged>()) {
    reported.tasks += task->state == TaskState::started ? 1 : -1;
    if (reported.tasks < 0) broken("an end of no task");
    return "task " + id + " " + task->tool + " " + std::string(to_string(task->state));
  }
  const auto& abandoned = *event.get<Abandoned>();
  return "abandoned " + id + " " + in_words(to_string(abandoned.kind)) + (abandoned.tool.empty() ? "" : " ") +
         abandoned.tool;
}

void Recorder::on_event(const Event& event) {
  number(event.sequence);
  if (const auto* change = event.get<StateChanged>()) return on_state(*change);
  // Not recorded: an acknowledgement of the store may follow the end of an agent.
  if (event.get<StopPersisted>() || event.get<MessagePersisted>() || event.get<AgentRestored>()) return;
  const std::string id = event.agent().id();
  Reported& reported = reported_[event.agent()];
  std::string line;
  if (event.get<AgentCreated>()) {
    line = "created " + id;
  } else if (const auto* started = event.get<TurnStarted>()) {
    line = "started " + id + " " + std::to_string(started->turn);
  } else if (const auto* delta = event.get<DeltaReceived>()) {
    line = "delta " + id + " " + std::to_string(delta->turn) + " " + std::string(delta->text);
  } else if (const auto* reasoning = event.get<ReasoningReceived>()) {
    line = "reasoning " + id + " " + std::to_string(reasoning->turn) + " " + std::string(reasoning->text);
  } else if (const auto* ended = event.get<TurnEnded>()) {
    line = "ended " + id + " " + std::to_string(ended->turn) + " " +
           std::string(to_string(ended->result->outcome));
  } else if (const auto* refused = event.get<ModelCallEnded>()) {
    line = refused->cause == ReaskCause::steered
               ? "cut " + id + " " + std::to_string(refused->call)
               : "refused-answer " + id + " " + std::to_string(refused->call) + " " + refused->reason;
    if (!reported.in_turn || refused->turn != reported.turn) broken("a void call outside its turn");
  } else if (const auto* steered = event.get<Steered>()) {
    line = "steered " + id + " " + std::string(to_string(steered->fate));
    if (steered->fate == SteerFate::delivered) line += " " + std::to_string(steered->call);
    if (steered->fate == SteerFate::returned)
      line += " " + std::string(to_string(steered->reason)) + " " + steered->message.text;
  } else if (const auto* changed = event.get<ConversationChanged>()) {
    line = std::string(to_string(changed->change)) + " " + id + " " + std::to_string(changed->kept_messages);
  } else if (const auto* summary = event.get<CompactionChanged>()) {
    line = (!summary->ended ? "compacts " : summary->used ? "compacted " : "not-compacted ") + id;
  } else if (const auto* trimmed = event.get<ContextTrimmed>()) {
    line = (trimmed->for_this_turn ? "left-out " : "trimmed ") + id + " " +
           std::to_string(trimmed->messages.size());
    if (!reported.in_turn || trimmed->turn != reported.turn) broken("a context trimmed outside its turn");
  } else if (const auto* shut = event.get<WindowClosed>()) {
    line = "window-closed " + id + " " + shut->window_id + " " + in_words(to_string(shut->reason));
  } else if (const auto* pause = event.get<PauseChanged>()) {
    line = (pause->paused ? "paused " : "unpaused ") + id;
  } else if (const auto* pending = event.get<StopPending>()) {
    line =
        (pending->withdrawn ? "withdrawn " : "pending ") + id + " " + std::string(to_string(pending->when));
  } else if (event.get<PauseSettled>()) {
    line = "at-rest " + id;
  } else if (const auto* queue = event.get<QueueHeld>()) {
    line = (queue->held ? "held " : "released ") + id;
  } else if (const auto* dropped = event.get<MessageDropped>()) {
    line = "dropped " + id + " " + dropped->message.text + " " + std::string(to_string(dropped->reason));
  } else if (const auto* settled = event.get<Settled>()) {
    line = "settled " + id + " " + std::string(to_string(settled->end)) +
           (settled->abandoned ? " abandoned" : "");
  } else if (const auto* discarded = event.get<Discarded>()) {
    line = "discarded " + id + " " + std::to_string(discarded->turn) + " " +
           in_words(to_string(discarded->kind));
  } else if (event.get<AgentDeleted>()) {
    line = "deleted " + id;
  } else {
    line = tool_line(event, id);
  }
  lines.push_back(line);
  const bool is_of_tree = event.get<PauseChanged>() || event.get<PauseSettled>();  // of pause_all()
  if (id.empty() && !is_of_tree) broken("an event of nobody");
  if (reported.deleted) broken("an event after the end");
  if (const auto* started = event.get<TurnStarted>()) begin_turn(reported, started->turn);
  if (const auto* delta = event.get<DeltaReceived>();
      delta && (!reported.in_turn || delta->turn != reported.turn))
    broken("a delta outside its turn");
  if (const auto* reasoning = event.get<ReasoningReceived>();
      reasoning && (!reported.in_turn || reasoning->turn != reported.turn))
    broken("reasoning outside its turn");
  if (const auto* ended = event.get<TurnEnded>()) {
    if (!reported.in_turn || ended->turn != reported.turn) broken("an end without a beginning");
    if (reported.tools != 0) broken("a tool call without an end");
    reported.in_turn = false;
    const auto history = event.agent().conversation();
    if (history && !is_valid_history(*history)) broken("an invalid history");
  }
  if (event.get<Settled>() && reported.in_turn) broken("settled within a turn");
  if (event.get<Settled>() && (reported.questions != 0 || reported.tasks != 0))
    broken("settled with something open");
  if (event.get<AgentDeleted>()) reported.deleted = true;
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const auto& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

std::string written(const std::vector<ChatMessage>& history) {
  std::string all;
  for (const auto& message : history) {
    all += (all.empty() ? "" : ", ") + std::string(to_string(message.role)) + (message.steered ? "+:" : ":");
    if (message.role == Role::tool) all += message.tool_call_id + "=";
    all += message.content();
    for (const auto& call : message.tool_calls()) all += "[" + call.name + " " + call.id + "]";
    if (message.interruption != Interruption::none) all += "!" + std::string(to_string(message.interruption));
  }
  return all;
}

}  // namespace agentcore::test
