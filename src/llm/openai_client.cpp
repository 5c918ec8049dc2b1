#include "llm/active_requests.hpp"
#include "llm/openai_call.hpp"
#include "llm/openai_config.hpp"
#include "llm/openai_dialect.hpp"
#include "net/cut.hpp"
#include "net/transport.hpp"

#include <agentcore/openai_client.hpp>
#include <agentcore/runtime.hpp>

#include <utility>

// The seams, for what comes later. Dialects: openai_dialect.hpp is all that knows the wire format. Retries
// and limits: they stand between chat() and start(), with the call registered and stoppable already.
namespace agentcore {
namespace {

class HttpCall final : public llm::OpenCall {
 public:
  HttpCall(std::string agent_id, std::weak_ptr<llm::ActiveRequests> requests, std::shared_ptr<net::Cut> cut)
      : OpenCall(std::move(agent_id), std::move(requests)), cut_(std::move(cut)) {}
  void cut() noexcept override { cut_->cut(); }
  const std::shared_ptr<net::Cut>& wire() const noexcept { return cut_; }

 private:
  const std::shared_ptr<net::Cut> cut_;
};

}  // namespace

struct OpenAiClient::Impl {
  Impl(std::shared_ptr<loop::Engine> engine, const OpenAiOptions& options)
      : error(llm::check_options(options)),
        model(options.model),
        http(error ? net::HttpRequest{} : llm::request_template(options)),
        requests(std::make_shared<llm::ActiveRequests>()),
        shared(std::make_shared<llm::OpenAiShared>(std::move(engine), llm::redactor_for(options),
                                                   options.max_line_bytes, options.max_response_bytes)) {}

  void start(const ChatRequest& request, std::shared_ptr<HttpCall> open, StopToken stop, ChatSink sink);

  const std::optional<Error> error;  // of the options
  const std::string model;
  const net::HttpRequest http;
  const std::shared_ptr<llm::ActiveRequests> requests;
  const std::shared_ptr<llm::OpenAiShared> shared;
  bool closing = false;
};

void OpenAiClient::Impl::start(const ChatRequest& request, std::shared_ptr<HttpCall> open, StopToken stop,
                               ChatSink sink) {
  net::HttpRequest http_request = http;
  http_request.headers.emplace_back(request.stream ? "Accept: text/event-stream, application/json"
                                                   : "Accept: application/json");
  http_request.body = llm::openai_request_body(request, model);
  const std::shared_ptr<net::Cut> wire = open->wire();
  auto call = std::make_unique<llm::OpenAiCall>(shared, std::move(open), request.stream, std::move(stop),
                                                std::move(sink));
  net::Transport::of(*shared->engine)->start(std::move(http_request), wire, std::move(call));
}

OpenAiClient::OpenAiClient(Runtime& runtime, OpenAiOptions options)
    : impl_(std::make_unique<Impl>(runtime.engine(), options)) {
}

OpenAiClient::~OpenAiClient() {
  impl_->closing = true;
  while (!impl_->shared->open.empty()) impl_->shared->open.back()->cancel();
}

void OpenAiClient::chat(ChatRequest request, StopToken stop, ChatSink sink) {
  Impl& impl = *impl_;
  if (impl.error) return sink.finish(ChatOutcome::failed(*impl.error));
  if (auto error = llm::check_request(request, impl.model))
    return sink.finish(ChatOutcome::failed(std::move(*error)));
  auto& engine = *impl.shared->engine;
  if (stop.stop_requested() || engine.closed() || impl.closing) return sink.finish(ChatOutcome::cancelled());
  auto open = std::make_shared<HttpCall>(request.agent_id, impl.requests, net::Cut::make(engine));
  if (!impl.requests->add(open))
    return sink.finish(ChatOutcome::failed(
        {Errc::request_in_progress,
         "this agent has a model call open in this client; abort it or wait for its end"}));
  impl.start(request, std::move(open), std::move(stop), std::move(sink));
}

bool OpenAiClient::abort(std::string_view agent_id) {
  return impl_->requests->abort(agent_id);
}

bool OpenAiClient::has_active_request(std::string_view agent_id) const {
  return impl_->requests->contains(agent_id);
}

std::size_t OpenAiClient::open_calls() const noexcept {
  return impl_->shared->open.size();
}

}  // namespace agentcore
