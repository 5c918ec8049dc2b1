#include "llm/active_requests.hpp"
#include "llm/dialects/wire_format.hpp"
#include "llm/http/config.hpp"
#include "llm/http/http_call.hpp"
#include "net/cut.hpp"
#include "net/transport.hpp"

#include <agentcore/http_llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <utility>

namespace agentcore {
namespace {

class WireCall final : public llm::OpenCall {
 public:
  WireCall(std::string agent_id, std::weak_ptr<llm::ActiveRequests> requests, std::shared_ptr<net::Cut> cut)
      : OpenCall(std::move(agent_id), std::move(requests)), cut_(std::move(cut)) {}
  void cut() noexcept override { cut_->cut(); }
  const std::shared_ptr<net::Cut>& wire() const noexcept { return cut_; }

 private:
  const std::shared_ptr<net::Cut> cut_;
};

}  // namespace

struct HttpLlmClient::Impl {
  Impl(std::shared_ptr<loop::Engine> engine, const HttpLlmOptions& options)
      : error(llm::check_options(options)),
        model(options.model),
        defaults{options.model, options.max_tokens, options.max_tokens_field, options.extra_body},
        http(error ? net::HttpRequest{} : llm::request_template(options)),
        requests(std::make_shared<llm::ActiveRequests>()),
        shared(std::make_shared<llm::HttpShared>(std::move(engine), llm::wire_format(options.dialect),
                                                 llm::redactor_for(options), options.max_line_bytes,
                                                 options.max_response_bytes)) {}

  void start(const ChatRequest& request, std::shared_ptr<WireCall> open, StopToken stop, ChatSink sink);

  const std::optional<Error> error;  // of the options
  const std::string model;
  const llm::BodyDefaults defaults;
  const net::HttpRequest http;
  const std::shared_ptr<llm::ActiveRequests> requests;
  const std::shared_ptr<llm::HttpShared> shared;
  bool closing = false;
};

void HttpLlmClient::Impl::start(const ChatRequest& request, std::shared_ptr<WireCall> open, StopToken stop,
                                ChatSink sink) {
  net::HttpRequest http_request = http;
  http_request.headers.emplace_back(request.stream ? "Accept: text/event-stream, application/json"
                                                   : "Accept: application/json");
  http_request.body = shared->format.body(request, defaults);
  const std::shared_ptr<net::Cut> wire = open->wire();
  auto call =
      std::make_unique<llm::HttpCall>(shared, std::move(open), request, std::move(stop), std::move(sink));
  net::Transport::of(*shared->engine)->start(std::move(http_request), wire, std::move(call));
}

HttpLlmClient::HttpLlmClient(Runtime& runtime, HttpLlmOptions options)
    : impl_(std::make_unique<Impl>(runtime.engine(), options)) {
}

HttpLlmClient::~HttpLlmClient() {
  impl_->closing = true;
  while (!impl_->shared->open.empty()) impl_->shared->open.back()->cancel();
}

void HttpLlmClient::chat(ChatRequest request, StopToken stop, ChatSink sink) {
  Impl& impl = *impl_;
  if (impl.error) return sink.finish(ChatOutcome::failed(*impl.error));
  if (auto error = llm::check_request(request, impl.model))
    return sink.finish(ChatOutcome::failed(std::move(*error)));
  auto& engine = *impl.shared->engine;
  if (stop.stop_requested() || engine.closed() || impl.closing) return sink.finish(ChatOutcome::cancelled());
  auto open = std::make_shared<WireCall>(request.agent_id, impl.requests, net::Cut::make(engine));
  if (!impl.requests->add(open))
    return sink.finish(ChatOutcome::failed(
        {Errc::request_in_progress,
         "this agent has a model call open in this client; abort it or wait for its end"}));
  impl.start(request, std::move(open), std::move(stop), std::move(sink));
}

bool HttpLlmClient::abort(std::string_view agent_id) {
  return impl_->requests->abort(agent_id);
}

bool HttpLlmClient::has_active_request(std::string_view agent_id) const {
  return impl_->requests->contains(agent_id);
}

std::size_t HttpLlmClient::open_calls() const noexcept {
  return impl_->shared->open.size();
}

}  // namespace agentcore
