// What the stand-in reports of the prompts that it was sent before.
#include "standin/prompt_cache.hpp"

#include "raw_client.hpp"
#include "standin/server_thread.hpp"
#include "support/catch.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using nlohmann::json;
using standin::PromptCache;
using standin::PromptParts;
using standin::PromptTokens;

namespace {

standin::Options caching() {
  standin::Options options;
  options.pace = {.tokens = 3, .rate = 0, .first_token_ms = 0};
  options.prompt_cache = true;
  return options;
}

// The usage of the answer to these messages, with and without a stream.
json usage_of(RawClient& client, const json& messages, const json& more = json::object()) {
  json body = {{"stream", true}, {"stream_options", {{"include_usage", true}}}, {"messages", messages}};
  body.update(more);
  REQUIRE(client.send(request("POST", "/v1/chat/completions", {}, body.dump())));
  const RawAnswer answer = client.read_answer();
  REQUIRE(answer.status == 200);
  if (!body["stream"].get<bool>()) return json::parse(answer.body)["usage"];
  const auto events = events_of(answer.body);
  return json::parse(events.at(events.size() - 2))["usage"];
}

std::uint64_t cached(const json& usage) {
  return usage.at("prompt_tokens_details").at("cached_tokens").get<std::uint64_t>();
}

json message(const std::string& role, const std::string& text) {
  return {{"role", role}, {"content", text}};
}

bool same(const PromptTokens& tokens, std::uint64_t total, std::uint64_t read, std::uint64_t written) {
  return tokens.total == total && tokens.read == read && tokens.written == written;
}

const std::string text(400, 'x');

}  // namespace

TEST_CASE("stand-in: the messages that an earlier request began with are reported as cached", "[standin]") {
  standin::ServerThread server(caching());
  RawClient client(server->port());
  const json first = {message("system", "Be brief."), message("user", text)};
  const json usage = usage_of(client, first);
  CHECK(cached(usage) == 0);
  CHECK(usage["prompt_tokens"] == (first[0].dump().size() + first[1].dump().size()) / 4);

  json second = first;
  second.push_back(message("assistant", "A"));
  const std::uint64_t all_of_first = usage["prompt_tokens"];
  RawClient other(server->port());
  CHECK(cached(usage_of(other, second)) == all_of_first);  // whatever the connection
  CHECK(cached(usage_of(client, second, {{"stream", false}})) > all_of_first);

  json changed = second;
  changed[1]["content"] = text + "!";
  CHECK(cached(usage_of(client, changed)) == first[0].dump().size() / 4);
  changed[0]["content"] = "Be long.";
  CHECK(cached(usage_of(client, changed)) == 0);
}

TEST_CASE("stand-in: other tools or another cache key share nothing with earlier requests", "[standin]") {
  standin::ServerThread server(caching());
  RawClient client(server->port());
  const json messages = json::array({message("user", text)});
  const json tools = {{"tools", {{{"type", "function"}, {"function", {{"name", "add"}}}}}}};
  CHECK(cached(usage_of(client, messages)) == 0);
  CHECK(cached(usage_of(client, messages, tools)) == 0);
  CHECK(cached(usage_of(client, messages, tools)) > 0);
  CHECK(cached(usage_of(client, messages, {{"prompt_cache_key", "k"}})) == 0);
  CHECK(cached(usage_of(client, messages, {{"prompt_cache_key", "k"}})) > 0);
}

TEST_CASE("stand-in: without the option nothing is said about a cache", "[standin]") {
  standin::Options options = caching();
  options.prompt_cache = false;
  standin::ServerThread server(options);
  RawClient client(server->port());
  for (int i = 0; i < 2; ++i) {
    const json usage = usage_of(client, json::array({message("user", "two words")}));
    CHECK_FALSE(usage.contains("prompt_tokens_details"));
    CHECK(usage["prompt_tokens"] == 2);
  }
}

TEST_CASE("stand-in: only the ends of a prompt are kept and looked up", "[standin]") {
  const std::string part(8, 'x');  // two tokens
  PromptCache cache;
  CHECK(same(cache.use({"", {part, part, part}, {1}}), 6, 0, 2));
  CHECK(same(cache.use({"", {part, part, part}, {2}}), 6, 0, 4));     // one part less is not looked up
  CHECK(same(cache.use({"", {part, part, part}, {3}, 2}), 6, 4, 2));  // and here it is
  CHECK(same(cache.use({"", {part, part, part, part}, {1, 3}, 2}), 8, 6, 0));
  CHECK(same(cache.use({"", {part + part, part}, {1}}), 6, 0, 4));  // the same bytes in other parts
  CHECK(same(cache.use({"", {}, {}}), 0, 0, 0));
}
