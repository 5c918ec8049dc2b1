// The reader of lines of a file of receipts: what it accepts is exactly what is written, and what it refuses
// has a reason.
#include "receipts/receipt_line.hpp"

#include "fuzz.hpp"

#include <string>

using namespace agentcore;
using fuzz::expect;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line = fuzz::text_of(data, size);
  std::string problem;
  const auto receipt = detail::receipts::receipt_of(line, problem);
  expect(receipt.has_value() == problem.empty());
  if (receipt) expect(detail::receipts::line_of(*receipt) == line);
  return 0;
}
