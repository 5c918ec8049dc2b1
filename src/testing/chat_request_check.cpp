// The checks of a request to /chat/completions.
#include "testing/request_check.hpp"

#include <cstddef>
#include <optional>

namespace agentcore::detail::testing {
namespace {

// The part of a content list: a text, or an image where the message may have one.
void check_chat_part(RequestCheck& check, const std::string& place, const Json& part, bool images) {
  const std::string type = text_of(part, "type");
  if (type == "text") {
    check.text(place + ".text", member(part, "text"));
    return;
  }
  if (type != "image_url" && type != "input_audio" && type != "file")
    return check.add(place + ".type", "there is no part of this type");
  if (!images) return check.add(place + ".type", "the provider takes only texts here");
  if (type != "image_url") return;
  const Json* const image = member(part, "image_url");
  const std::string url = image == nullptr ? "" : text_of(*image, "url");
  if (!url.starts_with("https://") && !url.starts_with("http://") && !url.starts_with("data:image/"))
    check.add(place + ".image_url.url", "is neither the address nor the data of an image");
}

// True if the content has a text or a part.
bool check_chat_content(RequestCheck& check, const std::string& place, const Json* content, bool images,
                        bool may_be_empty) {
  if (content == nullptr || !content->is_array()) return check.text(place, content, may_be_empty);
  if (content->empty()) check.add(place, "is an empty list");
  for (std::size_t i = 0; i < content->size(); ++i)
    check_chat_part(check, entry_of(place, i), (*content)[i], images);
  return !content->empty();
}

// Checks the messages one after the other.
class ChatMessages {
 public:
  explicit ChatMessages(RequestCheck& check, const Json& body)
      : check_(check),
        offers_tools_(member(body, "tools") != nullptr),
        thinks_(is_thinking(body)),
        signs_(check.rules().signed_calls && is_gemini_3(text_of(body, "model"))) {}

  void run(const Json& messages) {
    last_question_ = last_of(messages, "user");
    for (std::size_t i = 0; i < messages.size(); ++i) take(messages[i], i);
    if (!messages.empty()) end(entry_of("messages", messages.size() - 1));
  }

 private:
  static bool is_thinking(const Json& body) {
    const Json* const thinking = member(body, "thinking");
    return thinking == nullptr || text_of(*thinking, "type") != "disabled";
  }
  static bool is_gemini_3(std::string_view model) {
    const auto at = model.find("gemini-");
    return at != std::string_view::npos && model.size() > at + 7 && model[at + 7] >= '3';
  }
  static std::size_t last_of(const Json& messages, std::string_view role) {
    std::size_t at = messages.size();
    while (at > 0 && text_of(messages[at - 1], "role") != role) --at;
    return at;  // behind it; 0: none
  }

  void take(const Json& message, std::size_t index) {
    const std::string place = entry_of("messages", index);
    const std::string role = text_of(message, "role");
    if (role != "tool") check_.all_answered(place);
    check_order(place, role, message);
    if (role == "system" || (role == "developer" && check_.rules().developer_role)) {
      check_.members(place, message, "role content name");
      check_chat_content(check_, place + ".content", member(message, "content"), false, false);
    } else if (role == "user") {
      take_user(place, message);
    } else if (role == "assistant") {
      take_answer(place, message, index);
    } else if (role == "tool") {
      take_result(place, message);
    } else {
      check_.add(place + ".role", "the provider does not know this role");
    }
    before_ = role;
  }

  void check_order(const std::string& place, const std::string& role, const Json& message) {
    const RequestRules& rules = check_.rules();
    const bool is_system = role == "system" || role == "developer";
    if (is_system) {
      if (rules.alternates && !before_.empty()) check_.add(place, "a system message that is not the first");
      return;
    }
    if (!begun_ && rules.user_first && role != "user")
      check_.add(place, "the first message is not the user's");
    begun_ = true;
    const bool counts = role != "tool" && member(message, "tool_calls") == nullptr;
    if (role == "user" && before_ == "tool" && !rules.user_after_result)
      check_.add(place, "a message of the user right after the result of a tool");
    else if (rules.alternates && counts && role == alternate_)
      check_.add(place, "two messages of the role " + role + " without the other between them");
    if (counts) alternate_ = role;
  }

  void take_user(const std::string& place, const Json& message) {
    check_.members(place, message, "role content name");
    check_chat_content(check_, place + ".content", member(message, "content"), check_.rules().images,
                       check_.rules().empty_texts);
  }

  void take_result(const std::string& place, const Json& message) {
    check_.members(place, message, "role content name tool_call_id");
    check_.result(place + ".tool_call_id", member(message, "tool_call_id"));
    check_chat_content(check_, place + ".content", member(message, "content"), false,
                       check_.rules().empty_texts);
  }

  void take_answer(const std::string& place, const Json& message, std::size_t index) {
    check_.members(place, message,
                   "role content name refusal tool_calls " + std::string(check_.rules().answer_members));
    const Json* const calls = member(message, "tool_calls");
    const Json* const content = member(message, "content");
    if (calls == nullptr) {
      check_chat_content(check_, place + ".content", content, false, false);
    } else {
      if (content != nullptr) check_chat_content(check_, place + ".content", content, false, true);
      take_calls(place + ".tool_calls", *calls, index);
    }
    check_reasoning(place, message, calls != nullptr);
  }

  void take_calls(const std::string& place, const Json& calls, std::size_t index) {
    if (!calls.is_array() || calls.empty()) return check_.add(place, "is no list with entries");
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Json& call = calls[i];
      const std::string at = entry_of(place, i);
      if (text_of(call, "type") != "function") check_.add(at + ".type", "is not \"function\"");
      check_.members(at, call, "id type function index extra_content");
      check_.call(at + ".id", member(call, "id"));
      const Json* const function = member(call, "function");
      if (function == nullptr) {
        check_.add(at + ".function", "is missing");
        continue;
      }
      check_.tool_name(at + ".function.name", member(*function, "name"));
      check_.arguments(at + ".function.arguments", member(*function, "arguments"));
      check_signature(at, call, i == 0 && index >= last_question_);
    }
  }

  void check_signature(const std::string& place, const Json& call, bool must_be_signed) {
    const Json* const extra = member(call, "extra_content");
    if (extra != nullptr && !check_.rules().signed_calls)
      check_.add(place + ".extra_content", "the provider does not know this member");
    const Json* const google = extra == nullptr ? nullptr : member(*extra, "google");
    if (!signs_ || !must_be_signed) return;
    if (google == nullptr || text_of(*google, "thought_signature").empty())
      check_.add(place + ".extra_content", "the reasoning before the call: its signature is missing");
  }

  void check_reasoning(const std::string& place, const Json& message, bool has_calls) {
    const ReasoningBack back = check_.rules().reasoning_back;
    const bool wants = (back == ReasoningBack::with_calls && has_calls) ||
                       (back == ReasoningBack::with_tools && offers_tools_);
    const Json* const reasoning = member(message, "reasoning_content");
    if (reasoning != nullptr && !reasoning->is_string())
      check_.add(place + ".reasoning_content", "is no text");
    else if (reasoning == nullptr && wants && thinks_)
      check_.add(place + ".reasoning_content", "the reasoning before the answer is missing");
  }

  void end(const std::string& place) {
    check_.all_answered(place);
    if (before_ == "assistant" && !check_.rules().answer_last)
      check_.add(place, "an answer as the last message");
  }

  RequestCheck& check_;
  const bool offers_tools_;
  const bool thinks_;
  const bool signs_;
  bool begun_ = false;  // a message that is not the system's was taken
  std::string before_ = {};
  std::string alternate_ = {};  // the role of the last message that counts for the alternation
  std::size_t last_question_ = 0;
};

void check_chat_tools(const Json& body, RequestCheck& check) {
  const Json& tools = list_of(body, "tools");
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const Json& tool = tools[i];
    const std::string place = entry_of("tools", i);
    if (text_of(tool, "type") != "function") check.add(place + ".type", "is not \"function\"");
    const Json* const function = member(tool, "function");
    if (function != nullptr)
      check.tool(place + ".function", *function, "parameters");
    else
      check.add(place + ".function", "is missing");
  }
  const Json* const choice = member(body, "tool_choice");
  const Json* const named = choice == nullptr ? nullptr : member(*choice, "function");
  check.tools(body, named == nullptr ? "" : text_of(*named, "name"));
}

void check_chat_limits(const Json& body, RequestCheck& check) {
  const RequestRules& rules = check.rules();
  if (member(body, "max_tokens") != nullptr && !rules.max_tokens)
    check.add("max_tokens", "the provider's name of the limit is max_completion_tokens");
  const Json* const options = member(body, "stream_options");
  if (options != nullptr && !rules.stream_options)
    check.add("stream_options", "the provider does not know this member");
  const Json* const stream = member(body, "stream");
  if (options != nullptr && (stream == nullptr || *stream != Json(true)))
    check.add("stream_options", "is only allowed with a stream");
}

void check_chat_format(const Json& body, RequestCheck& check) {
  const Json* const format = member(body, "response_format");
  if (format == nullptr || text_of(*format, "type") != "json_schema") return;
  const Json* const schema = member(*format, "json_schema");
  if (schema == nullptr || member(*schema, "schema") == nullptr || !(*schema)["schema"].is_object())
    return check.add("response_format.json_schema.schema", "is no object");
  check.tool_name("response_format.json_schema.name", member(*schema, "name"));
}

}  // namespace

void check_chat(const Json& body, RequestCheck& check) {
  const Json* const messages = member(body, "messages");
  if (messages == nullptr || !messages->is_array() || messages->empty())
    check.add("messages", "is no list with entries");
  else
    ChatMessages(check, body).run(*messages);
  check_chat_tools(body, check);
  check_chat_limits(body, check);
  check_chat_format(body, check);
}

}  // namespace agentcore::detail::testing
