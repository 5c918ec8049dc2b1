// A server with a Runtime on each core. Threads share nothing: each has a loop, a tree and a client of its
// own, and all messages of a conversation go to the same thread. Answers return to the thread that asked.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>

namespace {

using agentcore::Runtime;

// What the thread that asked gets. Both functions are called on that thread, on_end once.
struct Reply {
  std::function<void(const std::string& text)> on_text = {};
  // `failure`: why there is no whole answer; empty if there is one.
  std::function<void(std::size_t worker, const std::string& failure)> on_end = {};
};

// Drives the loop of this thread until `done()`.
template <typename Done>
void drive(Runtime& runtime, Done done) {
  pollfd watched{.fd = runtime.poll_descriptor(), .events = POLLIN, .revents = 0};
  if (watched.fd < 0) std::abort();  // the system has no descriptor left
  while (!done()) {
    ::poll(&watched, 1, -1);
    runtime.poll();
  }
}

// The model: it counts the messages of the conversation, or begins an answer that has no end.
agentcore::testing::ScriptedReply answer(const agentcore::ChatRequest& request) {
  agentcore::testing::ScriptedReply reply;
  const auto is_user = [](const agentcore::ChatMessage& message) {
    return message.role == agentcore::Role::user;
  };
  reply.silent = request.messages.back().content() == "Count for ever.";
  reply.deltas = {std::to_string(std::ranges::count_if(request.messages, is_user))};
  return reply;
}

class Worker {
 public:
  Worker(std::size_t number, Runtime& front) : number_(number), front_(front), thread_([this] { run(); }) {
    started_.wait();
  }

  // Not after stop().
  void ask(std::string conversation, std::string text, Reply reply) {
    const auto shared = std::make_shared<const Reply>(std::move(reply));
    runtime_->post([this, conversation = std::move(conversation), text = std::move(text), shared] {
      begin(conversation, text, shared);
    });
  }
  // Stops all agents at once, also if the thread is busy. The thread ends when all have settled.
  void stop() {
    static_cast<void>(tree_->stop_all());
    runtime_->post([this] { stopping_ = true; });
  }

 private:
  using SharedReply = std::shared_ptr<const Reply>;

  void run() {
    Runtime runtime{{.log = agentcore::log_to_stderr()}};
    agentcore::testing::ScriptedClient llm{runtime, answer};  // or an HttpLlmClient
    agentcore::AgentTree tree{runtime, {.llm = &llm}};
    runtime_ = &runtime;
    tree_ = &tree;
    started_.count_down();
    drive(runtime, [&] { return stopping_ && !tree.busy(); });
  }

  // On the thread of this worker. A conversation is an agent.
  void begin(const std::string& conversation, const std::string& text, const SharedReply& reply) {
    auto agent = tree_->find(conversation);
    if (!agent) agent = tree_->create({.id = conversation});
    if (!agent) return end(reply, agent.error().message);
    const agentcore::SendResult sent = agent->send(
        text,
        {.on_delta = [this, reply](std::string_view piece) { show(reply, std::string(piece)); },
         .on_end = [this, reply](const agentcore::MessageEnd& ended) { end(reply, failure_of(ended)); }});
    if (!sent) end(reply, std::string(to_string(sent.reason)));
  }
  static std::string failure_of(const agentcore::MessageEnd& ended) {
    if (!ended.result) return std::string(to_string(ended.dropped));
    return ended.result->success() ? "" : ended.result->error.message;
  }

  // To the thread that asked.
  void show(const SharedReply& reply, std::string piece) {
    front_.post([reply, piece = std::move(piece)] { reply->on_text(piece); });
  }
  void end(const SharedReply& reply, std::string failure) {
    front_.post([reply, number = number_, failure = std::move(failure)] { reply->on_end(number, failure); });
  }

  const std::size_t number_;
  Runtime& front_;
  Runtime* runtime_ = nullptr;
  agentcore::AgentTree* tree_ = nullptr;
  bool stopping_ = false;  // belongs to the thread
  std::latch started_{1};
  std::jthread thread_;  // last: the end of the thread is waited for before anything else is destroyed
};

class Server {
 public:
  Server(std::size_t threads, Runtime& front) {
    for (std::size_t i = 0; i < threads; ++i) workers_.push_back(std::make_unique<Worker>(i, front));
  }
  // All stop at once; then their threads are waited for.
  ~Server() {
    for (const auto& worker : workers_) worker->stop();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void ask(const std::string& conversation, std::string text, Reply reply) {
    const std::size_t worker = std::hash<std::string>()(conversation) % workers_.size();
    workers_[worker]->ask(conversation, std::move(text), std::move(reply));
  }

 private:
  std::vector<std::unique_ptr<Worker>> workers_;
};

// What has come back to this thread.
struct Answers {
  std::map<std::string, std::string> texts = {};                 // by conversation
  std::map<std::string, std::vector<std::size_t>> workers = {};  // by conversation: who answered each message
  std::size_t ended = 0;
  std::size_t stopped = 0;
  bool elsewhere = false;  // something came back on another thread
};

}  // namespace

int main() {
  constexpr std::size_t conversations = 12, messages = 3, endless = 4;
  const std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 2, 8);
  Runtime front{{.log = agentcore::log_to_stderr()}};
  Answers answers;
  const auto reply_to = [&, here = std::this_thread::get_id()](const std::string& conversation) {
    return Reply{.on_text =
                     [&, here, conversation](const std::string& text) {
                       answers.elsewhere |= std::this_thread::get_id() != here;
                       answers.texts[conversation] += text;
                     },
                 .on_end =
                     [&, here, conversation](std::size_t worker, const std::string& failure) {
                       answers.elsewhere |= std::this_thread::get_id() != here;
                       answers.workers[conversation].push_back(worker);
                       ++answers.ended;
                       answers.stopped += !failure.empty();
                     }};
  };

  {
    Server server(threads, front);
    for (std::size_t i = 0; i < messages; ++i)
      for (std::size_t c = 0; c < conversations; ++c) {
        const std::string name = "conversation-" + std::to_string(c);
        server.ask(name, "How many messages are this?", reply_to(name));
      }
    drive(front, [&] { return answers.ended == conversations * messages; });

    for (std::size_t c = 0; c < endless; ++c) {
      const std::string name = "endless-" + std::to_string(c);
      server.ask(name, "Count for ever.", reply_to(name));
    }
    drive(front, [&] { return answers.texts.size() == conversations + endless; });
  }  // here the server stops, in the middle of these answers
  drive(front, [&] { return answers.ended == conversations * messages + endless; });

  bool right = !answers.elsewhere && answers.stopped == endless;
  for (const auto& [name, text] : answers.texts) {
    const std::vector<std::size_t>& by = answers.workers[name];
    right &= text == (by.size() == messages ? "123" : "1");  // in order, and with the history before
    right &= std::ranges::count(by, by.front()) == std::ssize(by);
    std::printf("%s: worker %zu, answer %s\n", name.c_str(), by.front(), text.c_str());
  }
  std::printf("%zu threads, %zu answers, of these %zu stopped\n", threads, answers.ended, answers.stopped);
  return right ? 0 : 1;
}
