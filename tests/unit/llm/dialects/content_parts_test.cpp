// Images, documents and sounds: how each dialect writes them, and what is refused before it is sent.
#include "context/token_count.hpp"
#include "llm/dialects/wire_format.hpp"
#include "llm/http/config.hpp"
#include "support/catch.hpp"

#include <agentcore/context.hpp>
#include <agentcore/history.hpp>

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::detail::llm;
using nlohmann::json;

namespace {

using Kind = ContentPart::Kind;

const ContentPart image{.data = "aW1n", .media_type = "image/png"};
const ContentPart document{
    .data = "cGRm", .media_type = "application/pdf", .kind = Kind::document, .name = "a \"b\".pdf"};
const ContentPart linked{.url = "https://a.test/b.pdf", .kind = Kind::document};
const ContentPart speech{.data = "d2F2", .media_type = "audio/wav", .kind = Kind::audio};
const ContentPart linked_speech{.url = "https://a.test/b.wav", .kind = Kind::audio};

ChatRequest with(ContentPart part) {
  ChatRequest request;
  request.model = "m";
  request.messages = {ChatMessage::user("What is this?", {std::move(part)})};
  return request;
}

// The part as the dialect writes it.
json written(Dialect dialect, const ContentPart& part) {
  const json body = json::parse(wire_format(dialect).body(with(part), {}));
  return body.at(dialect == Dialect::openai_responses ? "input" : "messages").at(0).at("content").at(1);
}

std::string refusal(Dialect dialect, const ContentPart& part) {
  const auto problem = check_parts(with(part), dialect);
  if (problem) CHECK(problem->code == Errc::unsupported_part);
  return problem ? problem->message : std::string();
}

}  // namespace

TEST_CASE("documents and sounds are written in the form of each dialect", "[llm][parts]") {
  CHECK(written(Dialect::openai_chat, document) ==
        json::parse(R"({"type":"file","file":{"filename":"a \"b\".pdf",)"
                    R"("file_data":"data:application/pdf;base64,cGRm"}})"));
  CHECK(written(Dialect::openai_chat, speech) ==
        json::parse(R"({"type":"input_audio","input_audio":{"data":"d2F2","format":"wav"}})"));
  CHECK(written(Dialect::anthropic_messages, document) ==
        json::parse(R"({"type":"document","source":{"type":"base64","media_type":"application/pdf",)"
                    R"("data":"cGRm"},"title":"a \"b\".pdf"})"));
  CHECK(written(Dialect::anthropic_messages, linked) ==
        json::parse(R"({"type":"document","source":{"type":"url","url":"https://a.test/b.pdf"}})"));
  CHECK(written(Dialect::openai_responses, document) ==
        json::parse(R"({"type":"input_file","filename":"a \"b\".pdf",)"
                    R"("file_data":"data:application/pdf;base64,cGRm"})"));
  CHECK(written(Dialect::openai_responses, linked) ==
        json::parse(R"({"type":"input_file","file_url":"https://a.test/b.pdf"})"));
  ContentPart nameless = document;
  nameless.name.clear();
  CHECK(written(Dialect::openai_chat, nameless)["file"]["filename"] == "document");
  CHECK(written(Dialect::openai_responses, nameless)["filename"] == "document");
  CHECK_FALSE(written(Dialect::anthropic_messages, nameless).contains("title"));
}

TEST_CASE("the format of a sound is that of its media type", "[llm][parts]") {
  const auto format = [](const char* media_type) {
    ContentPart part = speech;
    part.media_type = media_type;
    return written(Dialect::openai_chat, part)["input_audio"]["format"].get<std::string>();
  };
  CHECK(format("audio/mpeg") == "mp3");
  CHECK(format("audio/mp3") == "mp3");
  CHECK(format("audio/x-wav") == "wav");
  CHECK(format("audio/flac") == "flac");
}

TEST_CASE("a part that a dialect does not take is refused by name", "[llm][parts][errors]") {
  const std::string place = "message 1 of ChatRequest::messages has ",
                    remedy = " does not take; send its data in base64, or another kind of part";
  for (const Dialect dialect :
       {Dialect::openai_chat, Dialect::openai_responses, Dialect::anthropic_messages}) {
    const std::string by = ", which Dialect::" + std::string(to_string(dialect));
    const bool chat = dialect == Dialect::openai_chat;
    CHECK(refusal(dialect, image).empty());
    CHECK(refusal(dialect, document).empty());
    CHECK(refusal(dialect, linked) == (chat ? place + "a document with a URL" + by + remedy : ""));
    CHECK(refusal(dialect, speech) == (chat ? "" : place + "audio" + by + remedy));
    CHECK(refusal(dialect, linked_speech) == place + (chat ? "audio with a URL" : "audio") + by + remedy);
  }
}

TEST_CASE("a server that takes only texts gets no part in any dialect", "[llm][parts][errors]") {
  const std::string why =
      ", but the server takes only texts (HttpLlmOptions::takes_images is false); remove it from the "
      "conversation, or ask another server";
  for (const Dialect dialect :
       {Dialect::openai_chat, Dialect::openai_responses, Dialect::anthropic_messages}) {
    const auto refused = [&](const ContentPart& part) {
      return check_parts(with(part), dialect, false).value_or(Error{}).message;
    };
    CHECK(refused(image) == "message 1 of ChatRequest::messages has an image" + why);
    CHECK(refused(document) == "message 1 of ChatRequest::messages has a document" + why);
    CHECK(refused(linked) == "message 1 of ChatRequest::messages has a document" + why);
    CHECK(refused(speech) == "message 1 of ChatRequest::messages has audio" + why);
    ChatRequest request;
    request.messages = {ChatMessage::user("?"), ChatMessage::assistant("", {{"c1", "look", "{}"}}),
                        ChatMessage::tool_result("c1", "One.")};
    CHECK_FALSE(check_parts(request, dialect, false));
    request.messages[2] = ChatMessage::tool_result("c1", "One.", {image});
    CHECK(check_parts(request, dialect, false)->message ==
          "message 3 of ChatRequest::messages has an image" + why);
  }
}

TEST_CASE("the result of a tool may have images and documents", "[llm][parts][tools]") {
  ChatRequest request;
  request.model = "m";
  request.messages = {ChatMessage::user("?"), ChatMessage::assistant("", {{"c1", "look", "{}"}}),
                      ChatMessage::tool_result("c1", "Two.", {image, document})};
  const auto body = [&](Dialect dialect) { return json::parse(wire_format(dialect).body(request, {})); };
  CHECK(body(Dialect::anthropic_messages)["messages"][2]["content"] ==
        json::parse(R"([{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"Two."},)"
                    R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"aW1n"}},)"
                    R"({"type":"document","source":{"type":"base64","media_type":"application/pdf",)"
                    R"("data":"cGRm"},"title":"a \"b\".pdf"}]}])"));
  CHECK(body(Dialect::openai_responses)["input"][2]["output"] ==
        json::parse(R"([{"type":"input_text","text":"Two."},)"
                    R"({"type":"input_image","image_url":"data:image/png;base64,aW1n"},)"
                    R"({"type":"input_file","filename":"a \"b\".pdf",)"
                    R"("file_data":"data:application/pdf;base64,cGRm"}])"));
  CHECK_FALSE(check_parts(request, Dialect::anthropic_messages));
  CHECK_FALSE(check_parts(request, Dialect::openai_responses));
  CHECK(check_parts(request, Dialect::openai_chat)->message ==
        "message 3 of ChatRequest::messages has a part in the result of a tool, which "
        "Dialect::openai_chat does not take; send its data in base64, or another kind of part");
  request.messages[2].set_content("");
  CHECK(body(Dialect::anthropic_messages)["messages"][2]["content"][0]["content"].size() == 2);
  CHECK(body(Dialect::openai_responses)["input"][2]["output"].size() == 2);
  CHECK(is_valid_history(request.messages));
}

TEST_CASE("documents and sounds are written to a history and read", "[llm][parts][G8]") {
  ContentPart nameless = document, mp3 = speech, odd = speech;
  nameless.name.clear();
  mp3.media_type = "audio/mpeg";
  odd.media_type = "audio/x-wav";
  for (const ContentPart& part : {image, document, linked, speech, linked_speech, nameless, mp3, odd}) {
    const std::vector<ChatMessage> history{ChatMessage::user("?", {part, image, part})};
    const std::string text = history_to_json(history);
    INFO(text);
    const auto read = history_from_json(text);
    REQUIRE(read);
    CHECK(*read == history);
  }
  const auto foreign = history_from_json(
      R"([{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"d2F2","format":"mp3"}}]}])");
  REQUIRE(foreign);
  CHECK(foreign->at(0).parts()[0].media_type == "audio/mpeg");
}

TEST_CASE("the tokens of a document and of a sound are estimated by their size", "[context][parts]") {
  const auto tokens = [](ContentPart part, std::size_t bytes) {
    part.data.assign(bytes, 'A');
    return detail::context::message_tokens(ChatMessage::user("", {std::move(part)}), {}) - 4;
  };
  CHECK(tokens(image, 1'000'000) == estimated_image_tokens);
  CHECK(tokens(document, 65'535) == estimated_image_tokens);
  CHECK(tokens(document, 65'536) == 2 * estimated_image_tokens);
  CHECK(tokens(speech, 2047) == 1);
  CHECK(tokens(speech, 204'800) == 101);
}
