#include "sim/model_server.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::sim {
namespace {

using detail::net::HttpEnd;
using detail::net::HttpHead;
using Fields = std::vector<std::pair<std::string, std::string>>;

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(WallTime time) {
  static constexpr std::array<const char*, 7> days = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array<const char*, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  char text[40];
  std::snprintf(text, sizeof text, "%s, %02u %s %04d %02d:%02d:%02d GMT",
                days[std::chrono::weekday(day).c_encoding()], unsigned(date.day()),
                months[unsigned(date.month()) - 1], int(date.year()), int(clock.hours().count()),
                int(clock.minutes().count()), int(clock.seconds().count()));
  return text;
}

struct Refusal {
  int status;
  const char* type;
  const char* code;
  const char* message;
};
constexpr std::array<Refusal, 17> refusals = {{
    {429, "rate_limit_error", "rate_limit_exceeded", "Rate limit reached."},  // retry-after
    {429, "rate_limit_error", "rate_limit_exceeded", "Rate limit reached."},  // retry-after-ms
    {429, "rate_limit_error", "rate_limit_exceeded", "Rate limit reached."},  // a date
    {429, "rate_limit_error", "rate_limit_exceeded", "Rate limit reached."},  // a pause of an hour
    {503, "server_error", "service_unavailable", "The server is overloaded."},
    {529, "overloaded_error", "overloaded", "Overloaded"},
    {500, "server_error", "internal_error", "The server had an error."},
    {408, "timeout", "timeout", "The request took too long."},
    {400, "invalid_request_error", "context_length_exceeded", "The context of the model is too small."},
    {400, "invalid_request_error", "invalid_value", "A member is wrong."},
    {400, "invalid_request_error", "invalid_value", "Invalid `signature` in `thinking` block."},
    {401, "authentication_error", "invalid_api_key", "The key is wrong."},
    {402, "billing_error", "insufficient_credits", "Not enough credits."},
    {429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota."},
    {404, "not_found_error", "model_not_found", "The model does not exist."},
    {502, "", "", ""},                                                    // the page of a gateway
    {200, "server_error", "internal_error", "The server had an error."},  // an error that says 200
}};

Fields hints_of(std::uint32_t kind, WallTime now) {
  switch (kind % refusals.size()) {
    case 0:
      return {{"retry-after", "2"}};
    case 1:
      return {{"retry-after-ms", "1500"}};
    case 2:
      return {{"retry-after", http_date(now + std::chrono::seconds(20))}};
    case 3:
      return {{"retry-after", "3600"}};
    default:
      return {};
  }
}

}  // namespace

ModelServer::ModelServer(const Provider& provider, const SimTransfer& transfer, WallTime now) : now_(now) {
  const auto body = nlohmann::json::parse(transfer.request.body, nullptr, false);
  stream_ = body.is_object() && body.value("stream", false);
  const std::uint64_t id = transfer.id;
  usage_.prompt_tokens = 20 + id % 7;
  usage_.completion_tokens = 10 + id % 5;
  usage_.total_tokens = usage_.prompt_tokens + usage_.completion_tokens;
  AnswerSetting setting{.id = "answer_" + std::to_string(id), .model = "simulated", .stream = stream_};
  setting.signs_calls = provider.name == "gemini";
  if (provider.reasoning && provider.reasoning->field == ReasoningRule::Field::reasoning)
    setting.reasoning_field = "reasoning";
  if (setting.signs_calls) setting.reasoning_field.clear();
  setting.prompt_tokens = usage_.prompt_tokens;
  form_ = AnswerForm::make(provider.dialect, std::move(setting));
  HttpHead head{200, stream_ ? "text/event-stream" : "application/json"};
  if (id % 6 == 5)
    head.fields = {{"x-ratelimit-limit-requests", "20"},
                   {"x-ratelimit-remaining-requests", "2"},
                   {"x-ratelimit-reset-requests", "6s"}};
  head_ = std::move(head);
}

void ModelServer::say(const std::string& bytes) {
  if (!ended_) waiting_ += bytes;
}

void ModelServer::end(HttpEnd how) {
  if (end_) return;
  end_ = std::move(how);
  ended_ = true;
}

void ModelServer::text(const std::string& words) {
  say(form_->text(words));
}

void ModelServer::reasoning(const std::string& words, bool is_signed) {
  say(form_->reasoning(words, is_signed ? "c2lnbmVk" : ""));
}

void ModelServer::calls(const std::vector<ToolCall>& calls) {
  for (const ToolCall& call : calls) say(form_->call(call));
}

void ModelServer::answer_ends(FinishReason reason, bool closes) {
  if (ended_) return;
  say(form_->end(reason, usage_));
  ended_ = billed_ = true;
  if (closes) end({});
}

void ModelServer::refuse(int status, std::string_view type, std::string_view code, std::string_view message) {
  head_ = HttpHead{status, "application/json"};
  waiting_ = form_->refusal(type, code, message);
  if (status == 502) {
    head_->content_type = "text/html";
    waiting_ = "<html><body><h1>502 Bad Gateway</h1></body></html>";
  }
}

void ModelServer::error(std::uint32_t kind) {
  if (ended_) return;
  const Refusal& refusal = refusals[kind % refusals.size()];
  if (has_head_ || !waiting_.empty()) {
    say(form_->error(refusal.type, refusal.message));
  } else {
    refuse(refusal.status, refusal.type, refusal.code, refusal.message);
    head_->fields = hints_of(kind, now_);
  }
  end({});
}

void ModelServer::garbage(std::uint32_t kind) {
  switch (kind % 8) {
    case 0:
      return say(": a comment\n\n");
    case 1:
      return say("data: {\"broken\n\n");
    case 2:
      return say("data: [1, 2]\n\ndata: null\n\n");
    case 3:
      return say(std::string("\xff\xfe\0\x80 no text", 12));
    case 4:
      return say("event: unheard_of\nid: 7\nretry: 10\ndata: {\"type\":\"unheard_of\"}\n\n");
    case 5:
      return say("\r\n\r\r\n");
    case 6:
      return say("data: {}\n\n");
    default:
      return say("HTTP/1.1 200 OK\r\n");
  }
}

void ModelServer::closes() {
  end({});
}

void ModelServer::breaks(std::uint32_t kind) {
  if (end_) return;
  static constexpr std::array<Errc, 3> before = {Errc::resolve_failed, Errc::network_error, Errc::tls_error};
  if (!connects_) return end({Errc::network_error, "the simulated connection broke"});
  if (kind % 4 == 3) {  // after the request was sent
    end({Errc::network_error, "the simulated connection broke"});
    return;
  }
  connects_ = false;
  head_.reset();
  waiting_.clear();
  end({before[kind % before.size()], "there is no simulated connection"});
}

// `how`: 0: all, in one piece; 1: all, in small pieces; 2: half of it, in small pieces; 3: only the
// connection.
void ModelServer::flow(ServedTransport& transport, SimTransfer& transfer, std::uint32_t how) {
  if (std::exchange(connects_, false)) transport.arrive(transfer, {.what = Arrival::What::connection});
  if (how % 4 == 3) return;
  if (head_ && (!waiting_.empty() || end_)) {
    // A server that breaks off before it says anything sends no head.
    const bool says_nothing = waiting_.empty() && end_ && end_->code != Errc::none;
    if (!says_nothing) {
      transport.arrive(transfer, {.what = Arrival::What::head, .head = std::move(*head_)});
      has_head_ = true;
    }
    head_.reset();
  }
  const std::size_t size = how % 4 == 0 ? std::max<std::size_t>(waiting_.size(), 1) : 1 + how / 4 % 40;
  std::size_t left = how % 4 == 2 ? (waiting_.size() + 1) / 2 : waiting_.size();
  while (left != 0) {
    const std::size_t count = std::min(size, left);
    transport.arrive(transfer, {.what = Arrival::What::bytes, .bytes = waiting_.substr(0, count)});
    waiting_.erase(0, count);
    left -= count;
  }
  if (end_ && waiting_.empty() && end_->code != Errc::cancelled) {
    transport.arrive(transfer, {.what = Arrival::What::end, .end = *end_});
    end_->code = Errc::cancelled;  // it has flowed
  }
}

}  // namespace agentcore::sim
