// Secrets are found in every form in which a server may write them down.
#include "llm/http/redactor.hpp"

#include "llm/http/base64.hpp"
#include "support/catch.hpp"

#include <array>

using namespace agentcore::detail::llm;

TEST_CASE("a secret is replaced by its name", "[llm][secrets]") {
  Redactor redact;
  CHECK(redact("abc") == "abc");
  redact.hide("sk-12345", "api key");
  redact.hide("sk-1234567", "secret");
  CHECK(redact("bad key sk-12345, sk-1234567!") == "bad key [api key], [secret]!");
  const Redactor copy = redact;
  redact.hide("one later", "secret");
  CHECK(copy("sk-12345 one later") == "[api key] [secret]");
}

TEST_CASE("a dummy key is not hidden", "[llm][secrets]") {
  Redactor redact;
  const std::string body = R"({"tool_choice":"none","n":1,"text":"EMPTY bm9uZQ== sk-1234"})";
  for (const char* dummy : {"", "1", "none", "EMPTY", "ollama", "sk-1234"}) {
    redact.hide(dummy, "api key");
    CHECK(redact.hide_while(dummy, "api key") == nullptr);
    CHECK(redact(body) == body);
  }
  redact.hide("sk-12345", "api key");
  CHECK(redact("sk-1234 sk-12345") == "sk-1234 [api key]");
}

TEST_CASE("an escaped secret is hidden", "[llm][secrets]") {
  Redactor redact;
  redact.hide("a\"b\\c/d&e<f>'\xC3\xBC", "k");
  CHECK(redact(R"([a\"b\\c/d&e<f>'ü])") == "[[k]]");                    // JSON
  CHECK(redact(R"(a\"b\\c\/d&e<f>'ü)") == "[k]");                       // of PHP
  CHECK(redact(R"(a\"b\\c/d\u0026e\u003cf\u003e'ü)") == "[k]");         // of Go
  CHECK(redact(R"(a\"b\\c/d\u0026e\u003cf\u003e\u0027ü)") == "[k]");    // and with apostrophes
  CHECK(redact("a&quot;b\\c/d&amp;e&lt;f&gt;&#39;\xC3\xBC") == "[k]");  // HTML
  CHECK(redact("?x=a%22b%5Cc%2Fd%26e%3Cf%3E%27%C3%BC&") == "?x=[k]&");  // a URL
  CHECK(redact("?x=a%22b%5cc%2fd%26e%3cf%3e%27%c3%bc&") == "?x=[k]&");
}

TEST_CASE("a secret within base64 is hidden at any offset", "[llm][secrets]") {
  const std::string secret = "sk-\xFF\xFE-secret?>";
  Redactor redact;
  redact.hide(secret, "k");
  for (std::size_t before = 0; before < 6; ++before) {
    const std::string clear = std::string(before, 'u') + secret + ":x";
    std::string digits = to_base64(clear);
    const std::string clean = redact(digits);
    INFO(digits << " " << clean);
    CHECK(clean.find("[k]") != std::string::npos);
    CHECK(clean.size() < before + 16);
    for (char& c : digits) c = c == '+' ? '-' : c == '/' ? '_' : c;
    CHECK(redact(digits).find("[k]") != std::string::npos);
  }
}

TEST_CASE("a secret is hidden for as long as it is kept", "[llm][secrets]") {
  Redactor redact;
  auto kept = redact.hide_while("sk-first", "k");
  auto again = redact.hide_while("sk-first", "k");
  CHECK(kept == again);
  kept.reset();
  CHECK(redact("sk-first") == "[k]");
  again.reset();
  CHECK(redact("sk-first") == "sk-first");
  const auto other = redact.hide_while("sk-second", "k");
  CHECK(redact("sk-first sk-second") == "sk-first [k]");
}

TEST_CASE("split positions follow the redacted text and never fall into a secret", "[llm][secrets]") {
  Redactor redact;
  redact.hide("a-secret", "k");
  std::array<std::size_t, 6> cuts{0, 2, 5, 10, 11, 14};
  CHECK(redact("a a-secret bcd", cuts) == "a [k] bcd");
  CHECK(cuts == std::array<std::size_t, 6>{0, 2, 5, 5, 6, 9});
}
