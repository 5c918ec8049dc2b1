// Any bytes that a client sends to a console: requests in any split, and the arguments in their bodies.
#include "console/http/request_reader.hpp"
#include "console/routes/access.hpp"
#include "console/routes/arguments.hpp"
#include "console/routes/refused.hpp"
#include "fuzz.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

using namespace agentcore::detail::console;
using agentcore::fuzz::expect;

namespace {

// What the routes read of a request.
void use(const Request& request) {
  Access access("secret", {"agents.example.org"});
  access.set_address("127.0.0.1", 8700);
  static_cast<void>(access.refuse_origin(request));
  expect(!access.is_logged_in(request, {}) || request.header("authorization") != nullptr);
  try {
    const Arguments arguments(request, {"text", "when", "cascade"});
    static_cast<void>(arguments.text_or("text", ""));
    static_cast<void>(arguments.flag_or("cascade", true));
    static_cast<void>(arguments.one_of<int>("when", {{"now", 0}, {"after_step", 1}}));
    static_cast<void>(number_in_query(request, "limit", 1, 1000));
  } catch (const Refused& refused) {
    expect(refused.status >= 400 && refused.status < 500);
  }
}

}  // namespace

// The first byte says in which pieces the rest arrives.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr RequestLimits limits{.max_header_bytes = 2048, .max_body_bytes = 4096};
  RequestReader reader(limits);
  const std::size_t piece = data[0] == 0 ? size : data[0];
  std::string in;
  for (std::size_t at = 1; at < size; at += piece) {
    in.append(reinterpret_cast<const char*>(data) + at, std::min(piece, size - at));
    RequestReader::State state = reader.read(in);
    while (state == RequestReader::State::complete || state == RequestReader::State::head_complete ||
           state == RequestReader::State::send_continue) {
      if (state == RequestReader::State::complete) use(reader.take());
      if (state == RequestReader::State::head_complete) use(reader.head());
      state = reader.read(in);
    }
    if (state == RequestReader::State::failed) {
      expect(reader.status() >= 400 && reader.status() < 500);
      return 0;
    }
    expect(in.size() <= limits.max_header_bytes + piece);
  }
  return 0;
}
