#include "support/clients/fake_client.hpp"

#include "loop/engine.hpp"
#include "support/observe/host_code.hpp"

#include <agentcore/history.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace agentcore::test {

void FakeClient::Call::OnTrigger::operator()() const {
  const auto stopped = call.lock();
  if (!stopped) return;
  if (client->when_stopped) client->when_stopped();
  if (stopped->on_stop == OnStop::at_once) return finish(*stopped, ChatOutcome::cancelled());
  if (stopped->on_stop == OnStop::deaf || !client->engine_) return;
  const HostCode host;  // a stop callback must not throw
  client->engine_->post([weak = call] {
    if (const auto late = weak.lock()) finish(*late, ChatOutcome::cancelled());
  });
}

FakeClient::FakeClient(Runtime& runtime) : engine_(detail::loop::engine_of(runtime)) {
}

FakeClient::~FakeClient() {
  for (auto& call : calls_) call->callback.reset();
}

void FakeClient::chat(ChatRequest request, StopToken stop, ChatSink sink) {
  std::shared_ptr<Call> call;
  if (spare_.empty()) {
    call = std::make_shared<Call>();
  } else {
    call = std::move(spare_.back());
    spare_.pop_back();
  }
  call->request = std::move(request);
  call->stop = stop;
  call->sink = std::move(sink);
  call->on_stop = on_stop;
  call->number = started_++;
  calls_.push_back(call);
  call->callback.emplace(std::move(stop), Call::OnTrigger{this, call});
  if (on_chat) on_chat(*this, *call);
}

bool FakeClient::abort(std::string_view agent_id) {
  Call* const call = find(agent_id);
  if (!call) return false;
  finish(*call, ChatOutcome::cancelled());
  return true;
}

bool FakeClient::has_active_request(std::string_view agent_id) const {
  const Call* const call = find(agent_id);
  return call && !call->stop.stop_requested();
}

void FakeClient::reserve(std::size_t calls) {
  calls_.reserve(calls_.size() + calls);
  while (spare_.size() < calls) spare_.push_back(std::make_shared<Call>());
}

void FakeClient::forget_ended() {
  forgotten_were_valid_ = histories_were_valid();
  std::erase_if(calls_, [](const auto& call) { return !call->open(); });
}

CheckedPointer<FakeClient::Call*> FakeClient::find(std::string_view agent_id) const {
  for (std::size_t i = calls_.size(); i-- > 0;)
    if (calls_[i]->open() && calls_[i]->request.agent_id == agent_id) return calls_[i].get();
  return {};
}

std::vector<FakeClient::Call*> FakeClient::open_calls() const {
  std::vector<Call*> open;
  for (const auto& call : calls_)
    if (call->open()) open.push_back(call.get());
  return open;
}

FakeClient::Call& FakeClient::call(std::size_t number) const {
  const auto found =
      std::ranges::lower_bound(calls_, number, {}, [](const auto& call) { return call->number; });
  if (found == calls_.end() || (*found)->number != number)
    throw std::out_of_range("the client has no call of that number");
  return **found;
}

bool FakeClient::histories_were_valid() const {
  return forgotten_were_valid_ && std::ranges::all_of(calls_, [](const auto& call) {
           return is_valid_history(call->request.messages);
         });
}

void FakeClient::reason(std::string_view agent_id, std::string_view text) {
  if (Call* const call = find(agent_id)) call->sink.reasoning(text);
}

void FakeClient::delta(std::string_view agent_id, std::string_view text) {
  if (Call* const call = find(agent_id)) call->sink.delta(text);
}

void FakeClient::answer(std::string_view agent_id, std::string_view text) {
  Call* const call = find(agent_id);
  if (!call) return;
  call->sink.delta(text);
  finish(*call, ChatOutcome::completed(FinishReason::complete));
}

void FakeClient::call_tools(std::string_view agent_id, std::vector<ToolCall> calls, std::string_view text) {
  Call* const call = find(agent_id);
  if (!call) return;
  call->sink.delta(text);
  ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls, {10, 5, 15});
  outcome.tool_calls = std::move(calls);
  finish(*call, std::move(outcome));
}

void FakeClient::fail(std::string_view agent_id, Errc code) {
  if (Call* const call = find(agent_id)) finish(*call, ChatOutcome::failed({code, "as the test says"}));
}

void FakeClient::cancel_stopped() {
  for (Call* const call : open_calls())
    if (call->stop.stop_requested()) finish(*call, ChatOutcome::cancelled());
}

void FakeClient::answer_all() {
  for (Call* const call : open_calls()) complete(*call);
}

void FakeClient::finish(Call& call, ChatOutcome outcome) {
  ChatSink sink = std::move(call.sink);  // the receiver may use this client
  call.callback.reset();
  sink.finish(std::move(outcome));
}

}  // namespace agentcore::test
