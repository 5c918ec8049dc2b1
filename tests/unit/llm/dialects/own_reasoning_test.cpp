// Which reasoning of a history goes back to a server: only what it made itself, as far as it checks that.
#include "llm/dialects/own_reasoning.hpp"

#include "core/keyed_hash.hpp"
#include "llm/dialects/wire_format.hpp"
#include "support/catch.hpp"

#include <agentcore/provider.hpp>

#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::llm;

namespace {

using When = ReasoningRule::When;
using Items = std::vector<MessageItem>;

constexpr const char* server = "api.test";
const ToolCall call{"c1", "look", "{}"};
const std::string signed_thought = R"({"type":"thinking","thinking":"Hm.","signature":"s"})";
const std::string encrypted_thought = R"({"type":"reasoning","id":"r","encrypted_content": "e"})";

// A question, to which an answer with reasoning follows.
struct Talk {
  Dialect dialect = Dialect::anthropic_messages;
  ReasoningRule rule = rule_of(dialect);
  ChatRequest asked = {.model = "m", .messages = {ChatMessage::user("Why?")}, .salt = "salt"};
  std::string key = "Authorization: Bearer k";
  std::string data = signed_thought;

  // The next request of the conversation.
  ChatRequest next() const {
    ReasoningBlock block = block_of(dialect, server, binding_of(asked, rule, key));
    block.data = data;
    ChatRequest request = asked;
    request.messages.push_back(ChatMessage::assistant(Items{block, TextItem{"So."}, call}));
    request.messages.push_back(ChatMessage::tool_result("c1", "seen"));
    return request;
  }
  // How many blocks stay in the request.
  std::size_t stay(ChatRequest request, const char* to = server) const {
    const Binding binding = binding_of(request, rule, key);
    const std::size_t others = keep_own_reasoning(request, dialect, rule, to, binding);
    std::size_t stay = 0;
    for (const ChatMessage& message : request.messages) stay += message.reasoning().size();
    CHECK(stay + others == 1);
    return stay;
  }
};

}  // namespace

TEST_CASE("a keyed hash is SipHash-2-4", "[core][reasoning]") {
  std::string bytes(63, '\0');
  std::iota(bytes.begin(), bytes.end(), '\0');
  const auto hash = [&](std::size_t size) {
    return detail::core::sip_hash(0x0706050403020100U, 0x0F0E0D0C0B0A0908U, bytes.substr(0, size));
  };
  // From the authors' reference implementation.
  CHECK(hash(0) == 0x726FDB47DD0E0E31U);
  CHECK(hash(1) == 0x74F839C593DC67FDU);
  CHECK(hash(8) == 0x93F5F5799A932462U);
  CHECK(hash(15) == 0xA129CA6149BE45E5U);
  CHECK(hash(63) == 0x958A324CEB064572U);
}

TEST_CASE("reasoning goes back to who made it, behind the same messages", "[llm][reasoning][G8]") {
  const Talk talk;
  CHECK(talk.stay(talk.next()) == 1);
  CHECK(talk.stay(talk.next(), "other.test") == 0);
  ChatRequest other_model = talk.next();
  other_model.model = "n";
  CHECK(talk.stay(other_model) == 0);
  Talk other_key = talk;
  other_key.key = "Authorization: Bearer l";
  CHECK(other_key.stay(talk.next()) == 0);
  ChatRequest other_salt = talk.next();
  other_salt.salt = "pepper";
  CHECK(talk.stay(other_salt) == 0);
}

TEST_CASE("reasoning behind other messages does not go back where that counts", "[llm][reasoning][G8]") {
  Talk talk;
  for (const bool counts : {true, false}) {
    talk.rule.same_prefix = counts;
    ChatRequest trimmed = talk.next();
    trimmed.messages.erase(trimmed.messages.begin());
    CHECK(talk.stay(trimmed) == (counts ? 0 : 1));
    ChatRequest window = talk.next();
    window.messages.insert(window.messages.begin(), ChatMessage::system("A window is open."));
    CHECK(talk.stay(window) == (counts ? 0 : 1));
    ChatRequest changed = talk.next();
    changed.messages[0].set_content("Why");
    CHECK(talk.stay(changed) == (counts ? 0 : 1));
  }
  talk.rule.same_prefix = true;
  ChatRequest longer = talk.next();  // what follows does not count
  longer.messages.push_back(ChatMessage::user("And?"));
  longer.tail = "It is noon.";
  CHECK(talk.stay(longer) == 1);
}

TEST_CASE("each part of the messages before reasoning counts", "[llm][reasoning]") {
  ChatRequest request{.messages = {ChatMessage::user("a", {{.url = "u", .data = "d", .media_type = "t"}}),
                                   ChatMessage::assistant("b", {{"i", "n", "{}"}}),
                                   ChatMessage::tool_result("i", "r")}};
  const auto prefix = [](const ChatRequest& changed) {
    return binding_of(changed, {.same_prefix = true}, "").prefix;
  };
  const std::uint64_t same = prefix(request);
  CHECK(same == prefix(request));
  CHECK(binding_of(request, {}, "").prefix == 0);
  const std::vector<void (*)(ChatRequest&)> changes{
      [](ChatRequest& r) { r.messages[0].role = Role::system; },
      [](ChatRequest& r) { r.messages[0].parts()[0].url = "v"; },
      [](ChatRequest& r) { r.messages[0].parts()[0].data = "e"; },
      [](ChatRequest& r) { r.messages[0].parts()[0].media_type = "s"; },
      [](ChatRequest& r) { r.messages[1].set_content("c"); },
      [](ChatRequest& r) { r.messages[1].tool_calls()[0].id = "j"; },
      [](ChatRequest& r) { r.messages[1].tool_calls()[0].name = "o"; },
      [](ChatRequest& r) { r.messages[1].tool_calls()[0].arguments = "[]"; },
      [](ChatRequest& r) { r.messages[2].tool_call_id = "k"; },
      [](ChatRequest& r) { r.messages.pop_back(); },
      [](ChatRequest& r) { std::swap(r.messages[0], r.messages[1]); },
      [](ChatRequest& r) {
        r.messages[1].tool_calls()[0].id = "";  // "i" + "n" are not "" + "in"
        r.messages[1].tool_calls()[0].name = "in";
      }};
  for (const auto change : changes) {
    ChatRequest other = request;
    change(other);
    CHECK(prefix(other) != same);
  }
}

TEST_CASE("what is not known of reasoning counts as another", "[llm][reasoning]") {
  const Talk talk;
  using Field = std::string ReasoningBlock::*;
  for (const Field field :
       {&ReasoningBlock::server, &ReasoningBlock::model, &ReasoningBlock::account, &ReasoningBlock::prefix}) {
    ChatRequest request = talk.next();
    request.messages[1].reasoning()[0].*field = "";
    CHECK(talk.stay(request) == 0);
  }
  ChatRequest request = talk.next();
  for (const Field field :
       {&ReasoningBlock::server, &ReasoningBlock::model, &ReasoningBlock::account, &ReasoningBlock::prefix})
    request.messages[1].reasoning()[0].*field = "";
  request.model = "";
  CHECK(talk.stay(request, "") == 0);
}

TEST_CASE("a rule binds only to what it names", "[llm][reasoning]") {
  Talk talk;
  talk.rule = {.when = When::always, .same_model = false};
  ChatRequest request = talk.next();
  request.model = "n";
  talk.key = "another";
  CHECK(talk.stay(request) == 1);
  CHECK(talk.stay(request, "other.test") == 0);  // never to another server
  request.messages[1].reasoning()[0].dialect = "openai_chat";
  const Binding binding = binding_of(request, talk.rule, talk.key);
  CHECK(keep_own_reasoning(request, talk.dialect, talk.rule, server, binding) == 0);  // nothing to tell
  CHECK_FALSE(has_reasoning(request));
}

TEST_CASE("reasoning that is not signed goes back where nothing is signed", "[llm][reasoning]") {
  Talk talk;
  for (const bool takes_unsigned : {false, true}) {
    talk.rule.takes_unsigned = takes_unsigned;
    talk.data = R"({"type":"thinking","thinking":"Hm. \"signature\":\"x\""})";
    CHECK(talk.stay(talk.next()) == (takes_unsigned ? 1 : 0));
    talk.data = R"({"type":"redacted_thinking","data":"x"})";
    CHECK(talk.stay(talk.next()) == 1);
  }
  talk.dialect = Dialect::openai_responses;
  for (const bool takes_unsigned : {false, true}) {
    talk.rule = rule_of(talk.dialect);
    talk.rule.takes_unsigned = takes_unsigned;
    talk.data = encrypted_thought;
    CHECK(talk.stay(talk.next()) == 1);
    for (const char* const data :
         {R"({"type":"reasoning","summary":[]})", R"({"type":"reasoning","encrypted_content":null})"}) {
      talk.data = data;
      CHECK(talk.stay(talk.next()) == (takes_unsigned ? 1 : 0));
    }
  }
}

TEST_CASE("a rule says which answers have their reasoning in later requests", "[llm][reasoning]") {
  struct Row {
    When when;
    bool with_calls, with_tools, alone;
  };
  for (const Row& row : {Row{When::never, false, false, false}, Row{When::with_calls, true, false, false},
                         Row{When::with_tools, true, true, false}, Row{When::always, true, true, true}}) {
    const ReasoningRule rule{.when = row.when};
    CHECK(goes_with(rule, true, true) == row.with_calls);
    CHECK(goes_with(rule, true, false) == row.with_calls);
    CHECK(goes_with(rule, false, true) == row.with_tools);
    CHECK(goes_with(rule, false, false) == row.alone);
  }
  Talk talk;
  talk.rule.when = When::never;
  ChatRequest request = talk.next();
  const Binding binding = binding_of(request, talk.rule, talk.key);
  CHECK(keep_own_reasoning(request, talk.dialect, talk.rule, server, binding) == 0);
  CHECK_FALSE(has_reasoning(request));
}

TEST_CASE("a refusal of reasoning is told by its status and its words", "[llm][reasoning]") {
  const auto refused = [](int status, const char* text) {
    return refuses_reasoning({.code = Errc::api_error, .message = text, .http_status = status});
  };
  CHECK(refused(400, "messages.1.content.0: Invalid `signature` in `thinking` block"));
  CHECK(refused(400, "Expected `Thinking` or `redacted_thinking`, but found `tool_use`"));
  CHECK(refused(400, "The reasoning_content in the thinking mode must be passed back to the API."));
  CHECK(refused(400, "The encrypted content for item rs_1 could not be verified."));
  CHECK(refused(422, "body.messages.1.assistant.reasoning_content: Extra inputs are not permitted"));
  CHECK(refused(400, "Unknown name \"extra_content\" at 'messages[1].tool_calls[0]': Cannot find field."));
  CHECK_FALSE(refused(422, "body.messages.1.name: Extra inputs are not permitted"));
  CHECK_FALSE(refused(400, "max_tokens is too large"));
  CHECK_FALSE(refused(401, "Invalid `signature` in `thinking` block"));
  CHECK_FALSE(refused(500, "thinking"));
}
