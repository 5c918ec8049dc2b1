// An answer out of a recording, for tests and for faults that a user has sent. Runs without a network.
#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>

#include <cstdio>
#include <string>

namespace {

// One line of what HttpRecorder::to_file() wrote during a real call.
constexpr const char* recorded =
    R"({"method":"POST","url":"https://api.example.com/v1/chat/completions",)"
    R"("request_headers":["Content-Type: application/json","Authorization: [removed]"],"status":200,)"
    R"("content_type":"text/event-stream","body":[)"
    R"({"at_ns":210000000,"bytes":"data: {\"choices\":[{\"delta\":{\"content\":\"Blue light \"}}]}\n\n"},)"
    R"({"at_ns":250000000,"bytes":"data: {\"choices\":[{\"delta\":{\"content\":\"scatters most.\"}}]}\n\n"},)"
    R"({"at_ns":260000000,"bytes":"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"}],)"
    R"("end":"complete","ended_at_ns":261000000})";

}  // namespace

int main() {
  // [snippet: replay]
  auto replay = agentcore::HttpReplay::from_text(recorded);  // or from_file()
  if (!replay) return std::fprintf(stderr, "%s\n", replay.error().message.c_str()), 1;

  agentcore::HttpLlmOptions options;
  options.base_url = "https://api.example.com/v1";
  options.model = "any";
  options.replay = *replay;
  // To record: options.recorder = agentcore::HttpRecorder::to_file("calls.jsonl").value();

  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::HttpLlmClient llm{runtime, options};
  std::string answer;
  llm.chat({.messages = {agentcore::ChatMessage::user("Why is the sky blue?")}}, {},
           agentcore::ChatSink([&](std::string_view text) { answer += text; },
                               [](const agentcore::ChatOutcome&) {}));
  runtime.run_until_idle();
  // [/snippet]
  std::printf("%s\n", answer.c_str());
  return answer == "Blue light scatters most." ? 0 : 1;
}
