#include "sim/http_models.hpp"

#include "loop/engine.hpp"
#include "support/observe/host_code.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <stdexcept>
#include <utility>

namespace agentcore::sim {
namespace {

constexpr std::uint32_t router_kinds = 20;
constexpr const char* agent_header = "x-sim-agent";

const Provider& provider(std::uint32_t n) {
  const std::span<const Provider> all = providers();
  return all[n % all.size()];
}

std::string path_of(std::string_view url) {
  const auto host = url.find("://");
  if (host != url.npos) url.remove_prefix(host + 3);
  return std::string(url.substr(std::min(url.find('/'), url.size())));
}

// A failed allocation in the JSON of a request ends the process (docs/design/architecture.md). So the part of
// a call that has such values counts as code of the host: until the key is asked for, and, in the dialect of
// OpenAI, until the transfer begins.
class SweptClient final : public LlmClient {
 public:
  SweptClient(Runtime& runtime, HttpLlmOptions options, bool has_json)
      : client_(runtime, ending_json(std::move(options), has_json)) {}

  void chat(ChatRequest request, StopToken stop, ChatSink sink) override {
    const test::HostCode host;
    client_.chat(std::move(request), std::move(stop), std::move(sink));
  }
  bool abort(std::string_view agent) override { return client_.abort(agent); }
  bool has_active_request(std::string_view agent) const override { return client_.has_active_request(agent); }

 private:
  static HttpLlmOptions ending_json(HttpLlmOptions options, bool has_json) {
    options.api_key_source = [key = std::move(options.api_key_source), has_json] {
      std::string value = key();
      test::runs_host_code = has_json;
      return value;
    };
    return options;
  }

  HttpLlmClient client_;
};

}  // namespace

std::uint32_t model_choices() {
  return 1 + static_cast<std::uint32_t>(providers().size()) + router_kinds;
}

std::uint32_t first_router() {
  return 1 + static_cast<std::uint32_t>(providers().size());
}

HttpModels::HttpModels(Runtime& runtime, const Clock& clock, const Setup& setup, Host host)
    : runtime_(runtime), clock_(clock), host_(std::move(host)), connects_at_once_(setup[Knob::real] != 0) {
  static const auto library = detail::net::Transport::library();  // initialized once, and not in each run
  detail::loop::Engine& engine = *detail::loop::engine_of(runtime);
  if (is_real(setup)) wire_ = WireTransport::install(engine);
  if (wire_) {
    transport_ = wire_;
  } else {
    const auto simulated = SimTransport::install(engine);
    simulated->fails = host_.fails;
    transport_ = simulated;
  }
  transport_->on_start = [this](SimTransfer& transfer) { host_.on_begun(agent_of(transfer)); };
  transport_->on_launch = [this](SimTransfer& transfer) { on_launch(transfer); };
  transport_->on_end = [this](const SimTransfer& transfer, const detail::net::HttpEnd& end) {
    if (!transfer.launched) return;
    const ModelServer& server = servers_.at(transfer.id);
    const bool is_whole = std::ranges::none_of(
        transfer.inbox, [](const Arrival& arrival) { return arrival.what == Arrival::What::bytes; });
    // A client that refuses a piece, or has no memory for it, reads no more of it.
    const bool was_refused = end.code == Errc::invalid_response || end.code == Errc::callback_failed;
    const bool arrived = server.has_billed() && is_whole && !was_refused && !transfer.handle->is_stopped();
    host_.on_end({transfer.id, end, server.has_counted() ? server.usage() : Usage(), arrived});
    servers_.erase(transfer.id);
  };
  const std::uint32_t choice = setup[Knob::models] - 1, rows = static_cast<std::uint32_t>(providers().size());
  if (choice < rows) {
    add_client(provider(choice));
    return;
  }
  const std::uint32_t kind = choice - rows;
  for (std::uint32_t i = 0; i <= kind % 3; ++i) add_client(provider(kind * 7 + i * 5));
  add_routers(runtime, setup, kind);
}

HttpModels::~HttpModels() {
  transport_->on_start = nullptr;
  transport_->on_launch = nullptr;
  transport_->on_end = nullptr;
}

void HttpModels::add_client(const Provider& row) {
  HttpLlmOptions options = provider_options(row.name).value();
  if (options.base_url.empty()) options.base_url = "https://simulated.invalid/v1";
  options.api_key_env.clear();
  options.api_key_source = [this, name = std::string(row.name)] {
    host_.on_key();
    const test::HostCode host;
    return "a-key-for-" + name;
  };
  options.model = "simulated";
  options.agent_header = agent_header;
  options.headers.push_back("x-sim-row: " + std::to_string(rows_.size()));
  rows_.push_back(&row);
  clients_.push_back(
      std::make_unique<SweptClient>(runtime_, std::move(options), row.dialect == Dialect::openai_chat));
}

void HttpModels::add_routers(Runtime& runtime, const Setup& setup, std::uint32_t kind) {
  RouterOptions options;
  for (const auto& client : clients_)
    options.routes.push_back({.client = client.get(), .endpoint = kind % 5 == 4 ? "shared" : ""});
  options.retry.max_attempts = 1 + kind / 3 % 3;
  if (kind % 4 == 3) options.retry.timeout = std::chrono::minutes(2);
  options.breaker.failures = 1 + kind % 3;
  switch (setup[Knob::call_limits] % 5) {
    case 1:
      options.limits.total = 1;
      break;
    case 2:
      options.limits.per_endpoint = 1;
      options.limits.max_waiting = 2;
      break;
    case 3:
      options.limits.per_agent = 1;
      options.limits.total = 2;
      break;
    case 4:
      options.limits.requests_per_minute = 3;
      options.limits.tokens_per_minute = 20'000;
      break;
    default:
      break;
  }
  options.on_retry = [this](const RetryNotice& notice) { host_.on_retry(notice); };
  if (kind % 2 == 1) {
    options.call_slots = std::make_shared<CallSlots>(runtime, options.limits);
    routers_.push_back(std::make_unique<LlmRouter>(runtime, options));
  }
  routers_.push_back(std::make_unique<LlmRouter>(runtime, std::move(options)));
}

LlmClient& HttpModels::client(std::uint32_t n) noexcept {
  if (!routers_.empty()) return *routers_[n % routers_.size()];
  return *clients_.front();
}

std::size_t HttpModels::open_calls() const noexcept {
  std::size_t open = 0;
  for (const auto& router : routers_) open += router->open_calls();
  return open;
}

std::string HttpModels::agent_of(const SimTransfer& transfer) {
  return transfer.header(agent_header);
}

void HttpModels::on_launch(SimTransfer& transfer) {
  const Provider& row = *rows_.at(std::stoul(transfer.header("x-sim-row")));
  servers_.emplace(transfer.id, ModelServer(row, transfer, clock_.wall_time()));
  host_.on_sent({transfer.id, agent_of(transfer), std::string(row.name), path_of(transfer.request.url),
                 transfer.request.body});
  if (connects_at_once_) flow(transfer, 3);
}

SimTransfer* HttpModels::exchange(std::uint32_t n) const {
  std::vector<SimTransfer*> all;
  for (const auto& [id, transfer] : transport_->transfers())
    if (transfer->launched && !transfer->handle->is_cut()) all.push_back(transfer.get());
  return all.empty() ? nullptr : all[n % all.size()];
}

void HttpModels::answer_all() {
  for (const auto& [id, transfer] : transport_->transfers()) {
    if (!transfer->launched || transfer->handle->is_cut()) continue;
    ModelServer& said = servers_.at(id);
    said.answer_ends(FinishReason::complete, true);
    said.closes();
    said.flow(*transport_, *transfer, 0);
  }
}

}  // namespace agentcore::sim
