// Agents as tools: a planner asks two agents side by side. A person interrupts one of them; the planner reads
// that it did not finish, and goes on with the answer of the other.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace {

using agentcore::testing::ScriptedReply;
using nlohmann::json;

ScriptedReply planner(const agentcore::ChatRequest& request) {
  ScriptedReply reply;
  const std::size_t size = request.messages.size();
  if (request.messages.back().role == agentcore::Role::user) {
    for (const char* tool : {"research", "book"})
      reply.tool_calls.push_back({.name = tool, .arguments = json{{"message", "three days in Lima"}}.dump()});
  } else {
    reply.deltas = {"Research: ", request.messages[size - 2].content(),
                    "\nBooking: ", request.messages[size - 1].content()};
  }
  return reply;
}

// The researcher answers at once; the booker needs an hour.
ScriptedReply model(const agentcore::ChatRequest& request) {
  if (request.agent_id == "planner") return planner(request);
  ScriptedReply reply;
  reply.deltas = {"Stay near the sea."};
  if (request.agent_id == "booker") reply.first_delay = std::chrono::hours(1);
  return reply;
}

// [snippet: agents as tools]
std::shared_ptr<agentcore::ToolRegistry> agents_as_tools() {
  auto tools = std::make_shared<agentcore::ToolRegistry>();

  agentcore::AgentToolOptions research;  // each call has an agent of its own
  research.tool = {.name = "research", .description = "Researches a question."};
  research.agent.system_prompt = "You research one question and answer in ten lines.";
  tools->add(agentcore::make_agent_tool(std::move(research)));

  agentcore::AgentToolOptions book;  // one agent for all calls: it remembers the earlier ones
  book.tool = {.name = "book", .description = "Books rooms and flights."};
  book.agent.id = "booker";
  tools->add(agentcore::make_agent_tool(std::move(book)));
  return tools;
}
// [/snippet]

}  // namespace

int main() {
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient llm{runtime, model};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  const agentcore::Agent planner =
      tree.create({.id = "planner", .tools = agents_as_tools(), .limits = {.parallel_tools = 2}}).value();

  std::string answer;
  bool researched = false;
  auto results = planner.on<agentcore::ToolEnded>([&](const agentcore::ToolEnded&) { researched = true; });
  auto ends = planner.on<agentcore::TurnEnded>(
      [&](const agentcore::TurnEnded& ended) { answer = ended.result->text; });
  if (!planner.send("Plan a trip.")) return 1;
  while (!researched) runtime.run_for(std::chrono::milliseconds(1));

  // The person has seen enough of the booker.
  const agentcore::Agent booker = tree.find("booker").value();
  if (!booker.interrupt({.reason = "too slow"}).took_effect()) return 1;
  while (tree.busy()) runtime.run_for(std::chrono::milliseconds(1));

  std::printf("%s\n", answer.c_str());
  const bool is_true = answer ==
                       "Research: Stay near the sea.\n"
                       "Booking: error: the agent was interrupted, and did not finish";
  // The researcher was deleted with its result; the booker stays.
  return is_true && tree.size() == 2 && llm.open_calls() == 0 ? 0 : 1;
}
