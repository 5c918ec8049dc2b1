#include "net/head_reader.hpp"

#include "support/catch.hpp"

using agentcore::detail::net::HeadReader;

TEST_CASE("a response head is read into status and content type", "[net][O5]") {
  HeadReader head;
  CHECK_FALSE(head.read("HTTP/1.1 200 OK\r\n"));
  CHECK_FALSE(head.read("CONTENT-type:\t Text/Event-Stream ; charset=utf-8\r\n"));
  CHECK_FALSE(head.read("X-Content-Type: a/b\r\n"));
  CHECK(head.read("\r\n"));
  CHECK(head.status() == 200);
  CHECK(head.head().content_type == "text/event-stream");
}

TEST_CASE("fields that say whether and when to try again are kept", "[net][X19]") {
  HeadReader head;
  head.read("HTTP/1.1 429 Too Many Requests\r\n");
  head.read("X-Should-Retry: false\r\n");
  head.read("Retry-After-Ms: 12.5\r\n");
  head.read("x-ms-retry-after-ms: 7\r\n");
  head.read("X-Other: 1\r\n");
  CHECK(head.head().field("x-should-retry") == "false");
  CHECK(head.head().field("retry-after-ms") == "12.5");
  CHECK(head.head().field("x-ms-retry-after-ms") == "7");
  CHECK(head.head().fields.size() == 3);
}

TEST_CASE("interim responses are skipped", "[net]") {
  HeadReader head;
  head.read("HTTP/1.1 103 Early Hints\r\n");
  head.read("Content-Type: a/b\r\n");
  CHECK_FALSE(head.read("\r\n"));
  head.read("HTTP/1.1 429 Too Many Requests\r\n");
  CHECK(head.read("\r\n"));
  CHECK(head.status() == 429);
  CHECK(head.head().content_type.empty());
}

TEST_CASE("a Content-Length that overflows is an error and any other is ignored", "[net][O5]") {
  for (const char* line :
       {"Content-Length: 0\r\n", "content-length: 9223372036854775807\r\n", "Content-Length: x\r\n",
        "Content-Length:\r\n", "X-Content-Length: 99999999999999999999\r\n"}) {
    HeadReader head;
    head.read("HTTP/1.1 200 OK\r\n");
    head.read(line);
    CHECK(head.read("\r\n"));
    CHECK_FALSE(head.has_absurd_length());
  }
  HeadReader head;
  head.read("HTTP/1.1 200 OK\r\n");
  head.read("CONTENT-length:  9223372036854775808 \r\n");
  head.read("Content-Length: 5\r\n");
  CHECK(head.read("\r\n"));
  CHECK(head.has_absurd_length());
  head.read("HTTP/1.1 200 OK\r\n");
  CHECK_FALSE(head.has_absurd_length());
}

TEST_CASE("lines that are not headers are ignored", "[net]") {
  HeadReader head;
  for (const char* line : {"HTTP/1.1\r\n", "HTTP/1.1 2x0 no\r\n", "HTTP/1.1 20", ":", "content-type",
                           "content-type:", " ", "content-typ: x"})
    CHECK_FALSE(head.read(line));
  CHECK(head.status() == 0);
  CHECK(head.head().content_type.empty());
}
