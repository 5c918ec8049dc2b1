// The OpenAI Responses dialect: however a stream is cut up or cut off, and whatever a request holds.
#include "any_history.hpp"
#include "core/utf8.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/wire/golden.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using property_test::any_words;
using property_test::HistoryWriter;

namespace {

const detail::llm::WireFormat& responses = detail::llm::openai_responses();

// What is heard of a stream that comes in these pieces, each in a block of the heap that ends where it does.
ChatRecord heard_of(const std::vector<std::string_view>& pieces) {
  CallFixture fixture(true, 1 << 20, 1 << 20, responses);
  fixture.call->on_head({.status = 200, .content_type = all_events});
  for (const std::string_view piece : pieces) {
    const std::vector<char> exact(piece.begin(), piece.end());
    if (!fixture.call->on_body({exact.data(), exact.size()})) break;
  }
  return fixture.end();
}

bool same(const ChatRecord& a, const ChatRecord& b) {
  const ChatOutcome &x = a.outcomes.at(0), &y = b.outcomes.at(0);
  return a.text() == b.text() && a.reasoning == b.reasoning && x.kind == y.kind &&
         x.finish_reason == y.finish_reason && x.usage == y.usage && x.tool_calls == y.tool_calls &&
         x.reasoning == y.reasoning && x.model == y.model && x.error.code == y.error.code;
}

const std::vector<std::string> names = {"answer.sse", "incomplete.sse", "refusal.sse",  "failed.sse",
                                        "error.sse",  "vllm.sse",       "llama_cpp.sse"};

std::string golden_stream(const std::string& name) {
  return read_golden("openai_responses/" + name);
}

// Where the event that ends the answer is complete; npos: there is none.
std::size_t end_of_answer(const std::string& stream) {
  for (const char* type : {"data: {\"type\":\"response.completed\"", "event: response.completed",
                           "data: {\"type\":\"response.incomplete\""})
    if (const auto at = stream.find(type); at != std::string::npos) return stream.find("\n\n", at) + 2;
  return std::string::npos;
}

ChatRequest any_request() {
  ChatRequest request;
  request.model = *rc::gen::element<std::string>("", "gpt-5", "gpt-4o");
  request.messages = HistoryWriter(0).write(*rc::gen::inRange(0, 4));
  const auto bytes = rc::gen::arbitrary<std::string>();
  const auto data = rc::gen::element<std::string>("{}", R"({"type":"reasoning"})", "{", "[]", "\xFF", "");
  for (ChatMessage& message : request.messages) {
    if (*rc::gen::inRange(0, 3) == 0) message.set_content(*bytes);
    for (ToolCall& call : message.tool_calls()) call.arguments = *bytes;
    if (message.role == Role::assistant)
      message.items.emplace_back(ReasoningBlock{"openai_responses", *data});
    if (message.role == Role::user) message.items.emplace_back(ContentPart{*bytes, *bytes, *bytes, *bytes});
  }
  request.tools = {{*bytes, *bytes, *bytes}, {"x", *any_words(), "{" + *bytes}};
  request.tool_choice = {ToolChoice::Mode::named, *bytes};
  request.response_format = {ResponseFormat::Kind::json_schema, *bytes, R"({"a":")" + *bytes + "\"}"};
  request.reasoning_effort = *bytes;
  return request;
}

}  // namespace

TEST_CASE("a stream of Responses events gives the same result however it is split",
          "[property][llm][responses]") {
  prop("any cuts, and line ends of either kind", [] {
    std::string stream = golden_stream(*rc::gen::elementOf(names));
    const ChatRecord expected = heard_of({stream});
    RC_ASSERT(expected.outcomes.size() == 1);
    if (*rc::gen::arbitrary<bool>())
      for (std::size_t at = 0; (at = stream.find('\n', at)) != std::string::npos; at += 2)
        stream.insert(at, 1, '\r');
    const bool small = *rc::gen::arbitrary<bool>();
    std::vector<std::string_view> pieces;
    for (std::string_view rest = stream; !rest.empty();) {
      const auto size = *rc::gen::inRange<std::size_t>(1, small ? 40 : rest.size() + 1);
      pieces.push_back(rest.substr(0, size));
      rest.remove_prefix(pieces.back().size());
    }
    RC_ASSERT(same(heard_of(pieces), expected));
  });
}

TEST_CASE("no prefix of a stream of events counts as an answer", "[property][llm][responses][G10]") {
  prop("it completes if the event that ends the answer was read, and fails cleanly otherwise", [] {
    const std::string stream = golden_stream(*rc::gen::elementOf(names));
    const ChatRecord all = heard_of({stream});
    const auto size = *rc::gen::inRange<std::size_t>(0, stream.size() + 1);
    const ChatRecord heard = heard_of({std::string_view(stream).substr(0, size)});
    RC_ASSERT(heard.outcomes.size() == 1);
    RC_ASSERT(all.text().starts_with(heard.text()));
    RC_ASSERT(all.reasoning.starts_with(heard.reasoning));
    RC_ASSERT(heard.completed() == (size >= end_of_answer(stream)));
    if (heard.completed()) {
      RC_ASSERT(same(heard, all));
    } else {
      RC_ASSERT(heard.failed_with(Errc::network_error) || heard.failed_with(Errc::api_error));
      RC_ASSERT(heard.outcomes[0].tool_calls.empty() && heard.outcomes[0].reasoning.empty());
    }
  });
}

TEST_CASE("a damaged stream of events ends in one outcome", "[property][llm][responses][G15]") {
  prop("whatever bytes of it are changed, all text is valid UTF-8, and every call names a tool", [] {
    std::string stream = golden_stream(*rc::gen::elementOf(names));
    for (int left = *rc::gen::inRange(1, 8); left > 0; --left)
      stream[*rc::gen::inRange<std::size_t>(0, stream.size())] =
          *rc::gen::oneOf(rc::gen::element('"', '\\', '{', '}', '[', ']', ',', ':', ' ', '0', 'n'),
                          rc::gen::arbitrary<char>());
    const ChatRecord heard = heard_of({stream});
    RC_ASSERT(heard.outcomes.size() == 1);
    RC_ASSERT(detail::core::is_utf8(heard.text()) && detail::core::is_utf8(heard.reasoning));
    for (const ToolCall& call : heard.outcomes[0].tool_calls) {
      RC_ASSERT(!call.name.empty());
      RC_ASSERT(detail::core::is_utf8(call.id + call.name + call.arguments));
    }
    for (const ReasoningBlock& block : heard.outcomes[0].reasoning)
      RC_ASSERT(nlohmann::json::parse(block.data).is_object());
  });
}

TEST_CASE("any Responses request is JSON in UTF-8", "[property][llm][responses]") {
  prop("histories, thoughts, tools and options of any bytes", [] {
    const std::string text = responses.body(any_request(), {.model = *rc::gen::arbitrary<std::string>()});
    RC_ASSERT(detail::core::is_utf8(text));
    const auto body = nlohmann::json::parse(text);
    RC_ASSERT(body.at("input").is_array());
    for (const auto& item : body.at("input")) RC_ASSERT(item.is_object());
  });
}
