#include "core/atomic.hpp"
#include "core/home_process.hpp"
#include "core/stoppable.hpp"
#include "core/validate.hpp"
#include "llm/active_calls.hpp"
#include "loop/engine.hpp"
#include "loop/source.hpp"
#include "loop/time.hpp"
#include "loop/waker.hpp"

#include <agentcore/runtime.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace agentcore::detail::testing {

// Notes that calls were stopped without the memory for a post: then the loop looks for them. The engine, the
// client and its calls share it.
class UnpostedStops final : public loop::Source {
 public:
  explicit UnpostedStops(std::function<void()> end_stopped) : end_stopped_(std::move(end_stopped)) {}
  // @threadsafe
  void note(loop::Waker& waker) noexcept {
    noted_.store(true, std::memory_order_release);
    waker.notify();
  }
  void run_control(loop::PollBudget&) override {
    if (noted_.exchange(false, std::memory_order_acquire)) end_stopped_();
  }
  void run_round(loop::PollBudget&) override {}
  bool has_work() const noexcept override { return noted_.load(std::memory_order_acquire); }
  bool has_pending() const noexcept override { return false; }

 private:
  detail::core::Atomic<bool> noted_{false};
  const std::function<void()> end_stopped_;
};

}  // namespace agentcore::detail::testing

namespace agentcore::testing {
namespace {

// Splits "a b  c" into "a", " b", "  c".
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto word = text.find_first_not_of(' ');
    const auto end = word == text.npos ? text.npos : text.find(' ', word);
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end);
  }
  return words;
}

ScriptedReply echo(const ChatRequest& request) {
  ScriptedReply reply;
  if (!request.messages.empty()) reply.deltas = words_of(request.messages.back().content());
  return reply;
}

// Without memory it has no text.
ChatOutcome cancelled() noexcept {
  try {
    return ChatOutcome::cancelled();
  } catch (const std::bad_alloc&) {
    ChatOutcome outcome;
    outcome.kind = ChatOutcome::Kind::cancelled;
    outcome.usage.complete = false;
    outcome.error.code = Errc::cancelled;
    return outcome;
  }
}

ChatError no_memory() {
  return {Errc::out_of_memory, "out of memory"};
}

detail::core::Validation check(const ScriptedReply& reply) {
  detail::core::Validation validation("ScriptedReply");
  validation.not_negative("first_delay", reply.first_delay).not_negative("interval", reply.interval);
  return validation;
}

}  // namespace

struct ScriptedClient::Impl : std::enable_shared_from_this<Impl> {
  // One call. If its reply ignores the stop token, the call counts as stopped like any other, but continues.
  class Call final : public detail::core::Stoppable {
   public:
    Call(Impl& client, std::uint64_t number, ChatSink to)
        : id(number),
          sink(std::move(to)),
          engine_(client.engine),
          client_(client.weak_from_this()),
          unposted_(client.unposted) {}

    bool stop() noexcept override {
      if (stopped_.exchange(true, std::memory_order_acq_rel)) return false;
      try {
        engine_->post([client = client_, number = id] {
          if (const auto alive = client.lock()) alive->on_stopped(number);
        });
      } catch (const std::bad_alloc&) {
        unposted_->note(*engine_->waker());
      }
      return true;
    }
    bool is_stopped() const noexcept override { return stopped_.load(std::memory_order_acquire); }

    const std::uint64_t id;
    ChatSink sink;
    ScriptedReply reply;
    std::size_t next_delta = 0;
    std::uint64_t timer = 0;
    detail::llm::Registration registration;
    std::optional<detail::core::StopCallback> on_stop;

   private:
    detail::core::Atomic<bool> stopped_{false};
    const std::shared_ptr<detail::loop::Engine> engine_;
    const std::weak_ptr<Impl> client_;
    const std::shared_ptr<detail::testing::UnpostedStops> unposted_;
  };

  Impl(std::shared_ptr<detail::loop::Engine> loop, Responder answer)
      : engine(std::move(loop)), responder(std::move(answer)) {}

  void watch_unposted();
  void end_stopped();

  void start(const ChatRequest& request, StopToken stop, const std::shared_ptr<Call>& call);
  std::optional<ScriptedReply> reply_for(const ChatRequest& request);
  void schedule(Call& call, Duration delay);
  void step(std::uint64_t id);
  void step_or_fail(std::uint64_t id);
  void finish(Call& call);
  void on_stopped(std::uint64_t id);
  void end(std::shared_ptr<Call> call, ChatOutcome outcome);
  std::shared_ptr<Call> find(std::uint64_t id) const;

  const std::shared_ptr<detail::loop::Engine> engine;
  const Responder responder;
  const std::shared_ptr<detail::llm::ActiveCalls> active = std::make_shared<detail::llm::ActiveCalls>();
  std::shared_ptr<detail::testing::UnpostedStops> unposted;
  std::deque<ScriptedReply> queue;
  std::map<std::uint64_t, std::shared_ptr<Call>> open;
  std::uint64_t started = 0;
  bool closing = false;
};

void ScriptedClient::Impl::start(const ChatRequest& request, StopToken stop,
                                 const std::shared_ptr<Call>& call) {
  open.emplace(call->id, call);
  engine->add_pending(1);
  auto reply = reply_for(request);
  if (!open.contains(call->id)) return;  // the responder destroyed the client
  if (!reply)
    return end(call,
               ChatOutcome::failed(
                   {Errc::callback_failed,
                    "the responder of the ScriptedClient threw an exception; its message is in the log"}));
  if (const auto problem = check(*reply).problem())
    return end(call, ChatOutcome::failed(ChatError::from(*problem)));
  call->reply = std::move(*reply);
  call->on_stop.emplace(std::move(stop), detail::core::StopOnRequest{call.get()});
  if (!call->reply.deltas.empty() || !call->reply.silent) schedule(*call, call->reply.first_delay);
}

std::optional<ScriptedReply> ScriptedClient::Impl::reply_for(const ChatRequest& request) {
  if (!queue.empty()) {
    ScriptedReply reply = std::move(queue.front());
    queue.pop_front();
    return reply;
  }
  if (!responder) return echo(request);
  std::optional<ScriptedReply> reply;
  engine->guarded("a ScriptedClient's responder", [&] { reply = responder(request); });
  return reply;
}

void ScriptedClient::Impl::schedule(Call& call, Duration delay) {
  call.timer = engine->start_timer(detail::loop::later(engine->now(), delay),
                                   [client = weak_from_this(), id = call.id] {
                                     if (const auto alive = client.lock()) alive->step_or_fail(id);
                                   });
}

// Without memory for the next step the call fails: nothing else would end it.
void ScriptedClient::Impl::step_or_fail(std::uint64_t id) {
  try {
    step(id);
  } catch (const std::bad_alloc&) {
    if (const auto call = find(id)) end(call, ChatOutcome::failed(no_memory()));
  }
}

// Delivers the next delta, or ends the call. A receiver may run any code, so the call is looked up again
// after each delivery.
void ScriptedClient::Impl::step(std::uint64_t id) {
  const auto call = find(id);
  if (!call) return;
  const ScriptedReply& reply = call->reply;
  if (call->is_stopped() && !reply.deaf) return end(call, cancelled());
  for (const std::vector<std::string> pieces = std::exchange(call->reply.reasoning, {});
       const std::string& piece : pieces) {
    call->sink.reasoning(piece);
    if (!find(id)) return;
  }
  if (call->next_delta == reply.deltas.size()) return finish(*call);
  call->sink.delta(reply.deltas[call->next_delta++]);
  if (!find(id)) return;
  if (!call->sink) return end(call, cancelled());  // the receiver threw
  if (call->next_delta < reply.deltas.size() || !reply.silent) schedule(*call, reply.interval);
}

void ScriptedClient::Impl::finish(Call& call) {
  const ScriptedReply& reply = call.reply;
  if (reply.error.code != Errc::none)
    return end(find(call.id), ChatOutcome::failed(reply.error, reply.usage));
  ChatOutcome outcome = ChatOutcome::completed(reply.finish_reason, reply.usage);
  outcome.tool_calls = reply.tool_calls;
  end(find(call.id), std::move(outcome));
}

void ScriptedClient::Impl::on_stopped(std::uint64_t id) {
  const auto call = find(id);
  if (call && !call->reply.deaf) end(call, cancelled());
}

void ScriptedClient::Impl::watch_unposted() {
  unposted = std::make_shared<detail::testing::UnpostedStops>([client = weak_from_this()] {
    if (const auto alive = client.lock()) alive->end_stopped();
  });
  engine->add_source(unposted);
}

// A receiver may run any code, so the calls are looked up again after each end.
void ScriptedClient::Impl::end_stopped() {
  for (auto next = open.begin(); next != open.end();) {
    const auto call = next->second;
    if (call->is_stopped()) on_stopped(call->id);
    next = open.upper_bound(call->id);
  }
}

void ScriptedClient::Impl::end(std::shared_ptr<Call> call, ChatOutcome outcome) {
  call->registration.reset();  // first: a thread that stops the agent meanwhile finds no open call
  call->on_stop.reset();
  engine->cancel_timer(call->timer);
  open.erase(call->id);
  engine->add_pending(-1);
  call->sink.finish(std::move(outcome));
}

std::shared_ptr<ScriptedClient::Impl::Call> ScriptedClient::Impl::find(std::uint64_t id) const {
  const auto found = open.find(id);
  return found == open.end() ? nullptr : found->second;
}

ScriptedClient::ScriptedClient(Runtime& runtime, Responder responder)
    : impl_(std::make_shared<Impl>(detail::loop::engine_of(runtime), std::move(responder))) {
  impl_->watch_unposted();
}

ScriptedClient::~ScriptedClient() {
  if (impl_->engine->in_forked_child()) {
    detail::core::keep_for_ever(std::move(impl_));
    return;
  }
  impl_->closing = true;
  impl_->engine->remove_source(impl_->unposted.get());
  while (!impl_->open.empty()) impl_->end(impl_->open.begin()->second, cancelled());
}

void ScriptedClient::enqueue(ScriptedReply reply) {
  if (impl_->engine->refuses_thread("ScriptedClient::enqueue")) return;
  check(reply).raise();
  impl_->queue.push_back(std::move(reply));
}

void ScriptedClient::chat(ChatRequest request, StopToken stop, ChatSink sink) {
  const auto impl = impl_;  // the responder may destroy this client
  if (impl->engine->refuses_thread("ScriptedClient::chat"))
    return sink.finish(
        ChatOutcome::failed(ChatError::from(detail::loop::wrong_thread("ScriptedClient::chat"))));
  if (stop.stop_requested() || impl->closing || impl->engine->closed()) return sink.finish(cancelled());
  const auto call = std::make_shared<Impl::Call>(*impl, impl->started + 1, std::move(sink));
  auto registration = impl->active->add({request.agent_id, request.tree}, call);
  if (!registration)
    return call->sink.finish(ChatOutcome::failed(detail::llm::ActiveCalls::in_progress("client")));
  ++impl->started;
  call->registration = std::move(*registration);
  try {
    impl->start(request, std::move(stop), call);
  } catch (const std::bad_alloc&) {  // as in step_or_fail()
    if (impl->find(call->id) == nullptr) return call->sink.finish(ChatOutcome::failed(no_memory()));
    impl->end(call, ChatOutcome::failed(no_memory()));
  }
}

bool ScriptedClient::abort(std::string_view agent_id) {
  return impl_->active->abort(agent_id);
}

bool ScriptedClient::has_active_request(std::string_view agent_id) const {
  return impl_->active->contains(agent_id);
}

std::size_t ScriptedClient::calls() const noexcept {
  if (impl_->engine->refuses_thread("ScriptedClient::calls")) return 0;
  return impl_->started;
}
std::size_t ScriptedClient::open_calls() const noexcept {
  if (impl_->engine->refuses_thread("ScriptedClient::open_calls")) return 0;
  return impl_->open.size();
}

}  // namespace agentcore::testing
