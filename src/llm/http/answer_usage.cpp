#include "llm/http/answer_usage.hpp"

#include "context/token_count.hpp"

#include <algorithm>

namespace agentcore::detail::llm {

AnswerUsage::AnswerUsage(const PriceTable& prices, const ChatRequest& request)
    : table_(prices),
      prices_(find_prices(prices, request.model)),
      prompt_estimate_(context::request_tokens(request)) {
}

void AnswerUsage::take(const AnswerObject& object) {
  if (!object.usage && !object.cost) return;
  if (!reported_) reported_ = std::make_unique<Reported>();
  if (object.usage) reported_->counts.merge(*object.usage);
  if (object.cost) reported_->cost = object.cost;
}

// A provider sends its counts at the end of an answer. If the answer began but did not end, the rest is
// estimated.
void AnswerUsage::write(ChatOutcome& outcome, int status, bool request_sent, std::string_view model) const {
  Usage& usage = outcome.usage = reported_ ? reported_->counts.usage() : Usage();
  const bool answered = status >= 200 && status <= 299;
  const bool completed = outcome.kind == ChatOutcome::Kind::completed;
  // The counts are complete for a completed answer, and for a call that was refused or never sent.
  usage.complete = completed ? usage.total_tokens != 0 : !answered && (status != 0 || !request_sent);
  // When the time was up, the provider may have been working; how much reached it before the connection broke
  // is unknown.
  const bool was_processed = answered || (!usage.complete && outcome.error.code != Errc::network_error);
  if (was_processed && !completed) {
    if (usage.prompt_tokens == 0) usage.prompt_tokens = prompt_estimate_;
    usage.completion_tokens = std::max(usage.completion_tokens, meter_.tokens());
    usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
  }
  outcome.cost = cost(usage, model);
}

// Computed from the table, unless the provider reported it.
std::optional<double> AnswerUsage::cost(const Usage& usage, std::string_view model) const {
  if (reported_ && reported_->cost) return reported_->cost;
  if (usage.total_tokens == 0) return std::nullopt;
  const Prices* const own = find_prices(table_, model);
  const Prices* const prices = own != nullptr ? own : prices_;
  return prices != nullptr ? std::optional(cost_of(usage, *prices)) : std::nullopt;
}

}  // namespace agentcore::detail::llm
