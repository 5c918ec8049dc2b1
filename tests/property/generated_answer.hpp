// Generators: answers of providers, with reasoning among texts and calls, as bytes in each dialect.
#pragma once

#include "support/prop.hpp"

#include <agentcore/provider.hpp>

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace property_test {

// One item of an answer. `unsigned_thought` is not signed or encrypted where the others are.
enum class Piece : std::uint8_t {
  thought,
  unsigned_thought,
  text,
  blank,
  call,
  held_call,
  invented_call,
  broken_call
};
// How an answer ends. `busy` is an error in its place, and `cut` has no end.
enum class AnswerEnd : std::uint8_t { usual, length, filter, failure, busy, cut };

struct GeneratedAnswer {
  std::vector<Piece> pieces;
  AnswerEnd end = AnswerEnd::usual;
};

// For rapidcheck.
inline void showValue(const GeneratedAnswer& answer, std::ostream& out) {
  static const char* const names[] = {"thought", "unsigned", "text",     "blank",
                                      "call",    "held",     "invented", "broken"};
  static const char* const ends[] = {"usual", "length", "filter", "failure", "busy", "cut"};
  for (const Piece piece : answer.pieces) out << names[static_cast<int>(piece)] << ' ';
  out << '(' << ends[static_cast<int>(answer.end)] << ')';
}

inline rc::Gen<GeneratedAnswer> any_answer() {
  const auto piece = rc::gen::weightedElement<Piece>({{5, Piece::thought},
                                                      {2, Piece::unsigned_thought},
                                                      {4, Piece::text},
                                                      {1, Piece::blank},
                                                      {5, Piece::call},
                                                      {2, Piece::held_call},
                                                      {1, Piece::invented_call},
                                                      {1, Piece::broken_call}});
  const auto end = rc::gen::weightedElement<AnswerEnd>({{12, AnswerEnd::usual},
                                                        {1, AnswerEnd::length},
                                                        {1, AnswerEnd::filter},
                                                        {1, AnswerEnd::failure},
                                                        {1, AnswerEnd::busy},
                                                        {1, AnswerEnd::cut}});
  return rc::gen::build<GeneratedAnswer>(
      rc::gen::set(&GeneratedAnswer::pieces,
                   rc::gen::resize(6, rc::gen::container<std::vector<Piece>>(piece))),
      rc::gen::set(&GeneratedAnswer::end, end));
}

// Writes an answer as a provider does. Each piece of reasoning contains "T<mark>-<its number>;".
class AnswerWriter {
 public:
  using Json = nlohmann::json;

  AnswerWriter(const agentcore::Provider& provider, std::string mark)
      : provider_(provider.name), dialect_(provider.dialect), mark_(std::move(mark)) {}

  // The events of the stream.
  std::vector<std::string> write(const GeneratedAnswer& answer) {
    using agentcore::Dialect;
    if (dialect_ == Dialect::anthropic_messages)
      event({{"type", "message_start"}, {"message", {{"id", "msg"}, {"usage", {{"input_tokens", 5}}}}}});
    if (dialect_ == Dialect::openai_responses)
      event({{"type", "response.created"}, {"response", {{"id", "r" + mark_}}}});
    for (const Piece piece : answer.pieces) {
      ++number_;
      if (dialect_ == Dialect::openai_chat) add_to_chat(piece);
      if (dialect_ == Dialect::openai_responses) add_item(piece);
      if (dialect_ == Dialect::anthropic_messages) add_block(piece);
    }
    if (answer.end < AnswerEnd::busy) finish(answer.end);
    return std::move(events_);
  }

 private:
  void event(const Json& json) { events_.push_back("data: " + json.dump() + "\n\n"); }
  std::string thought() const { return "T" + mark_ + "-" + std::to_string(number_) + ";"; }
  std::string id(const char* prefix) const { return prefix + mark_ + "x" + std::to_string(number_); }
  static bool is_call(Piece piece) { return piece >= Piece::call; }
  static const char* name_of(Piece piece) {
    if (piece == Piece::held_call) return "held";
    return piece == Piece::invented_call ? "functions.look at" : "look";
  }
  static const char* arguments_of(Piece piece) {
    return piece == Piece::broken_call ? "{\"a\":" : "{\"a\":1}";
  }
  std::string words_of(Piece piece) const {
    return piece == Piece::blank ? " \n" : "Words " + std::to_string(number_) + ".";
  }

  void delta(Json members, const char* end = nullptr) {
    const Json reason = end ? Json(end) : Json();
    event({{"choices", {{{"index", 0}, {"delta", std::move(members)}, {"finish_reason", reason}}}}});
  }

  void add_to_chat(Piece piece) {
    if (is_call(piece)) {
      Json call{{"index", calls_++}, {"id", id("call_")}, {"type", "function"}};
      call["function"] = {{"name", name_of(piece)}, {"arguments", arguments_of(piece)}};
      if (!signature_.empty()) call["extra_content"] = {{"google", {{"thought_signature", signature_}}}};
      signature_.clear();
      return delta({{"tool_calls", {std::move(call)}}});
    }
    if (piece != Piece::thought && piece != Piece::unsigned_thought)
      return delta({{"content", words_of(piece)}});
    if (provider_ == "gemini") {
      signature_ = thought();
    } else if (provider_ == "openrouter") {
      const bool is_encrypted = piece == Piece::thought;
      Json detail{{"index", number_}, {"format", "anthropic-claude-v1"}, {"id", id("d")}};
      detail["type"] = is_encrypted ? "reasoning.encrypted" : "reasoning.text";
      detail[is_encrypted ? "data" : "text"] = thought();
      delta({{"reasoning_details", {std::move(detail)}}});
    } else if (provider_ == "mistral") {
      delta({{"content", {{{"type", "thinking"}, {"thinking", {{{"type", "text"}, {"text", thought()}}}}}}}});
    } else if (provider_ == "vllm" || provider_ == "cerebras" || provider_ == "groq") {
      delta({{"reasoning", thought()}});
    } else {
      delta({{"reasoning_content", thought()}});
    }
  }

  void add_item(Piece piece) {
    Json item;
    if (is_call(piece)) {
      item = {
          {"type", "function_call"}, {"id", id("fc_")}, {"call_id", id("call_")}, {"name", name_of(piece)}};
      item["arguments"] = arguments_of(piece);
    } else if (piece == Piece::thought) {
      item = {{"type", "reasoning"}, {"id", id("rs_")}, {"summary", Json::array()}};
      item["encrypted_content"] = thought();
    } else if (piece == Piece::unsigned_thought) {
      item = {{"type", "reasoning"}, {"id", id("rs_")}, {"summary", Json::array()}};
      item["content"] = {{{"type", "reasoning_text"}, {"text", thought()}}};
    } else {
      item = {{"type", "message"}, {"id", id("msg_")}, {"role", "assistant"}, {"phase", "commentary"}};
      item["content"] = {{{"type", "output_text"}, {"text", words_of(piece)}}};
    }
    event({{"type", "response.output_item.done"}, {"output_index", number_}, {"item", std::move(item)}});
  }

  void block(Json start, std::vector<Json> deltas) {
    event({{"type", "content_block_start"}, {"index", number_}, {"content_block", std::move(start)}});
    for (Json& delta : deltas)
      event({{"type", "content_block_delta"}, {"index", number_}, {"delta", std::move(delta)}});
    event({{"type", "content_block_stop"}, {"index", number_}});
  }

  void add_block(Piece piece) {
    if (is_call(piece))
      return block(
          {{"type", "tool_use"}, {"id", id("toolu_")}, {"name", name_of(piece)}, {"input", Json::object()}},
          {{{"type", "input_json_delta"}, {"partial_json", arguments_of(piece)}}});
    if (piece == Piece::thought && number_ % 3 == 0)
      return block({{"type", "redacted_thinking"}, {"data", thought()}}, {});
    if (piece == Piece::thought)
      return block({{"type", "thinking"}, {"thinking", ""}},
                   {{{"type", "thinking_delta"}, {"thinking", "Hm"}},
                    {{"type", "signature_delta"}, {"signature", thought()}}});
    if (piece == Piece::unsigned_thought)
      return block({{"type", "thinking"}, {"thinking", ""}},
                   {{{"type", "thinking_delta"}, {"thinking", thought()}}});
    block({{"type", "text"}, {"text", ""}}, {{{"type", "text_delta"}, {"text", words_of(piece)}}});
  }

  void finish(AnswerEnd end) {
    using agentcore::Dialect;
    const auto index = static_cast<std::size_t>(end);
    if (dialect_ == Dialect::openai_chat) {
      static const char* const words[] = {"stop", "length", "content_filter", "network_error"};
      delta(Json::object(), calls_ != 0 && end == AnswerEnd::usual ? "tool_calls" : words[index]);
      events_.emplace_back("data: [DONE]\n\n");
    } else if (dialect_ == Dialect::anthropic_messages) {
      static const char* const words[] = {"end_turn", "max_tokens", "refusal", "abort"};
      event({{"type", "message_delta"}, {"delta", {{"stop_reason", words[index]}}}});
      event({{"type", "message_stop"}});
    } else {
      static const char* const words[] = {"completed", "incomplete", "incomplete", "failed"};
      static const char* const reasons[] = {"", "max_output_tokens", "content_filter", ""};
      Json response{{"id", "r" + mark_}, {"status", words[index]}};
      if (*reasons[index] != '\0') response["incomplete_details"] = {{"reason", reasons[index]}};
      event({{"type", std::string("response.") + words[index]}, {"response", std::move(response)}});
    }
  }

  const std::string provider_;
  const agentcore::Dialect dialect_;
  const std::string mark_;
  std::vector<std::string> events_;
  std::string signature_;
  int number_ = 0, calls_ = 0;
};

}  // namespace property_test
