// A conversation under control: what a person saw of an interrupted answer stays, a turn is taken back, and a
// copy of the conversation goes another way. Runs without a network: the model is scripted.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

agentcore::testing::ScriptedReply answer(const agentcore::ChatRequest& request) {
  agentcore::testing::ScriptedReply reply;
  reply.deltas = {"Agios Pavlos ", "is quiet. "};
  reply.silent = request.messages.back().content() == "Three quiet beaches?";  // this answer has no end
  return reply;
}

void print(const char* title, const std::vector<agentcore::ChatMessage>& messages) {
  std::printf("%s:\n", title);
  for (const agentcore::ChatMessage& message : messages)
    std::printf("  %s: %s%s\n", to_string(message.role).data(), message.content().c_str(),
                message.is_partial() ? "..." : "");
}

}  // namespace

int main() {
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient llm{runtime, answer};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};

  // [snippet: conversation]
  agentcore::AgentSpec spec;
  spec.id = "chat";
  spec.partial_answers = agentcore::PartialAnswers::keep;  // what was shown stays in the conversation
  agentcore::Agent chat = tree.create(std::move(spec)).value();

  agentcore::SendResult sent = chat.send("Three quiet beaches?");
  runtime.run_for(std::chrono::milliseconds(20));
  agentcore::VerbResult esc = chat.interrupt();  // in the middle of the answer
  expect(sent.accepted() && esc.took_effect());
  expect(chat.send("And one in Crete?").accepted());
  runtime.run_until_idle();
  print("what a person saw", chat.conversation().value());

  // A copy that goes on from the first turn; the conversation itself stays as it is.
  agentcore::Agent other = chat.fork({.id = "other", .at = 1}).value();
  expect(other.send("And two in Spain?").accepted());

  // The second question is taken back, for example to edit it.
  std::vector<agentcore::ChatMessage> removed = chat.rewind(2).value();
  expect(chat.send(removed.front().content() + " With shade?").accepted());
  runtime.run_until_idle();

  expect(chat.regenerate().accepted());  // the last question, asked again
  runtime.run_until_idle();
  // [/snippet]
  print("edited and asked again", chat.conversation().value());
  print("the copy", other.conversation().value());

  const auto talk = chat.conversation().value();
  expect(talk.size() == 4 && talk[1].is_partial() && talk[1].content() == "Agios Pavlos is quiet. ");
  expect(talk[2].content() == "And one in Crete? With shade?" && is_valid_history(talk));
  const auto copy = other.conversation().value();
  expect(copy.size() == 4 && copy[1] == talk[1] && copy[2].content() == "And two in Spain?");
  return llm.open_calls() == 0 ? 0 : 1;
}
