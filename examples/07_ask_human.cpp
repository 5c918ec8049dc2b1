// A person in the loop: the agent asks a question, and may not book anything before that is approved. On a
// terminal you are the person; the end of the input (Ctrl-D) stops the agent. Otherwise the example answers
// for you, and stops the agent when it asks once more.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

namespace {

using nlohmann::json;

// Asks, books what was answered, says what came of it, and asks again.
agentcore::testing::ScriptedReply model(const agentcore::ChatRequest& request) {
  agentcore::testing::ScriptedReply reply;
  const agentcore::ChatMessage& last = request.messages.back();
  if (last.role == agentcore::Role::user) {
    reply.tool_calls = {{.name = "ask_human", .arguments = json{{"question", last.content()}}.dump()}};
    return reply;
  }
  const agentcore::ChatMessage& call = request.messages[request.messages.size() - 2];
  if (call.tool_calls()[0].name == "ask_human")
    reply.tool_calls = {{.name = "book", .arguments = json{{"beach", last.content()}}.dump()}};
  else
    reply.deltas = {"It says: ", last.content()};
  return reply;
}

// Drives the loop until the agent asks something, or has come to the end of its turn.
void run_until_question(agentcore::Runtime& runtime, agentcore::AgentTree& tree) {
  do {
    runtime.run_for(std::chrono::milliseconds(1));
  } while (tree.busy() && tree.questions().empty());
}

// The next line of a terminal, or nothing at its end. Waits, and drives the loop meanwhile.
std::optional<std::string> line_from_terminal(agentcore::Runtime& runtime) {
  pollfd watched[2] = {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                       {.fd = runtime.poll_descriptor(), .events = POLLIN, .revents = 0}};
  for (;;) {
    ::poll(watched, 2, -1);
    runtime.poll();
    if (watched[0].revents == 0) continue;
    char text[512];
    const ssize_t size = ::read(STDIN_FILENO, text, sizeof text);
    if (size <= 0) return std::nullopt;
    std::string line(text, static_cast<std::size_t>(size));
    line.erase(std::min(line.find('\n'), line.size()));
    return line;
  }
}

// The answers of an unattended run, the last one first; then nothing.
std::optional<std::string> scripted_line() {
  static std::vector<std::string> lines = {"yes", "Agios Pavlos"};
  if (lines.empty()) return std::nullopt;
  std::string line = std::move(lines.back());
  lines.pop_back();
  std::printf("%s\n", line.c_str());
  return line;
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const bool attended = isatty(STDIN_FILENO) != 0;
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient llm{runtime, model};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};

  std::size_t booked = 0;
  std::vector<agentcore::QuestionOutcome> closed;
  auto events = tree.on_event([&](const agentcore::Event& event) {
    if (auto* end = event.get<agentcore::TurnEnded>())
      std::printf("turn %s. %.*s\n", to_string(end->result->outcome).data(),
                  static_cast<int>(end->result->text.size()), end->result->text.data());
    if (auto* question = event.get<agentcore::QuestionClosed>()) {
      closed.push_back(question->outcome);
      std::printf("[%s %s]\n", question->question_id.c_str(), to_string(question->outcome).data());
    }
  });

  // [snippet: people]
  auto tools = std::make_shared<agentcore::ToolRegistry>();
  tools->add(agentcore::make_ask_human_tool());
  tools->add(agentcore::make_tool(
      {.name = "book",
       .parameters = R"({"type":"object","properties":{"beach":{"type":"string"}},"required":["beach"]})",
       .needs_approval = true},  // nothing of it begins before a person agrees
      [&](const json& arguments, const agentcore::ToolContext&) {
        ++booked;
        return agentcore::ToolResult::done("booked " + arguments.at("beach").get<std::string>());
      }));
  const agentcore::Agent agent = tree.create({.tools = tools}).value();
  // [/snippet]
  for (const char* question : {"Which beach?", "And where do you stay?"}) {
    if (!agent.send(question)) break;
    run_until_question(runtime, tree);
    while (!tree.questions().empty()) {
      const agentcore::OpenQuestion open = tree.questions().front();
      const bool approval = open.kind == agentcore::QuestionKind::approval;
      if (approval)
        std::printf("May it %s %s? (yes/no) ", open.tool.c_str(), open.text.c_str());
      else
        std::printf("%s ", open.text.c_str());
      std::fflush(stdout);
      const auto line = attended ? line_from_terminal(runtime) : scripted_line();
      if (!line) {
        std::printf("(no answer: stop)\n");
        if (!agent.stop().took_effect()) return 1;  // closes the question; nobody can answer it any more
        if (tree.answer(open.id, "too late").has_value()) return 1;
      } else if (approval) {
        if (!(*line == "yes" ? tree.approve(open.id) : tree.decline(open.id, *line))) return 1;
      } else if (!tree.answer(open.id, *line)) {
        return 1;
      }
      run_until_question(runtime, tree);
    }
  }
  const bool idle = runtime.run_until_idle().is_idle();
  std::printf("%zu booked, the agent is %s\n", booked, to_string(*agent.state()).data());
  if (attended) return idle ? 0 : 1;
  using enum agentcore::QuestionOutcome;
  return idle && booked == 1 && closed == std::vector{answered, answered, cancelled} ? 0 : 1;
}
