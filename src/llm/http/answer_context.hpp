// AnswerContext: the state that the answers to one client's calls share.
#pragma once

#include "llm/dialects/own_reasoning.hpp"
#include "llm/dialects/wire_format.hpp"
#include "llm/http/call_errors.hpp"
#include "llm/http/prices.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace agentcore::detail::llm {

struct AnswerContext {
  AnswerContext(const WireFormat& wire, Redactor redact, std::size_t max_line, std::size_t max_response,
                std::string place)
      : format(wire),
        reader(wire.make_reader()),
        errors(std::move(redact), std::move(place)),
        max_line_bytes(max_line),
        max_response_bytes(max_response) {}

  const WireFormat& format;
  std::unique_ptr<AnswerReader> reader;  // replaced after a call that made it large
  const CallErrors errors;
  const std::size_t max_line_bytes;
  const std::size_t max_response_bytes;
  std::string server;  // see ReasoningBlock
  ReasoningRule reasoning = rule_of(format.dialect());
  PriceTable prices;
};

}  // namespace agentcore::detail::llm
