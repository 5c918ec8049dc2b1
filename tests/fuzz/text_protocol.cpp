// The text protocol: any answer is parsed without an exception, and the parsed calls are rendered and parsed
// again without a change.
#include "tools/text_protocol.hpp"

#include "core/utf8.hpp"
#include "fuzz.hpp"

using namespace agentcore;
using fuzz::expect;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const detail::tools::ParsedAnswer parsed = detail::tools::parse_tool_text(fuzz::text_of(data, size), 1);
  expect(parsed.calls.empty() || parsed.parse_error.empty());
  expect(parsed.calls.size() <= detail::tools::max_calls_per_answer);
  expect(detail::core::is_utf8(parsed.parse_error));
  for (const detail::tools::ActionCall& call : parsed.calls)
    expect(!call.window_id.empty() && !call.action_id.empty());
  if (parsed.calls.empty()) return 0;
  const std::string rendered = detail::tools::render_tool_text(parsed.calls);
  expect(detail::tools::parse_tool_text(rendered, 1).calls == parsed.calls);
  expect(detail::tools::parse_tool_text("words " + rendered + "<tool_call>", 1).calls == parsed.calls);
  return 0;
}
