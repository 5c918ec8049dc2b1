#include "core/home_process.hpp"
#include "core/text_hash.hpp"
#include "core/utf8.hpp"
#include "core/wipe.hpp"
#include "llm/active_calls.hpp"
#include "llm/dialects/anthropic_thinking.hpp"
#include "llm/dialects/last_check.hpp"
#include "llm/dialects/own_reasoning.hpp"
#include "llm/dialects/tool_names.hpp"
#include "llm/dialects/wire_format.hpp"
#include "llm/http/config.hpp"
#include "llm/http/http_call.hpp"
#include "llm/http/key_source.hpp"
#include "llm/http/recording_handler.hpp"
#include "llm/http/replay_transport.hpp"
#include "loop/engine.hpp"
#include "net/call_handle.hpp"
#include "net/location.hpp"
#include "net/transport.hpp"

#include <agentcore/http_llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace agentcore {

namespace {

constexpr std::size_t max_logged = 1000;  // notices that a client remembers

// A chunk of a stream is up to some hundred times as long as its text.
constexpr std::size_t most_received(std::size_t kept) noexcept {
  constexpr std::size_t most = 256;
  return kept > SIZE_MAX / most ? SIZE_MAX : kept * most;
}

}  // namespace

struct HttpLlmClient::Impl {
  Impl(std::shared_ptr<detail::loop::Engine> engine, HttpLlmOptions& options);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // True when no call may begin any more.
  bool is_over(const StopToken& stop) const noexcept {
    return stop.stop_requested() || shared->engine->closed() || closing;
  }
  std::optional<ChatError> refusal(const ChatRequest& request) const;
  std::vector<detail::llm::SentName> check(ChatRequest& request);
  std::shared_ptr<detail::net::Transport> transport() const;
  detail::net::HttpRequest http_request(const ChatRequest& request, const detail::llm::CallKey& key) const;
  std::unique_ptr<detail::net::HttpHandler> recorded(std::unique_ptr<detail::net::HttpHandler> call,
                                                     const detail::net::HttpRequest& request) const;
  // `earlier`: the attempt that this one follows. At no moment is the call not registered.
  static void chat(const std::shared_ptr<Impl>& impl, ChatRequest request, StopToken stop, ChatSink sink,
                   std::optional<detail::llm::HttpAttempt> earlier = {});
  static std::optional<detail::llm::Registration> add(Impl& impl, const ChatRequest& request,
                                                      const std::shared_ptr<detail::net::CallHandle>& handle,
                                                      std::optional<detail::llm::HttpAttempt>& earlier);
  bool is_new(std::string_view what, const ChatRequest& request);
  void keep_own_reasoning(ChatRequest& request, const detail::llm::Binding& binding);
  void tell_of_thinking(const ChatRequest& request);
  void start(const ChatRequest& request, const detail::llm::CallKey& key, detail::llm::HttpCallParts parts,
             StopToken stop, ChatSink sink);

  const std::optional<Error> error;  // of the options
  const std::string model;
  const std::string agent_header;
  const detail::llm::BodyDefaults defaults;
  const detail::llm::Redactor redact;
  detail::llm::KeySource keys;
  detail::net::HttpRequest http;
  const std::shared_ptr<detail::llm::ActiveCalls> active;
  const std::shared_ptr<detail::llm::HttpShared> shared;
  const std::shared_ptr<const HttpRecorder> recorder;
  const bool replays;
  const std::shared_ptr<const void> library;                 // initialized now, and not in a turn of an agent
  const std::weak_ptr<detail::llm::ReplayTransport> replay;  // the engine owns it
  std::shared_ptr<const void> transport_hold;                // Transport::hold(), from the first call on
  std::unordered_set<std::uint64_t> logged;                  // see is_new()
  bool closing = false;
};

HttpLlmClient::Impl::Impl(std::shared_ptr<detail::loop::Engine> engine, HttpLlmOptions& options)
    : error(detail::llm::check_options(options)),
      model(options.model),
      agent_header(options.agent_header),
      defaults(detail::llm::body_defaults(options)),
      redact(detail::llm::redactor_for(options)),
      keys(options, redact),
      http(error ? detail::net::HttpRequest{} : detail::llm::request_template(options)),
      active(std::make_shared<detail::llm::ActiveCalls>()),
      shared(std::make_shared<detail::llm::HttpShared>(
          std::move(engine), detail::llm::wire_format(options.dialect), redact, options.max_line_bytes,
          options.max_response_bytes, detail::net::location_of(http.url))),
      recorder(options.recorder.shared()),
      replays(static_cast<bool>(options.replay)),
      library(replays ? nullptr : detail::net::Transport::library()),
      replay(replays ? detail::llm::ReplayTransport::make(*shared->engine, options.replay.shared())
                     : std::weak_ptr<detail::llm::ReplayTransport>()) {
  shared->server = detail::llm::server_of(options.base_url);
  if (defaults.reasoning) shared->reasoning = *defaults.reasoning;
  shared->prices = std::move(options.prices);
  for (std::string& header : options.headers) detail::core::wipe(header);  // some hold credentials
}

HttpLlmClient::Impl::~Impl() {
  for (std::string& header : http.headers) detail::core::wipe(header);
  if (const auto transport = replay.lock()) shared->engine->remove_source(transport.get());
}

std::optional<ChatError> HttpLlmClient::Impl::refusal(const ChatRequest& request) const {
  if (error) return ChatError::from(*error);
  if (auto problem = detail::llm::check_request(request, model)) return ChatError::from(std::move(*problem));
  if (auto problem = detail::llm::check_parts(request, shared->format.dialect(), defaults.takes_images)) {
    ChatError refused = ChatError::from(std::move(*problem));
    refused.model_specific = true;  // another route may have a server or a dialect that takes it
    return refused;
  }
  if (request.deadline && *request.deadline <= shared->engine->now())
    return ChatError{Errc::deadline_exceeded,
                     "ChatRequest::deadline passed before the call began; set a later one"};
  return std::nullopt;
}

// True the first time for the agent of the request; always for an anonymous call.
bool HttpLlmClient::Impl::is_new(std::string_view what, const ChatRequest& request) {
  if (request.agent_id.empty()) return true;
  if (logged.size() >= max_logged) logged.clear();
  const std::string notice =
      std::string(what).append(1, ' ').append(std::to_string(request.tree)).append(1, ' ') + request.agent_id;
  return logged.insert(detail::core::text_hash(notice)).second;
}

// Changes what the server would refuse, and logs that once for each agent. The log sink may do anything.
// Returns the names under which tools are sent.
std::vector<detail::llm::SentName> HttpLlmClient::Impl::check(ChatRequest& request) {
  detail::llm::Repairs repairs = detail::llm::last_check(request, shared->format.dialect(), defaults);
  if (repairs.any() && is_new("changes", request)) {
    const std::string agent = detail::core::valid_utf8(request.agent_id);
    shared->engine->log(LogLevel::warning,
                        "what the server would refuse was changed in a request, and not in the history",
                        {{"agent", agent}, {"changes", repairs.text()}});
  }
  return std::move(repairs.tools);
}

std::shared_ptr<detail::net::Transport> HttpLlmClient::Impl::transport() const {
  if (replays) return replay.lock();
  return detail::net::Transport::of(*shared->engine);
}

detail::net::HttpRequest HttpLlmClient::Impl::http_request(const ChatRequest& request,
                                                           const detail::llm::CallKey& key) const {
  detail::net::HttpRequest wanted = http;
  wanted.headers.reserve(wanted.headers.size() + 3);
  wanted.headers.emplace_back(request.stream ? "Accept: text/event-stream, application/json"
                                             : "Accept: application/json");
  if (!agent_header.empty() && !request.agent_id.empty())
    wanted.headers.push_back(agent_header + ": " + detail::llm::header_value(request.agent_id));
  if (!key.header.empty()) wanted.headers.emplace_back(key.header.view());
  wanted.compressed = !request.stream;
  wanted.deadline = request.deadline.value_or(TimePoint::max());
  wanted.body = shared->format.body(request, defaults);
  // What is kept of an answer is limited in the call. A stream is many times as long.
  wanted.max_response_bytes = most_received(wanted.max_response_bytes);
  return wanted;
}

std::unique_ptr<detail::net::HttpHandler> HttpLlmClient::Impl::recorded(
    std::unique_ptr<detail::net::HttpHandler> call, const detail::net::HttpRequest& request) const {
  if (!recorder) return call;
  return std::make_unique<detail::llm::RecordingHandler>(
      shared->engine, recorder, redact, detail::llm::begin_exchange(request, redact), std::move(call));
}

void HttpLlmClient::Impl::start(const ChatRequest& request, const detail::llm::CallKey& key,
                                detail::llm::HttpCallParts parts, StopToken stop, ChatSink sink) {
  detail::net::HttpRequest wanted = http_request(request, key);
  const std::shared_ptr<detail::net::CallHandle> handle = parts.handle;
  auto call = std::make_unique<detail::llm::HttpCall>(shared, std::move(parts), request, std::move(stop),
                                                      std::move(sink));
  auto handler = recorded(std::move(call), wanted);
  transport()->start(std::move(wanted), handle, std::move(handler));
}

HttpLlmClient::HttpLlmClient(Runtime& runtime, HttpLlmOptions options)
    : impl_(std::make_shared<Impl>(detail::loop::engine_of(runtime), options)) {
}

HttpLlmClient::~HttpLlmClient() {
  if (impl_->shared->engine->in_forked_child()) {
    detail::core::keep_for_ever(std::move(impl_));
    return;
  }
  impl_->closing = true;
  while (!impl_->shared->open.empty()) impl_->shared->open.back()->cancel();
}

void HttpLlmClient::chat(ChatRequest request, StopToken stop, ChatSink sink) {
  if (impl_->shared->engine->refuses_thread("HttpLlmClient::chat"))
    return sink.finish(
        ChatOutcome::failed(ChatError::from(detail::loop::wrong_thread("HttpLlmClient::chat"))));
  const std::shared_ptr<Impl> impl = impl_;  // the function that returns the key may destroy this client
  Impl::chat(impl, std::move(request), std::move(stop), std::move(sink));
}

// Leaves the reasoning of others out of the request, and logs that once for each agent. The log sink may do
// anything.
void HttpLlmClient::Impl::keep_own_reasoning(ChatRequest& request, const detail::llm::Binding& binding) {
  const std::size_t others = detail::llm::keep_own_reasoning(request, shared->format.dialect(),
                                                             shared->reasoning, shared->server, binding);
  if (others == 0 || !is_new("reasoning", request)) return;
  const std::string agent = detail::core::valid_utf8(request.agent_id), blocks = std::to_string(others);
  shared->engine->log(LogLevel::info, "reasoning of earlier answers is not sent: another made it",
                      {{"agent", agent}, {"server", shared->server}, {"blocks", blocks}});
}

// Logs once for each agent that the thinking, or what goes with it, is not as the host wants it. The log sink
// may do anything.
void HttpLlmClient::Impl::tell_of_thinking(const ChatRequest& request) {
  if (shared->format.dialect() != Dialect::anthropic_messages) return;
  const std::string_view change = detail::llm::thinking_changes(request, defaults).text();
  if (change.empty() || !is_new(change, request)) return;
  shared->engine->log(LogLevel::info, change, {{"agent", detail::core::valid_utf8(request.agent_id)}});
}

// Empty: the agent has another call open. A registration without an open call: it was stopped meanwhile.
std::optional<detail::llm::Registration> HttpLlmClient::Impl::add(
    Impl& impl, const ChatRequest& request, const std::shared_ptr<detail::net::CallHandle>& handle,
    std::optional<detail::llm::HttpAttempt>& earlier) {
  if (!earlier) return impl.active->add({request.agent_id, request.tree}, handle);
  detail::llm::Registration registration = std::move(earlier->registration);
  registration.move_to(handle);
  if (!earlier->handle->finish()) handle->stop();  // before the entry had moved
  return registration;
}

void HttpLlmClient::Impl::chat(const std::shared_ptr<Impl>& impl, ChatRequest request, StopToken stop,
                               ChatSink sink, std::optional<detail::llm::HttpAttempt> earlier) {
  const auto is_over = [&] { return impl->is_over(stop) || (earlier && earlier->handle->is_stopped()); };
  const auto end = [&](ChatOutcome outcome) {
    earlier.reset();  // at the outcome, no call of the agent is open
    sink.finish(std::move(outcome));
  };
  if (auto problem = impl->refusal(request)) return end(ChatOutcome::failed(std::move(*problem)));
  if (is_over()) return end(ChatOutcome::cancelled(Usage{}));
  std::vector<detail::llm::SentName> names = impl->check(request);
  if (earlier) names = std::move(earlier->names);  // this request is that of the attempt before
  if (is_over()) return end(ChatOutcome::cancelled(Usage{}));
  const Result<detail::llm::CallKey> key = impl->keys.key_of_call(*impl->shared->engine);
  if (is_over()) return end(ChatOutcome::cancelled(Usage{}));
  if (!key) return end(ChatOutcome::failed(ChatError::from(key.error())));
  if (request.model.empty()) request.model = impl->model;
  detail::llm::Binding binding =
      detail::llm::binding_of(request, impl->shared->reasoning, key->header.view());
  impl->keep_own_reasoning(request, binding);
  if (is_over()) return end(ChatOutcome::cancelled(Usage{}));
  impl->tell_of_thinking(request);
  if (is_over()) return end(ChatOutcome::cancelled(Usage{}));
  const auto transport = impl->transport();
  if (!impl->transport_hold) impl->transport_hold = transport->hold();
  auto handle = transport->make_handle();
  auto registration = add(*impl, request, handle, earlier);
  if (!registration) return end(ChatOutcome::failed(detail::llm::ActiveCalls::in_progress("client")));
  if (handle->is_stopped()) {
    registration.reset();
    return end(ChatOutcome::cancelled(Usage{}));
  }
  detail::llm::HttpCallParts parts{std::move(handle), std::move(*registration), key->hidden};
  parts.binding = std::move(binding);
  parts.pause = request.pause;
  parts.names = std::move(names);
  if (detail::llm::has_reasoning(request)) {
    ChatRequest plain = request;
    detail::llm::remove_reasoning(plain);
    parts.again = [impl = std::weak_ptr(impl), plain = std::move(plain), stop](
                      detail::llm::HttpAttempt attempt, ChatSink rest) mutable {
      if (const auto client = impl.lock())
        return chat(client, std::move(plain), std::move(stop), std::move(rest), std::move(attempt));
      attempt.registration.reset();
      rest.finish(ChatOutcome::cancelled(Usage{}));
    };
  }
  impl->start(request, *key, std::move(parts), std::move(stop), std::move(sink));
}

bool HttpLlmClient::abort(std::string_view agent_id) {
  return impl_->active->abort(agent_id);
}

bool HttpLlmClient::has_active_request(std::string_view agent_id) const {
  return impl_->active->contains(agent_id);
}

std::size_t HttpLlmClient::open_calls() const noexcept {
  if (impl_->shared->engine->refuses_thread("HttpLlmClient::open_calls")) return 0;
  return impl_->shared->open.size();
}

}  // namespace agentcore
