// The event stream format, cut anywhere.
#include "llm/http/sse_reader.hpp"

#include "support/catch.hpp"
#include "support/prop.hpp"

#include <vector>

using agentcore::detail::llm::SseReader;
using Events = std::vector<std::string>;
using Status = SseReader::Status;

namespace {

struct Listener final : SseReader::Listener {
  Events events;
  std::size_t at_most = 1000000;
  bool on_event(std::string_view data, std::size_t) override {
    events.emplace_back(data);
    return events.size() < at_most;
  }
};

// Each piece is a block of the heap of its own, so that a read outside it is noticed.
Status feed(SseReader& reader, std::string_view bytes, Listener& listener) {
  const std::vector<char> piece(bytes.begin(), bytes.end());
  return reader.feed({piece.data(), piece.size()}, listener);
}

Events read(std::string_view stream, std::size_t piece = 1000000, bool to_the_end = false) {
  SseReader reader(1 << 20);
  Listener listener;
  for (; !stream.empty(); stream.remove_prefix(std::min(piece, stream.size())))
    CHECK(feed(reader, stream.substr(0, piece), listener) == Status::more);
  if (to_the_end) CHECK(reader.finish(listener) == Status::more);
  return listener.events;
}

// Also of what stands behind the last blank line, the same in pieces of any size.
Events read_all(std::string_view stream) {
  const Events whole = read(stream, 1000000, true);
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    INFO("pieces of " << size);
    CHECK(read(stream, size, true) == whole);
  }
  return whole;
}

const std::string sample_stream =
    "\xEF\xBB\xBF: a comment\n\ndata: one\n\nevent: x\r\ndata:two\r\ndata: more\r\nid: 7\r\n\r\ndata:  "
    "three\rretry: "
    "1\r\rdata\n\ndatum: no\n\n:data: no\ndata: last\n\ndata: dropped";
const Events sample_events{"one", "two\nmore", " three", "", "last"};

}  // namespace

TEST_CASE("events end at a blank line with any line ends", "[llm]") {
  CHECK(read("data: a\n\ndata: b\n\n") == Events{"a", "b"});
  CHECK(read("data: a\r\n\r\ndata: b\r\n\r\n") == Events{"a", "b"});
  CHECK(read("data: a\r\rdata: b\r\r") == Events{"a", "b"});
  CHECK(read("data: a\n\r\ndata: b\r\n\n") == Events{"a", "b"});
}

TEST_CASE("data lines of one event are joined", "[llm]") {
  CHECK(read("data: a\ndata: b\ndata:\ndata: c\n\n") == Events{"a\nb\n\nc"});
  CHECK(read("data: a\nid: 5\n: hm\ndata: b\n\n") == Events{"a\nb"});
}

TEST_CASE("one space after the colon belongs to the format", "[llm]") {
  CHECK(read("data:a\n\ndata: a\n\ndata:  a\n\n") == Events{"a", "a", " a"});
}

TEST_CASE("comments and other fields and blank lines make no event", "[llm]") {
  CHECK(read(": hello\n\n\n\nevent: x\n\nid: 1\n\ndatas: 1\n\n data: 1\n\nDATA: 1\n\n").empty());
}

TEST_CASE("a field without a colon has no value and names match exactly", "[llm]") {
  CHECK(read("data\n\n") == Events{""});
  CHECK(read("data\ndata\n\n") == Events{"\n"});
  CHECK(read("data :a\n\ndata\t:a\n\n\tdata:a\n\ndataset: a\n\ndat\n\n").empty());
  CHECK(read("data::a\n\ndata: :a\n\ndata:\ta\n\n") == Events{":a", ":a", "\ta"});
}

TEST_CASE("a value is unchanged but for one leading space", "[llm]") {
  CHECK(read("data: a \n\ndata: \n\ndata:\n\n") == Events{"a ", "", ""});
  CHECK(read(std::string("data: a\0b\n\n", 11)) == Events{std::string("a\0b", 3)});
  CHECK(read("data: \xC3\xA4\xC2\x85\xE2\x80\xA8z\n\n") == Events{"\xC3\xA4\xC2\x85\xE2\x80\xA8z"});
}

TEST_CASE("id and event and retry fields alone make no event", "[llm]") {
  CHECK(read("id: 1\nevent: add\nretry: 5\n\ndata: a\n\nid\nevent\nretry: x\ndata: b\n\n") ==
        Events{"a", "b"});
}

TEST_CASE("comments are allowed anywhere", "[llm]") {
  CHECK(read(":\n\n:\r\r: keep-alive\ndata: a\n:\ndata: b\n: data: c\n\n:\n") == Events{"a\nb"});
}

TEST_CASE("one blank line ends an event", "[llm]") {
  CHECK(read("data: a\n\n\n\ndata: b\r\n\r\n\r\n\rdata: c\r\r\r") == Events{"a", "b", "c"});
}

TEST_CASE("a field error is read as data for llama.cpp", "[llm]") {
  CHECK(read("error: {\"code\":500}\n\nerror:x\n\n") == Events{"{\"code\":500}", "x"});
  CHECK(read("error\n\nerrors: x\n\nerror : x\n\n").empty());
}

TEST_CASE("an event without its blank line is dropped", "[llm]") {
  CHECK(read("data: a\n\ndata: b").size() == 1);
  CHECK(read("data: a\n\ndata: b\n").size() == 1);
}

TEST_CASE("the event at the end of the stream is read if it is asked for", "[llm]") {
  CHECK(read_all("data: a\n\ndata: b") == Events{"a", "b"});
  CHECK(read_all("data: a\n\ndata: b\ndata: c\n") == Events{"a", "b\nc"});
  CHECK(read_all("data: a\n\nevent: x\nid: 7") == Events{"a"});
  CHECK(read_all("data: a\n\n") == Events{"a"});
  CHECK(read_all("").empty());
}

TEST_CASE("objects in lines of their own are events without blank lines between them", "[llm]") {
  CHECK(read_all("data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n") ==
        Events{"{\"a\":1}", "{\"b\":2}", "[DONE]"});
  CHECK(read_all("event: x\r\ndata:{}\r\nevent: y\r\ndata:{} \r\n: hm\r\ndata:{}") ==
        Events{"{}", "{} ", "{}"});
  CHECK(read_all("data: {}\rdata: {}\r") == Events{"{}", "{}"});
  CHECK(read_all("data: {}\nerror: {\"code\":500}\n") == Events{"{}", "{\"code\":500}"});
  CHECK(read_all("data: {}\ndata: {}\n\ndata: {\"c\":\ndata: 3}\n\ndata: {}\n\n") ==
        Events{"{}", "{}", "{\"c\":\n3}", "{}"});
}

TEST_CASE("from the second on such an event is read when its line ends", "[llm]") {
  const std::string stream = "data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n";
  CHECK(read(stream.substr(0, 27)).empty());  // more of the first one may follow
  CHECK(read(stream.substr(0, 28)).size() == 2);
  CHECK(read(stream).size() == 3);
}

TEST_CASE("an object that has several lines is one event", "[llm]") {
  const std::string object = "{\n\"a\": {\"b\": [{}\n,{}\n]}\n}";
  std::string stream;
  for (const char letter : "\n" + object) {
    if (letter != '\0') stream += letter;
    if (letter == '\n') stream += "data: ";
  }
  CHECK(read_all(stream.substr(1) + "\n\n") == Events{object});
  CHECK(read_all("data: {\"a\":{}\ndata:\ndata: }\n\n") == Events{"{\"a\":{}\n\n}"});
  CHECK(read_all("data: {}\ndata: \n\n") == Events{"{}\n"});
}

TEST_CASE("a listener may end the reading at an event without a blank line", "[llm]") {
  const std::string stream = "data: {}\ndata: {}\ndata: {}\n";
  for (std::size_t most = 1; most <= 3; ++most)
    for (std::size_t size = 1; size <= stream.size(); ++size) {
      SseReader reader(100);
      Listener listener;
      listener.at_most = most;
      Status status = Status::more;
      for (std::size_t at = 0; at < stream.size() && status == Status::more; at += size)
        status = feed(reader, std::string_view(stream).substr(at, size), listener);
      CHECK(status == Status::ended);
      CHECK(listener.events.size() == most);
    }
}

TEST_CASE("a byte order mark at the very beginning is skipped", "[llm]") {
  CHECK(read("\xEF\xBB\xBF"
             "data: a\n\n") == Events{"a"});
  CHECK(read("\xEF\xBB\xBF\xEF\xBB\xBF"
             "data: a\n\n")
            .empty());
  CHECK(read("data: a\n\n\xEF\xBB\xBF"
             "data: b\n\n") == Events{"a"});
  CHECK(read("\xEF\xBB"
             "data: a\n\ndata: b\n\n") == Events{"b"});
}

TEST_CASE("the sample of the standard is read", "[llm]") {
  CHECK(read(sample_stream) == sample_events);
}

TEST_CASE("a stream split in two anywhere gives the same events", "[llm]") {
  for (std::size_t cut = 0; cut <= sample_stream.size(); ++cut) {
    SseReader reader(1 << 20);
    Listener listener;
    feed(reader, std::string_view(sample_stream).substr(0, cut), listener);
    feed(reader, std::string_view(sample_stream).substr(cut), listener);
    if (listener.events != sample_events) FAIL("cut at " << cut);
  }
}

TEST_CASE("pieces of any size give the same events", "[llm]") {
  for (std::size_t size = 1; size <= sample_stream.size(); ++size)
    if (read(sample_stream, size) != sample_events) FAIL("pieces of " << size);
}

TEST_CASE("every prefix of a stream gives a prefix of its events", "[llm]") {
  for (std::size_t size = 0; size <= sample_stream.size(); ++size) {
    const Events events = read(std::string_view(sample_stream).substr(0, size));
    REQUIRE(events.size() <= sample_events.size());
    CHECK(std::equal(events.begin(), events.end(), sample_events.begin()));
  }
}

TEST_CASE("the bytes after an event are readable", "[llm]") {
  struct Sum final : SseReader::Listener {
    unsigned sum = 0;
    std::size_t behind = 0;
    bool on_event(std::string_view data, std::size_t readable_behind) override {
      behind = readable_behind;
      for (std::size_t i = 0; i < data.size() + readable_behind; ++i)
        sum += static_cast<unsigned char>(data.data()[i]);
      return true;
    }
  } sum;
  SseReader reader(100);
  reader.feed("data: a\n\n: twenty characters", sum);
  CHECK(sum.behind == 21);
  reader.feed("\ndata: b\n", sum);
  reader.feed("\n", sum);
  CHECK(sum.behind == 0);  // it had to be copied
}

TEST_CASE("a line that is too long ends the reading", "[llm][G15]") {
  Listener listener;
  SseReader whole(16);
  CHECK(feed(whole, "data: 0123456789\n\n", listener) == Status::more);
  CHECK(feed(whole, "data: 01234567890\n\n", listener) == Status::too_long);
  SseReader pieces(16);
  CHECK(feed(pieces, "data: 01234567", listener) == Status::more);
  CHECK(feed(pieces, "890", listener) == Status::too_long);
  SseReader endless(16);
  CHECK(feed(endless, std::string(17, 'x'), listener) == Status::too_long);
  SseReader many(16);
  CHECK(feed(many, "data: 0123456789\ndata: 012345\n\n", listener) == Status::too_long);
}

TEST_CASE("a listener that ends the reading gets no further event", "[llm]") {
  SseReader reader(100);
  Listener listener;
  listener.at_most = 2;
  CHECK(feed(reader, "data: a\n\ndata: b\n\ndata: c\n\n", listener) == Status::ended);
  CHECK(listener.events == Events{"a", "b"});
}

TEST_CASE("random streams give the same events for random splits", "[llm]") {
  prop("any cuts of any stream give the events of the whole", [] {
    const auto parts = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element<std::string>("data: x", "data:", "data", ":", "event: e", "\n", "\r", "\r\n", "\n\n",
                                      "\r\r", "\xEF\xBB\xBF", "{}", " "));
    std::string stream;
    for (const auto& part : parts) stream += part;
    SseReader reader(1 << 20);
    Listener listener;
    std::string_view rest = stream;
    while (!rest.empty()) {
      const auto size = *rc::gen::inRange<std::size_t>(1, 9);
      feed(reader, rest.substr(0, size), listener);
      rest.remove_prefix(std::min(size, rest.size()));
    }
    RC_ASSERT(listener.events == read(stream));
  });
}
