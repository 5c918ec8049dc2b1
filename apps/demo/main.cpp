// agentcore-demo: a tree of agents streams in parallel; then one branch is stopped in mid-stream, another is
// deleted, and the last call is aborted. The table at the end shows when, and what the server measured.
#include "demo/company.hpp"
#include "demo/screen.hpp"
#include "demo/witness.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

namespace {

using namespace agentcore;
using namespace demo;
using namespace std::chrono_literals;

constexpr const char* manual = R"(usage: agentcore-demo [--base-url URL] [--model NAME]

Shows a tree of seven agents that stream from a chat completions server, stops one branch, deletes another, aborts
the last call, and prints what the server saw of it.

  --base-url URL   e.g. https://api.openai.com/v1; default: the environment's OPENAI_BASE_URL
  --model NAME     default: the environment's OPENAI_MODEL, else "gpt-4o-mini"

The API key is read from OPENAI_API_KEY. scripts/demo starts a stand-in server when no URL is given.
)";

// The effect of one verb, for the table.
struct Deed {
  std::string verb;
  std::string target;
  std::int64_t called_ns = 0;
  std::int64_t returned_ns = 0;
  std::vector<Member*> members;
};

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string line_of(const Member& member, std::size_t width) {
  Color color = Color::plain;
  std::string state(to_string(member.state));
  if (member.gone) {
    state = "deleted";
    color = Color::red;
  } else if (member.state == AgentState::waiting_llm) {
    color = Color::green;
  } else if (is_stopped(member.state)) {
    color = Color::yellow;
  }
  const std::string name = fit(std::string(static_cast<std::size_t>(member.level) * 2, ' ') + member.id, 13);
  const std::size_t room = width > 40 ? width - 36 : 20;
  return colored(name, Color::bold) + colored(fit(state, 12), color) + fit(std::to_string(member.tokens), 5) +
         colored(tail(member.text, room),
                 member.gone || is_stopped(member.state) ? Color::dim : Color::plain);
}

class Show {
 public:
  explicit Show(const Model& model) : model_(model), company_(runtime_, model) {}

  int run() {
    screen_.print("agentcore " + std::string(version) + ": seven agents, one loop, " + model_.base_url);
    screen_.print("");
    company_.begin();
    if (!stream_until([this] { return company_.all_have_text(); }, 30s)) return give_up();
    stream_for(2s);
    // From another thread, like a Stop button in a user interface.
    act("stop", "scout", [](const Agent& agent) { static_cast<void>(agent.stop()); });
    stream_for(2s);
    act("terminate", "writer", [](const Agent& agent) { static_cast<void>(agent.terminate()); });
    stream_for(2s);
    act("abort", "planner", [](const Agent& agent) { static_cast<void>(agent.abort()); });
    stream_for(500ms);
    return table();
  }

 private:
  void draw() {
    std::vector<std::string> lines;
    for (const auto& member : company_.members()) lines.push_back(line_of(*member, screen_.width()));
    lines.emplace_back();
    lines.push_back(colored(caption_, Color::cyan));
    screen_.draw(lines);
  }

  bool stream_until(const std::function<bool()>& done, Duration limit) {
    const TimePoint end = runtime_.now() + limit;
    while (!done() && runtime_.now() < end && company_.first_failure().empty()) {
      runtime_.run_for(40ms);
      draw();
    }
    return done();
  }

  void stream_for(Duration time) {
    stream_until([] { return false; }, time);
  }

  // Calls a verb on a thread of its own, like a host, and waits for its return, not for its effects.
  void act(const std::string& verb, const std::string& target,
           const std::function<void(const Agent&)>& call) {
    Deed deed{verb, target, 0, 0, company_.below(target)};
    if (verb == "abort") deed.members.resize(1);
    caption_ = target + "." + verb + "()";
    if (!screen_.is_terminal()) screen_.print(caption_);
    std::thread([&] {
      deed.called_ns = now_ns();
      call(deed.members.front()->agent);
      deed.returned_ns = now_ns();
    }).join();
    for (Member* member : deed.members) member->halted = true;
    deeds_.push_back(std::move(deed));
    draw();
  }

  int give_up() {
    const std::string why = company_.first_failure();
    screen_.print("");
    screen_.print("No answer from " + model_.base_url + (why.empty() ? "." : ": " + why));
    return 1;
  }

  int table() {
    const auto seen = ask_server(model_.base_url);
    screen_.print("");
    screen_.print(colored(
        "verb                agents  returned after  server saw the last close  tokens after  settled",
        Color::bold));
    bool good = true;
    for (const Deed& deed : deeds_) {
      std::int64_t last = 0;
      std::size_t late = 0;
      std::size_t settled = 0;
      for (const Member* member : deed.members) {
        if (seen && seen->contains(member->id) && seen->at(member->id).client_closed)
          last = std::max(last, seen->at(member->id).end_ns);
        late += member->tokens_after_stop;
        settled += deed.verb == "abort" ? member->state == AgentState::idle : member->settled;
      }
      char line[200];
      std::snprintf(line, sizeof line, "%-20s%-8zu%8.1f us     %-27s%-14zu%zu of %zu",
                    (deed.verb + " " + deed.target).c_str(), deed.members.size(),
                    static_cast<double>(deed.returned_ns - deed.called_ns) / 1e3,
                    last ? (std::to_string((last - deed.called_ns) / 1000) + " us after the call").c_str()
                         : "(does not say)",
                    late, settled, deed.members.size());
      screen_.print(line);
      good = good && late == 0 && settled == deed.members.size() && (!seen || last != 0);
    }
    screen_.print("");
    screen_.print(good ? "Stopped means stopped." : "Something was not as it should be: see the table.");
    return good ? 0 : 1;
  }

  Model model_;
  Runtime runtime_{{.log = log_to_stderr(LogLevel::warning)}};
  Screen screen_;
  Company company_;
  std::vector<Deed> deeds_;
  std::string caption_ = "streaming";
};

std::string from_environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  Model model{from_environment("OPENAI_BASE_URL", ""), from_environment("OPENAI_API_KEY", ""),
              from_environment("OPENAI_MODEL", "gpt-4o-mini")};
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--base-url" && i + 1 < argc)
      model.base_url = argv[++i];
    else if (option == "--model" && i + 1 < argc)
      model.name = argv[++i];
    else
      return std::fputs(manual, option == "--help" ? stdout : stderr), option == "--help" ? 0 : 2;
  }
  if (model.base_url.empty()) return std::fputs(manual, stderr), 2;
  return Show(model).run();
}
