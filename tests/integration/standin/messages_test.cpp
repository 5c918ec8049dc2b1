// The Messages API of the stand-in.
#include "raw_client.hpp"
#include "standin/server_thread.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using nlohmann::json;

namespace {

constexpr std::string_view version = "anthropic-version: 2023-06-01\r\n";

standin::Options caching(std::uint64_t tokens = 3) {
  standin::Options options;
  options.pace = {.tokens = tokens, .rate = 0, .first_token_ms = 0};
  options.prompt_cache = true;
  return options;
}

json text_block(const std::string& text, bool marked = false) {
  json block = {{"type", "text"}, {"text", text}};
  if (marked) block["cache_control"] = {{"type", "ephemeral"}};
  return block;
}

json message(const std::string& role, json content) {
  return {{"role", role}, {"content", std::move(content)}};
}

json body_of(json messages, const json& more = json::object()) {
  json body = {{"model", "m"}, {"max_tokens", 100}, {"stream", true}, {"messages", std::move(messages)}};
  body.update(more);
  return body;
}

RawAnswer post(RawClient& client, const json& body, std::string_view headers = version) {
  REQUIRE(client.send(request("POST", "/v1/messages", headers, body.dump())));
  return client.read_answer();
}

// The events of a stream, each checked for the name that its data has, too.
std::vector<json> read_events(std::string_view body) {
  std::vector<json> events;
  while (!body.empty()) {
    const std::size_t data = body.find("\ndata: "), end = body.find("\n\n");
    REQUIRE(body.starts_with("event: "));
    REQUIRE(end != std::string_view::npos);
    events.push_back(json::parse(body.substr(data + 7, end - data - 7)));
    CHECK(events.back()["type"] == body.substr(7, data - 7));
    body.remove_prefix(end + 2);
  }
  return events;
}

std::string types_of(const std::vector<json>& events) {
  std::string types;
  for (const json& event : events) types += (types.empty() ? "" : " ") + event["type"].get<std::string>();
  return types;
}

json usage_of(RawClient& client, const json& body) {
  const RawAnswer answer = post(client, body);
  REQUIRE(answer.status == 200);
  return read_events(answer.body).at(0)["message"]["usage"];
}

std::string refusal(RawClient& client, const json& body) {
  const RawAnswer answer = post(client, body);
  CHECK(answer.status == 400);
  const json refused = json::parse(answer.body);
  CHECK(refused["type"] == "error");
  CHECK(refused["error"]["type"] == "invalid_request_error");
  return refused["error"]["message"];
}

const std::string long_text(40, 'x');

}  // namespace

TEST_CASE("stand-in: an answer of the Messages API is a message with and without a stream",
          "[standin][anthropic]") {
  standin::ServerThread server(caching());
  RawClient client(server->port());
  const json question = json::array({message("user", "Hi")});
  const RawAnswer answer = post(client, body_of(question));
  CHECK(answer.complete);
  const std::vector<json> events = read_events(answer.body);
  CHECK(types_of(events) ==
        "message_start content_block_start content_block_delta content_block_delta content_block_delta "
        "content_block_stop message_delta message_stop");
  CHECK(events[2]["delta"] == json{{"type", "text_delta"}, {"text", "You"}});
  CHECK(events[6]["delta"]["stop_reason"] == "end_turn");
  CHECK(events[6]["usage"]["output_tokens"] == 3);

  const json whole = json::parse(post(client, body_of(question, {{"stream", false}})).body);
  CHECK(whole["content"] == json::array({text_block("You said: \"Hi\".")}));
  CHECK(whole["stop_reason"] == "end_turn");
  CHECK(whole["usage"] == events[6]["usage"]);
  const json cut = json::parse(post(client, body_of(question, {{"stream", false}, {"max_tokens", 2}})).body);
  CHECK(cut["stop_reason"] == "max_tokens");
}

TEST_CASE("stand-in: the Messages API dictates text and calls in blocks of their own",
          "[standin][anthropic][tools]") {
  standin::ServerThread server(caching());
  RawClient client(server->port());
  const bool with_text = GENERATE(true, false);
  const json more = {{"tools", json::array({{{"name", "add"}, {"input_schema", json::object()}}})}};
  const json question = message("user", std::string(with_text ? "/say One moment.\n" : "") +
                                            "/call add {\"a\":1}\n/call add\n/then\n/say Done.");
  const std::vector<json> events = read_events(post(client, body_of(json::array({question}), more)).body);
  const std::string calls =
      "content_block_start content_block_delta content_block_stop content_block_start content_block_delta "
      "content_block_stop message_delta message_stop";
  const std::string text = "content_block_start content_block_delta content_block_delta content_block_stop ";
  CHECK(types_of(events) == "message_start " + (with_text ? text : "") + calls);
  const json& first = events[with_text ? 5 : 1];
  CHECK(first["index"] == (with_text ? 1 : 0));
  CHECK(first["content_block"]["id"] == "toolu_1_1");
  CHECK(events.at(events.size() - 2)["delta"]["stop_reason"] == "tool_use");

  const json whole = json::parse(
      post(client, body_of(json::array({question}), {{"tools", more["tools"]}, {"stream", false}})).body);
  CHECK(whole["content"].size() == (with_text ? 3 : 2));
  CHECK(whole["content"].back()["input"] == json::object());
  CHECK(whole["stop_reason"] == "tool_use");
  // A user message that has only results does not begin a new script.
  const json result = {{"type", "tool_result"}, {"tool_use_id", "toolu_1_1"}};
  const json next = {question, message("assistant", whole["content"]),
                     message("user", json::array({result}))};
  const json done = json::parse(post(client, body_of(next, {{"stream", false}})).body);
  CHECK(done["content"] == json::array({text_block("Done.")}));
}

TEST_CASE("stand-in: the Messages API refuses what Anthropic refuses", "[standin][anthropic]") {
  standin::ServerThread server(caching());
  RawClient client(server->port());
  const json question = json::array({message("user", "Hi")});
  CHECK(refusal(client, {{"messages", question}}).starts_with("max_tokens"));
  CHECK(refusal(client, body_of(json::array({message("system", "Hi")}))).find("role") != std::string::npos);
  for (const json& content : {json(""), json(" \n"), json::array(), json(), json::array({"x"}),
                              json::array({text_block("x"), text_block("")})})
    CHECK(refusal(client, body_of(json::array({message("user", content)}))).starts_with("messages.0: "));
  CHECK(refusal(client, body_of(question, {{"system", json::array({text_block("")})}}))
            .starts_with("system: "));

  const json marked = text_block("x", true);
  json tool = {{"name", "add"}, {"cache_control", {{"type", "ephemeral"}}}};
  const json more = {{"system", json::array({marked})}, {"tools", json::array({tool})}};
  const auto asked = [&](std::size_t marks) {
    return body_of(json::array({message("user", std::vector<json>(marks, marked))}), more);
  };
  CHECK(post(client, asked(2)).status == 200);
  CHECK(refusal(client, asked(3)) == "A maximum of 4 blocks with cache_control may be provided. Found 5.");

  CHECK(post(client, body_of(question), "").status == 400);  // the version is missing
  CHECK(post(client, body_of(question, {{"tools", {1, "x"}}})).status == 200);
  CHECK(json::parse(post(client, body_of(question), std::string(version) + "x-standin-fault: error-429\r\n")
                        .body)["error"]["type"] == "rate_limit_error");
}

TEST_CASE("stand-in: the Messages API requires its key in x-api-key", "[standin][anthropic]") {
  standin::Options options = caching();
  options.api_key = "sesame";
  standin::ServerThread server(options);
  RawClient client(server->port());
  const json body = body_of(json::array({message("user", "Hi")}));
  const RawAnswer refused = post(client, body, std::string(version) + "authorization: Bearer sesame\r\n");
  CHECK(refused.status == 401);
  CHECK(json::parse(refused.body)["error"]["type"] == "authentication_error");
  CHECK(post(client, body, std::string(version) + "x-api-key: sesame\r\n").status == 200);
}

TEST_CASE("stand-in: the Messages API caches prompts up to their marks", "[standin][anthropic]") {
  standin::ServerThread server(caching());
  RawClient client(server->port());
  const json system = {{"system", json::array({text_block(long_text, true)})}};
  const auto usage = [&](std::vector<json> blocks) {
    return usage_of(client, body_of(json::array({message("user", std::move(blocks))}), system));
  };
  const json first = usage({text_block("a", true), text_block("not marked")});
  const std::uint64_t written = first["cache_creation_input_tokens"];
  CHECK(written > 0);
  CHECK(first["cache_read_input_tokens"] == 0);
  CHECK(first["input_tokens"] > 0);

  const json second = usage({text_block("a"), text_block("other"), text_block("b", true)});
  CHECK(second["cache_read_input_tokens"] == written);  // found before the mark
  CHECK(second["cache_creation_input_tokens"] > 0);
  CHECK(second["input_tokens"] == 0);

  const json third = usage({text_block("z"), text_block("other"), text_block("b", true)});
  CHECK(third["cache_read_input_tokens"] == ("system" + text_block(long_text).dump()).size() / 4);
  CHECK(usage({text_block("a"), text_block("not marked")})["cache_creation_input_tokens"] == 0);
}

TEST_CASE("stand-in: the Messages API finds an earlier mark up to twenty blocks back",
          "[standin][anthropic]") {
  const std::size_t blocks = GENERATE(20U, 21U);  // from the earlier mark to the new one, with both
  standin::ServerThread server(caching());
  RawClient client(server->port());
  const auto usage = [&](std::size_t count) {
    std::vector<json> list(count, text_block(long_text));
    list.back() = text_block(long_text, true);
    return usage_of(client, body_of(json::array({message("user", std::move(list))})));
  };
  const std::uint64_t written = usage(1)["cache_creation_input_tokens"];
  CHECK(usage(blocks)["cache_read_input_tokens"] == (blocks == 20 ? written : 0));
}
