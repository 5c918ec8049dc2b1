// AnswerUsage: usage and cost of one call, for every kind of ending.
#pragma once

#include "llm/dialects/wire_format.hpp"
#include "llm/http/answer_meter.hpp"
#include "llm/http/prices.hpp"

#include <agentcore/chat.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace agentcore::detail::llm {

class AnswerUsage {
 public:
  // `prices` must outlive this object.
  AnswerUsage(const PriceTable& prices, const ChatRequest& request);

  // Takes the counts and the cost in an object of the answer. Throws std::bad_alloc.
  void take(const AnswerObject& object);
  // A piece of the answer, of any kind.
  void add_received(std::string_view piece) noexcept { meter_.add(piece); }
  std::uint64_t received_bytes() const noexcept { return meter_.bytes(); }

  // Writes usage and cost into `outcome`, as far as they are known. `status`: of the HTTP answer; 0: none
  // came. `model`: the answer's, as the provider names it.
  void write(ChatOutcome& outcome, int status, bool request_sent, std::string_view model) const;

 private:
  struct Reported {
    UsageCounts counts;
    std::optional<double> cost;
  };

  std::optional<double> cost(const Usage& usage, std::string_view model) const;

  const PriceTable& table_;
  const Prices* prices_;  // of the requested model, in table_; null: not in it
  AnswerMeter meter_;
  std::uint64_t prompt_estimate_;
  std::unique_ptr<Reported> reported_;  // null: nothing yet; most providers report at the end
};

}  // namespace agentcore::detail::llm
