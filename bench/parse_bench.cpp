// parse: a stream of chunks, from bytes as they arrive to the pieces of text in them.
//
//   parse_bench [events]
//
// Besides this library's reader and parser it runs, in turn: the limit, a `memchr` for the events' ends and
// simdjson on-demand on each (no SSE rules, no checks); and the usual way, a byte-wise line reader and a DOM
// by nlohmann/json. In the last variant a chunk has not the shape of the one before, so that simdjson reads
// it.
#include "harness.hpp"
#include "llm/dialects/openai_chat_reader.hpp"
#include "llm/http/sse_reader.hpp"
#include "stream_text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <simdjson.h>

namespace {

using namespace agentcore;

struct Input {
  std::size_t text_bytes = 0;
  std::string bytes;
  std::vector<std::string_view> pieces;
};

// The stream in pieces of `size` bytes; 0: one event each.
std::vector<std::string_view> cut(std::string_view bytes, std::size_t size) {
  std::vector<std::string_view> pieces;
  while (!bytes.empty()) {
    const std::size_t length = std::min(bytes.size(), size ? size : bytes.find("\n\n") + 2);
    pieces.push_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return pieces;
}

// The same events, with spaces whose number differs from one event to the next.
std::string of_different_shapes(std::string_view bytes) {
  std::string text;
  std::size_t spaces = 0;
  for (const std::string_view event : cut(bytes, 0)) {
    const std::size_t at = std::min(event.find("\"index\""), event.size());
    text.append(event.substr(0, at)).append(spaces++ % 32, ' ').append(event.substr(at));
  }
  return text;
}

class Ours final : detail::llm::SseReader::Listener {
 public:
  std::size_t read(const Input& input) {
    detail::llm::SseReader reader(1 << 20);
    text_bytes_ = 0;
    for (const std::string_view piece : input.pieces) reader.feed(piece, *this);
    return text_bytes_;
  }

 private:
  bool on_event(std::string_view data, std::size_t readable_behind) override {
    if (data == detail::llm::done_mark) return false;
    detail::llm::AnswerObject object;
    if (!parser_.parse_chunk(data, readable_behind, object)) std::abort();
    text_bytes_ += object.content.size();
    return true;
  }

  detail::llm::OpenAiChatReader parser_;
  std::size_t text_bytes_ = 0;
};

// Pieces are whole events, so nothing has to be joined.
class Limit {
 public:
  std::size_t read(const Input& input) {
    std::size_t text_bytes = 0;
    for (const std::string_view piece : input.pieces) {
      const auto* end = static_cast<const char*>(std::memchr(piece.data(), '\n', piece.size()));
      const std::string_view data(piece.data() + 6, static_cast<std::size_t>(end - piece.data()) - 6);
      if (data == detail::llm::done_mark) break;
      auto document = parser_.iterate(data.data(), data.size(), data.size() + simdjson::SIMDJSON_PADDING);
      std::string_view text;
      if (document["choices"].at(0)["delta"]["content"].get(text)) std::abort();
      text_bytes += text.size();
    }
    return text_bytes;
  }

 private:
  simdjson::ondemand::parser parser_;
};

class Usual {
 public:
  std::size_t read(const Input& input) {
    text_bytes_ = 0;
    for (const std::string_view piece : input.pieces)
      for (const char c : piece) take(c);
    return text_bytes_;
  }

 private:
  void take(char c) {
    if (c == '\r') return;
    if (c != '\n') return line_.push_back(c);
    if (line_.empty() && !data_.empty()) dispatch();
    if (line_.starts_with("data: ")) data_ += line_.substr(6);
    line_.clear();
  }
  void dispatch() {
    if (data_ != "[DONE]") {
      const auto json = nlohmann::json::parse(data_);
      text_bytes_ += json["choices"][0]["delta"]["content"].get<std::string>().size();
    }
    data_.clear();
  }

  std::string line_;
  std::string data_;
  std::size_t text_bytes_ = 0;
};

// Gigabytes of stream per second.
template <typename Reader>
double rate(Reader& reader, const Input& input) {
  const std::uint64_t begin = bench::cpu();
  if (reader.read(input) != input.text_bytes) std::abort();
  return static_cast<double>(input.bytes.size()) / static_cast<double>(bench::cpu() - begin);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t events = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 50'000;
  constexpr std::string_view different_shapes = "16 KB at a time, different shapes";
  constexpr std::array<std::pair<std::size_t, const char*>, 4> feeds{{{0, "one event at a time"},
                                                                      {1448, "1448 bytes at a time"},
                                                                      {16384, "16 KB at a time"},
                                                                      {16384, different_shapes.data()}}};
  Input input;
  input.bytes = bench::stream_text(events, input.text_bytes);
  Ours ours;
  Limit limit;
  Usual usual;
  for (const auto& [size, variant] : feeds) {
    if (variant == different_shapes) input.bytes = of_different_shapes(input.bytes);
    input.bytes.reserve(input.bytes.size() + simdjson::SIMDJSON_PADDING);
    input.pieces = cut(input.bytes, size);
    rate(ours, input);  // warm-up
    bench::report("parse", variant, bench::median_of(5, [&] { return rate(ours, input); }), "GB/s");
    bench::report_peer("parse", variant, rate(usual, input), "GB/s", "byte-wise + nlohmann DOM");
    input.pieces = cut(input.bytes, 0);  // the limit requires it
    bench::report_peer("parse", variant, bench::median_of(5, [&] { return rate(limit, input); }), "GB/s",
                       "limit: memchr + simdjson");
  }
}
