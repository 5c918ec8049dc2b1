#include "sim/answer_form.hpp"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::sim {
namespace {

using Json = nlohmann::ordered_json;

std::string event(const Json& data) {
  return "data: " + data.dump() + "\n\n";
}

std::string named_event(const Json& data) {
  return "event: " + data["type"].get<std::string>() + '\n' + event(data);
}

std::string part(const std::string& text, bool first) {
  const std::size_t half = text.size() / 2;
  return first ? text.substr(0, half) : text.substr(half);
}

class ChatForm final : public AnswerForm {
 public:
  explicit ChatForm(AnswerSetting setting) : setting_(std::move(setting)) {}

  std::string text(const std::string& words) override {
    content_ += words;
    return piece({{"content", words}});
  }
  std::string reasoning(const std::string& words, const std::string&) override {
    if (setting_.reasoning_field.empty()) return {};
    thoughts_ += words;
    return piece({{setting_.reasoning_field, words}});
  }
  std::string call(const ToolCall& call) override {
    Json whole = {{"id", call.id},
                  {"type", "function"},
                  {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
    if (setting_.signs_calls && calls_.empty())
      whole["extra_content"] = {{"google", {{"thought_signature", "c2lnbmVk"}}}};
    const std::size_t index = calls_.size();
    calls_.push_back(whole);
    whole["index"] = index;
    whole["function"]["arguments"] = part(call.arguments, true);
    std::string bytes = piece({{"tool_calls", Json::array({whole})}});
    return bytes + piece({{"tool_calls",
                           Json::array({{{"index", index},
                                         {"function", {{"arguments", part(call.arguments, false)}}}}})}});
  }
  std::string end(FinishReason reason, const Usage& usage) override {
    const Json counts = {{"prompt_tokens", usage.prompt_tokens},
                         {"completion_tokens", usage.completion_tokens},
                         {"total_tokens", usage.total_tokens}};
    if (!setting_.stream) return whole(reason, counts);
    Json last = chunk(Json::object());
    last["choices"][0]["finish_reason"] = word(reason);
    Json after = chunk(Json::object());
    after["choices"] = Json::array();
    after["usage"] = counts;
    std::string refused;
    if (reason == FinishReason::refusal) refused = piece({{"refusal", "I will not."}});
    return refused + event(last) + event(after) + "data: [DONE]\n\n";
  }
  std::string error(std::string_view type, std::string_view message) override {
    return event({{"error", {{"message", message}, {"type", type}}}});
  }
  std::string refusal(std::string_view type, std::string_view code, std::string_view message) override {
    return Json{{"error", {{"message", message}, {"type", type}, {"code", code}}}}.dump();
  }

 private:
  Json chunk(Json delta) const {
    return {
        {"id", setting_.id},
        {"object", "chat.completion.chunk"},
        {"model", setting_.model},
        {"choices", Json::array({{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", nullptr}}})}};
  }
  std::string piece(Json delta) const {
    return setting_.stream ? event(chunk(std::move(delta))) : std::string();
  }
  std::string whole(FinishReason reason, const Json& counts) const {
    Json message = {{"role", "assistant"}, {"content", content_}};
    if (!thoughts_.empty()) message[setting_.reasoning_field] = thoughts_;
    if (!calls_.empty()) message["tool_calls"] = calls_;
    if (reason == FinishReason::refusal) message["refusal"] = "I will not.";
    return Json{
        {"id", setting_.id},
        {"object", "chat.completion"},
        {"model", setting_.model},
        {"choices", Json::array({{{"index", 0}, {"message", message}, {"finish_reason", word(reason)}}})},
        {"usage", counts}}
        .dump();
  }
  static std::string word(FinishReason reason) {
    switch (reason) {
      case FinishReason::tool_calls:
        return "tool_calls";
      case FinishReason::length:
        return "length";
      case FinishReason::content_filter:
        return "content_filter";
      case FinishReason::other:
        return "a_new_word";
      default:
        return "stop";
    }
  }

  const AnswerSetting setting_;
  std::string content_, thoughts_;
  Json calls_ = Json::array();
};

// Items of a kind follow each other: each text or thought continues the last item if it is one.
class ResponsesForm final : public AnswerForm {
 public:
  explicit ResponsesForm(AnswerSetting setting) : setting_(std::move(setting)) {}

  std::string text(const std::string& words) override {
    std::string bytes = open("message");
    words_ += words;
    return bytes + send({{"type", "response.output_text.delta"},
                         {"item_id", item_id()},
                         {"output_index", items_.size()},
                         {"content_index", 0},
                         {"delta", words}});
  }
  std::string reasoning(const std::string& words, const std::string& signature) override {
    std::string bytes = open("reasoning");
    words_ += words;
    signature_ = signature;
    return bytes + send({{"type", "response.reasoning_summary_text.delta"},
                         {"item_id", item_id()},
                         {"output_index", items_.size()},
                         {"summary_index", 0},
                         {"delta", words}});
  }
  std::string call(const ToolCall& call) override {
    std::string bytes = open("") + begin();
    Json item = {{"id", "fc_" + call.id}, {"type", "function_call"}, {"status", "in_progress"},
                 {"call_id", call.id},    {"name", call.name},       {"arguments", ""}};
    const std::size_t index = items_.size();
    bytes += send({{"type", "response.output_item.added"}, {"output_index", index}, {"item", item}});
    for (const bool first : {true, false})
      bytes += send({{"type", "response.function_call_arguments.delta"},
                     {"item_id", "fc_" + call.id},
                     {"output_index", index},
                     {"delta", part(call.arguments, first)}});
    item["status"] = "completed";
    item["arguments"] = call.arguments;
    items_.push_back(item);
    return bytes + send({{"type", "response.output_item.done"}, {"output_index", index}, {"item", item}});
  }
  std::string end(FinishReason reason, const Usage& usage) override {
    std::string bytes;
    if (reason == FinishReason::refusal) {
      bytes += open("message");
      refused_ = true;
    }
    bytes += open("") + begin();
    Json last = response("completed");
    if (reason == FinishReason::length || reason == FinishReason::content_filter ||
        reason == FinishReason::other) {
      last["status"] = "incomplete";
      last["incomplete_details"] = {{"reason", reason == FinishReason::length           ? "max_output_tokens"
                                               : reason == FinishReason::content_filter ? "content_filter"
                                                                                        : "a_new_word"}};
    }
    last["output"] = items_;
    last["usage"] = {{"input_tokens", usage.prompt_tokens},
                     {"output_tokens", usage.completion_tokens},
                     {"total_tokens", usage.total_tokens}};
    if (!setting_.stream) return last.dump();
    return bytes + send({{"type", "response." + last["status"].get<std::string>()}, {"response", last}});
  }
  std::string error(std::string_view type, std::string_view message) override {
    return named_event({{"type", "error"}, {"code", type}, {"message", message}});
  }
  std::string refusal(std::string_view type, std::string_view code, std::string_view message) override {
    return Json{{"error", {{"message", message}, {"type", type}, {"code", code}}}}.dump();
  }

 private:
  Json response(std::string_view status) const {
    return {{"id", setting_.id}, {"object", "response"}, {"status", status}, {"model", setting_.model}};
  }
  std::string item_id() const {
    return (open_ == "message" ? "msg_" : "rs_") + setting_.id + '_' + std::to_string(items_.size());
  }
  std::string send(Json data) {
    if (!setting_.stream) return {};
    data["sequence_number"] = sequence_++;
    return named_event(data);
  }
  std::string begin() {
    if (std::exchange(has_begun_, true)) return {};
    return send({{"type", "response.created"}, {"response", response("in_progress")}});
  }
  // Ends the open item, unless it is of that type; then begins one, unless the type is empty.
  std::string open(const std::string& type) {
    std::string bytes = begin();
    if (open_ == type) return bytes;
    if (!open_.empty()) bytes += close();
    open_ = type;
    if (type.empty()) return bytes;
    Json item = {{"id", item_id()}, {"type", type}};
    if (type == "message") {
      item["role"] = "assistant";
      item["status"] = "in_progress";
      item["content"] = Json::array();
    } else {
      item["summary"] = Json::array();
    }
    return bytes +
           send({{"type", "response.output_item.added"}, {"output_index", items_.size()}, {"item", item}});
  }
  std::string close() {
    Json item = {{"id", item_id()}, {"type", open_}};
    if (open_ == "message") {
      item["role"] = "assistant";
      item["status"] = "completed";
      item["content"] = Json::array();
      if (!words_.empty() || !refused_)
        item["content"].push_back(
            {{"type", "output_text"}, {"text", words_}, {"annotations", Json::array()}});
      if (refused_) item["content"].push_back({{"type", "refusal"}, {"refusal", "I will not."}});
    } else {
      item["summary"] = Json::array({{{"type", "summary_text"}, {"text", words_}}});
      if (!signature_.empty()) item["encrypted_content"] = signature_;
    }
    const std::size_t index = items_.size();
    items_.push_back(item);
    words_.clear();
    signature_.clear();
    return send({{"type", "response.output_item.done"}, {"output_index", index}, {"item", item}});
  }

  const AnswerSetting setting_;
  Json items_ = Json::array();
  std::string open_, words_, signature_;
  bool has_begun_ = false, refused_ = false;
  std::uint64_t sequence_ = 0;
};

class MessagesForm final : public AnswerForm {
 public:
  explicit MessagesForm(AnswerSetting setting) : setting_(std::move(setting)) {}

  std::string text(const std::string& words) override {
    std::string bytes = open("text", {{"text", ""}});
    blocks_.back()["text"] = blocks_.back()["text"].get<std::string>() + words;
    return bytes + delta({{"type", "text_delta"}, {"text", words}});
  }
  std::string reasoning(const std::string& words, const std::string& signature) override {
    std::string bytes = open("thinking", {{"thinking", ""}, {"signature", ""}});
    blocks_.back()["thinking"] = blocks_.back()["thinking"].get<std::string>() + words;
    bytes += delta({{"type", "thinking_delta"}, {"thinking", words}});
    if (signature.empty()) return bytes;
    blocks_.back()["signature"] = signature;
    return bytes + delta({{"type", "signature_delta"}, {"signature", signature}}) + close();
  }
  std::string call(const ToolCall& call) override {
    std::string bytes =
        close() + open("tool_use", {{"id", call.id}, {"name", call.name}, {"input", Json::object()}});
    Json input = Json::parse(call.arguments, nullptr, false);
    blocks_.back()["input"] = input.is_object() ? input : Json::object();
    for (const bool first : {true, false})
      bytes += delta({{"type", "input_json_delta"}, {"partial_json", part(call.arguments, first)}});
    return bytes + close();
  }
  std::string end(FinishReason reason, const Usage& usage) override {
    std::string bytes = begin() + close();
    if (!setting_.stream) {
      Json all = message();
      all["content"] = blocks_;
      all["stop_reason"] = word(reason);
      all["usage"] = {{"input_tokens", usage.prompt_tokens}, {"output_tokens", usage.completion_tokens}};
      return all.dump();
    }
    return bytes +
           named_event(
               {{"type", "message_delta"},
                {"delta", {{"stop_reason", word(reason)}, {"stop_sequence", nullptr}}},
                {"usage",
                 {{"input_tokens", usage.prompt_tokens}, {"output_tokens", usage.completion_tokens}}}}) +
           named_event({{"type", "message_stop"}});
  }
  std::string error(std::string_view type, std::string_view message) override {
    return named_event({{"type", "error"}, {"error", {{"type", type}, {"message", message}}}});
  }
  std::string refusal(std::string_view type, std::string_view, std::string_view message) override {
    return Json{{"type", "error"}, {"error", {{"type", type}, {"message", message}}}}.dump();
  }

 private:
  Json message() const {
    return {{"id", setting_.id},       {"type", "message"},        {"role", "assistant"},
            {"model", setting_.model}, {"content", Json::array()}, {"stop_reason", nullptr}};
  }
  std::string begin() {
    if (std::exchange(has_begun_, true) || !setting_.stream) return {};
    Json first = message();
    first["usage"] = {{"input_tokens", setting_.prompt_tokens}, {"output_tokens", 1}};
    return named_event({{"type", "message_start"}, {"message", first}}) + named_event({{"type", "ping"}});
  }
  std::string delta(Json what) const {
    if (!setting_.stream) return {};
    return named_event(
        {{"type", "content_block_delta"}, {"index", blocks_.size() - 1}, {"delta", std::move(what)}});
  }
  std::string open(const std::string& type, const Json& members) {
    std::string bytes = begin();
    if (open_ == type) return bytes;
    bytes += close();
    open_ = type;
    Json block = {{"type", type}};
    block.update(members);
    blocks_.push_back(block);
    if (!setting_.stream) return bytes;
    return bytes +
           named_event(
               {{"type", "content_block_start"}, {"index", blocks_.size() - 1}, {"content_block", block}});
  }
  std::string close() {
    if (open_.empty()) return {};
    open_.clear();
    if (!setting_.stream) return {};
    return named_event({{"type", "content_block_stop"}, {"index", blocks_.size() - 1}});
  }
  static std::string word(FinishReason reason) {
    switch (reason) {
      case FinishReason::tool_calls:
        return "tool_use";
      case FinishReason::length:
        return "max_tokens";
      case FinishReason::content_filter:
      case FinishReason::refusal:
        return "refusal";
      case FinishReason::other:
        return "a_new_word";
      default:
        return "end_turn";
    }
  }

  const AnswerSetting setting_;
  Json blocks_ = Json::array();
  std::string open_;
  bool has_begun_ = false;
};

}  // namespace

std::unique_ptr<AnswerForm> AnswerForm::make(Dialect dialect, AnswerSetting setting) {
  switch (dialect) {
    case Dialect::openai_responses:
      return std::make_unique<ResponsesForm>(std::move(setting));
    case Dialect::anthropic_messages:
      return std::make_unique<MessagesForm>(std::move(setting));
    default:
      return std::make_unique<ChatForm>(std::move(setting));
  }
}

}  // namespace agentcore::sim
