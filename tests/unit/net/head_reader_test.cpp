#include "net/head_reader.hpp"

#include "support/catch.hpp"

using agentcore::net::HeadReader;

TEST_CASE("a head gives status and content type", "[net][O5]") {
  HeadReader head;
  CHECK_FALSE(head.read("HTTP/1.1 200 OK\r\n"));
  CHECK_FALSE(head.read("CONTENT-type:\t Text/Event-Stream ; charset=utf-8\r\n"));
  CHECK_FALSE(head.read("X-Content-Type: a/b\r\n"));
  CHECK(head.read("\r\n"));
  CHECK(head.status() == 200);
  CHECK(head.head().content_type == "text/event-stream");
}

TEST_CASE("interim answers are passed over", "[net]") {
  HeadReader head;
  head.read("HTTP/1.1 103 Early Hints\r\n");
  head.read("Content-Type: a/b\r\n");
  CHECK_FALSE(head.read("\r\n"));
  head.read("HTTP/1.1 429 Too Many Requests\r\n");
  CHECK(head.read("\r\n"));
  CHECK(head.status() == 429);
  CHECK(head.head().content_type.empty());
}

TEST_CASE("lines that are no headers do no harm", "[net]") {
  HeadReader head;
  for (const char* line : {"HTTP/1.1\r\n", "HTTP/1.1 2x0 no\r\n", "HTTP/1.1 20", ":", "content-type",
                           "content-type:", " ", "content-typ: x"})
    CHECK_FALSE(head.read(line));
  CHECK(head.status() == 0);
  CHECK(head.head().content_type.empty());
}
