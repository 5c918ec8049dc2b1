// Where a key comes from, how it is sent, and how long it is kept.
#include "llm/http/key_source.hpp"

#include "loop/engine.hpp"
#include "support/catch.hpp"

#include <agentcore/runtime.hpp>

#include <cstdlib>
#include <stdexcept>

using namespace agentcore;
using namespace agentcore::detail::llm;

namespace {

struct KeyFixture {
  KeyFixture() {
    RuntimeOptions quiet;
    quiet.log = [this](const LogRecord& record) {
      log += record.message;
      for (const auto& field : record.fields) log.append(field.value);
    };
    runtime = std::make_unique<Runtime>(quiet);
  }
  // The header of a call.
  std::string line() {
    KeySource source(options, redact);
    auto key = source.key_of_call(*detail::loop::engine_of(*runtime));
    if (!key) return key.error().message;
    hidden = key->hidden;
    return std::string(key->header.view());
  }

  HttpLlmOptions options;
  Redactor redact;
  std::shared_ptr<const void> hidden;
  std::string log;
  std::unique_ptr<Runtime> runtime;
};

}  // namespace

TEST_CASE("the key is sent if there is one", "[llm][secrets][O7]") {
  KeyFixture f;
  CHECK(f.line().empty());
  f.options.api_key = "sk-secret-123";
  CHECK(f.line() == "Authorization: Bearer sk-secret-123");
  CHECK(f.options.api_key.empty());
  f.options.api_key = "sk-secret-123";
  f.options.auth_header = "x-api-key";
  f.options.auth_prefix = "";
  CHECK(f.line() == "x-api-key: sk-secret-123");
  CHECK(f.redact("bad key sk-secret-123!") == "bad key [api key]!");
}

TEST_CASE("a key is read from the environment", "[llm][secrets]") {
  KeyFixture f;
  ::setenv("AGENTCORE_TEST_KEY", "sk-environment", 1);
  f.options.api_key_env = "AGENTCORE_TEST_KEY";
  CHECK(f.line() == "Authorization: Bearer sk-environment");
  CHECK(f.redact("sk-environment") == "[api key]");
  ::unsetenv("AGENTCORE_TEST_KEY");
}

TEST_CASE("a key from a callback is redacted as long as its call", "[llm][secrets]") {
  KeyFixture f;
  f.options.api_key_source = [] { return std::string("sk-of-now"); };
  CHECK(f.line() == "Authorization: Bearer sk-of-now");
  CHECK(f.redact("sk-of-now") == "[api key]");
  f.hidden.reset();
  CHECK(f.redact("sk-of-now") == "sk-of-now");
}

TEST_CASE("a source without a key fails the call and shows nothing", "[llm][secrets][G16]") {
  KeyFixture f;
  f.options.api_key_source = []() -> std::string { throw std::runtime_error("vault has sk-leak"); };
  CHECK(f.line().find("api_key_source threw an exception") != std::string::npos);
  CHECK(f.log.find("sk-leak") == std::string::npos);
  f.options.api_key_source = [] { return std::string(); };
  CHECK(f.line().find("an empty key") != std::string::npos);
  f.options.api_key_source = [] { return std::string("sk-leak\n"); };
  const std::string refusal = f.line();
  CHECK(refusal.find("control character") != std::string::npos);
  CHECK(refusal.find("sk-leak") == std::string::npos);
}
