// The reader of event streams: any bytes give the same events and the same end, however they are cut into
// packets, and none is longer than allowed. No event has two objects in two lines.
#include "llm/http/sse_reader.hpp"

#include "fuzz.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace agentcore;
using detail::llm::SseReader;
using fuzz::expect;

namespace {

constexpr std::size_t max_line_bytes = 200;  // small, so that it is reached

struct Listener final : SseReader::Listener {
  std::vector<std::string> events;
  std::size_t at_most = 0;

  bool on_event(std::string_view data, std::size_t readable_behind) override {
    expect(data.size() <= max_line_bytes);
    unsigned sum = 0;
    for (std::size_t i = 0; i < data.size() + readable_behind; ++i)
      sum += static_cast<unsigned char>(data.data()[i]);
    expect(sum <= 255 * (data.size() + readable_behind));  // reads all bytes that may be read
    expect(data.find("}\n{") == data.npos);
    events.emplace_back(data);
    return events.size() < at_most;
  }
};

struct Read {
  std::vector<std::string> events;
  SseReader::Status status = SseReader::Status::more;

  bool operator==(const Read&) const = default;
};

// In packets of these sizes, repeatedly; each is a heap block of its own.
Read read(std::string_view stream, std::string_view sizes, std::size_t at_most) {
  SseReader reader(max_line_bytes);
  Listener listener;
  listener.at_most = at_most;
  Read result;
  for (std::size_t i = 0; !stream.empty() && result.status == SseReader::Status::more; ++i) {
    const std::size_t size =
        sizes.empty() ? stream.size() : 1 + static_cast<unsigned char>(sizes[i % sizes.size()]) % 64;
    const std::vector<char> packet(
        stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(std::min(size, stream.size())));
    result.status = reader.feed({packet.data(), packet.size()}, listener);
    stream.remove_prefix(packet.size());
  }
  if (result.status == SseReader::Status::more) result.status = reader.finish(listener);
  result.events = std::move(listener.events);
  return result;
}

}  // namespace

// The first byte holds how many events the listener takes and how many bytes of sizes follow; the rest is the
// stream.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = fuzz::text_of(data, size);
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text.front());
  text.remove_prefix(1);
  const std::string_view sizes = text.substr(0, first % 8);
  text.remove_prefix(sizes.size());
  const std::size_t at_most = first >= 128 ? 1 + first % 4 : 1000000;
  const Read whole = read(text, {}, at_most);
  expect(read(text, sizes, at_most) == whole);
  expect(read(text, std::string_view("\0", 1), at_most) == whole);  // byte by byte
  return 0;
}
