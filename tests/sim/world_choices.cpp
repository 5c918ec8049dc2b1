// What the commands of a World choose from: agents, calls, messages, and the options of each.
#include "sim/choices.hpp"
#include "sim/held_call.hpp"
#include "sim/world.hpp"
#include "sim/world_run.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

namespace agentcore::sim {

Agent World::agent(std::uint32_t n) const {
  const test::HostCode host;
  if (restored_) return *restored_;
  if (here_ && n % 16 == 14) return *here_;
  if (!handles_.empty() && n % 16 == 15) return handles_[n / 16 % handles_.size()];
  std::vector<Agent> all;
  if (run_->tree) run_->tree->walk([&](const Agent& one) { all.push_back(one); });
  if (all.empty()) return Agent();
  std::vector<Agent> busy;  // else most verbs would meet agents that do nothing
  if (n % 16 >= 8) std::ranges::copy_if(all, std::back_inserter(busy), &Agent::busy);
  return busy.empty() ? all[n % all.size()] : busy[n / 16 % busy.size()];
}

World::HeldCall* World::held(std::uint32_t n) const {
  return held_.empty() ? nullptr : held_[n % held_.size()].get();
}

test::FakeClient::Call* World::model_call(std::uint32_t n) const {
  const test::HostCode host;
  const auto open = run_->llm.open_calls();
  return open.empty() ? nullptr : open[n % open.size()];
}

MessageId World::some_message(std::uint32_t n) const {
  return sent_.empty() ? MessageId() : sent_[sent_.size() - 1 - n % sent_.size()];
}

std::string World::some_call(const Agent& agent, TaskKind kind, std::uint32_t n) const {
  const test::HostCode host;
  if (!call_here_.empty() && n % 16 == 14) return call_here_;
  std::vector<std::string> ids;
  if (run_->tree)
    for (const RunningTask& task : run_->tree->tasks())
      if (task.kind == kind && (kind == TaskKind::background || task.agent_id == agent.id()))
        ids.push_back(task.id);
  return ids.empty() ? "c" + std::to_string(calls_) : ids[n % ids.size()];
}

std::string World::some_question(std::uint32_t n) const {
  const test::HostCode host;
  const auto open = run_->tree->questions();
  return open.empty() ? "q_0" : open[n % open.size()].id;
}

AgentSpec World::spec(std::uint32_t kind) {
  const test::HostCode host;
  AgentSpec spec;
  const std::uint32_t options = options_in(kind);
  spec.id = "a" + std::to_string(kind / 16 % 8 + options % 4 * 8);
  spec.tools = tools_;
  spec.code.tools = "tools";
  spec.model.prices = {.prompt = 2, .completion = 8};
  spec.model.stream = kind / 128 % 4 != 3;
  if (kind % 3 == 0) {
    spec.llm = &run_->client(1);
    spec.code.llm = "other_llm";
  }
  switch (kind % 16) {
    case 1:
      spec.auto_resume = true;
      break;
    case 2:
      spec.role = AgentRole::user;
      break;
    case 3:
      spec.role = AgentRole::system;
      break;
    case 4:
      spec.handler = handler();
      spec.code.handler = "handler";
      break;
    case 5:
      spec.limits.budget = {.turns = 3};
      break;
    case 6:
      spec.limits.lease = std::chrono::minutes(10);
      break;
    case 7:
      spec.limits.parallel_tools = 3;
      spec.limits.background_tasks = 2;
      spec.partial_answers = PartialAnswers::keep;
      break;
    case 8:
      spec.context = {.max_tokens = 1'500, .target_tokens = 300, .min_conversation_tokens = 1};
      spec.context.compact = Compaction{.prompt = "Summarize.", .max_tokens = 500};
      break;
    case 9:
      spec.limits.mailbox = std::uint16_t{2};
      break;
    case 10:
      spec.tool_protocol = ToolProtocol::text;
      break;
    case 11:
      spec.tool_policy = policy();
      spec.code.tool_policy = "policy";
      break;
    case 12:
      spec.model.response_format = {.kind = ResponseFormat::Kind::json_object};
      break;
    case 13:
      spec.limits.turn_timeout = std::chrono::minutes(5);
      spec.limits.budget.wall_clock = std::chrono::hours(1);
      break;
    case 14:
      spec.limits.subtree_budget = {.turns = 8, .tokens = 2'000};
      spec.partial_answers = PartialAnswers::keep_acknowledged;
      break;
    default:
      break;
  }
  switch (options / 4 % 8) {
    case 1:
      spec.history = {ChatMessage::system("You are old."), ChatMessage::user("hello"),
                      ChatMessage::assistant("good day")};
      break;
    case 2:
      spec.system_prompt = "You are new.";
      spec.model.name = "another";
      break;
    case 3:
      spec.model.max_tokens = 50;
      spec.model.stop_sequences = {"END"};
      break;
    case 4:
      spec.model.tool_choice.mode = ToolChoice::Mode::required;
      break;
    case 5:
      spec.limits.lease = std::chrono::minutes(10);  // perhaps below another one
      break;
    case 6:
      spec.limits.tool_rounds = 2;
      break;
    case 7:
      spec.limits.subtree_budget = {.tokens = 300 + options % 4 * 300, .cost = 0.004};
      spec.model.max_tokens = 100;
      break;
    default:
      break;
  }
  if (spec.role == AgentRole::user) spec.limits.lease = no_limit;
  return spec;
}

Message World::message(bool urgent) {
  const test::HostCode host;
  Message message;
  message.text = "m" + std::to_string(++texts_);
  if (texts_ % 3 == 0) message.text += ' ' + std::string(2'000, 'x');  // so that contexts are trimmed
  if (texts_ % 4 == 0) {                                               // no model is sent these
    message.sender = "SECRET sender";
    message.kind = "SECRET kind";
  }
  message.priority = urgent ? MessagePriority::urgent : MessagePriority::normal;
  return message;
}

SendOptions World::send_options(std::uint32_t n) {
  const test::HostCode host;
  SendOptions options;
  if (options_in(n) % 3 == 1)
    options.on_delta = [this](std::string_view text) {
      const test::HostCode in_callback;
      ++events_;
      say("on_delta " + std::string(text));
      throw_if_due();
    };
  if (options_in(n) % 3 != 0)
    options.on_event = [this](const Event& event) {
      const test::HostCode in_callback;
      ++events_;
      say("on_event " + std::string(to_string(place_of_event(detail::event_body(event).index()))));
      throw_if_due();
    };
  if (n % 2 == 0) return options;
  options.on_end = [this](const MessageEnd& end) {
    const test::HostCode in_callback;
    ++events_;
    say("on_end " + to_string(end.message));
    if (!killed_) messages_.called_back(end);
    run_pending(place_of(Callback::message_end));
    throw_if_due();
  };
  return options;
}

std::vector<ToolCall> World::tool_calls(std::uint32_t n, const std::string& agent) {
  // The second half: Knob::programs.
  static constexpr std::array<const char*, 20> names = {
      "safe",     "never",   "careful", "task",    "blocking", "finish", "ask_human",
      "delegate", "unknown", "safe",    "program", "program",  "hasty",  "program",
      "service",  "program", "hasty",   "program", "program",  "program"};
  const std::size_t count = setup_[Knob::programs] != 0 && !is_real() ? names.size() : names.size() / 2;
  const test::HostCode host;
  std::vector<ToolCall> calls;
  for (std::uint32_t i = 0; i <= n % 3; ++i) {
    ToolCall call;
    call.id = "c" + std::to_string(++calls_);
    tool_rules_.asked(agent, call.id);
    call.name = names[(n / 3 + i * (n / 30)) % count];
    call.arguments = setup_[Knob::plain_arguments] != 0 ? "{}"
                     : call.name == "ask_human"         ? R"({"question":"Which?"})"
                     : call.name == "delegate" ? R"({"message":"work )" + std::to_string(++texts_) + "\"}"
                     : n % 17 == 16            ? "no object"
                                               : "{}";
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace agentcore::sim
