// The checks of a request to /messages.
#include "testing/request_check.hpp"

#include <cstddef>

namespace agentcore::detail::testing {
namespace {

bool is_thinking_block(const std::string& type) {
  return type == "thinking" || type == "redacted_thinking";
}

// Checks the messages one after the other, and counts the marks for the cache.
class AnthropicMessages {
 public:
  AnthropicMessages(RequestCheck& check, const Json& body) : check_(check) {
    const Json* const thinking = member(body, "thinking");
    thinks_ = thinking != nullptr && text_of(*thinking, "type") == "enabled";
  }

  void run(const Json& messages) {
    for (std::size_t i = 0; i < messages.size(); ++i) take(messages, i);
    if (!messages.empty()) check_.all_answered(entry_of("messages", messages.size() - 1));
    // "a final assistant message must start with a thinking block (preceding the lastmost set of tool_use and
    // tool_result blocks)": the first answer of the running turn.
    if (thinks_ && turn_has_calls_ && !turn_thinks_)
      check_.add(entry_of(turn_answer_ + ".content", 0), "the reasoning before the calls is missing");
  }

  // A block of the system prompt, a tool, or a block of a message.
  void count_mark(const std::string& place, const Json& block) {
    constexpr int most_marks = 4;
    if (member(block, "cache_control") == nullptr) return;
    if (is_thinking_block(text_of(block, "type")))
      check_.add(place + ".cache_control", "is not allowed in a block of reasoning");
    if (++marks_ == most_marks + 1) check_.add(place + ".cache_control", "is the fifth; four are allowed");
  }

  void take_text(const std::string& place, const Json& block) {
    check_.text(place + ".text", member(block, "text"));
  }

 private:
  void take(const Json& messages, std::size_t index) {
    const std::string place = entry_of("messages", index);
    const Json& message = messages[index];
    const std::string role = text_of(message, "role");
    if (role != "user" && role != "assistant")
      return check_.add(place + ".role", "is neither \"user\" nor \"assistant\"");
    if (index == 0 && role != "user") check_.add(place, "the first message is not the user's");
    // Two messages of the role user are joined by the API. Two answers are, too; but then their reasoning is
    // not where it was.
    if (role == "assistant" && role == before_) check_.add(place, "two answers in a row");
    check_.members(place, message, "role content");
    const Json* const content = member(message, "content");
    if (role == "assistant")
      take_answer(place, content, index + 1 == messages.size());
    else
      take_user(place, content);
    before_ = role;
  }

  // The list of blocks; null, with a problem or checked, if it is a text.
  const Json* blocks(const std::string& place, const Json* content) {
    if (content != nullptr && content->is_array() && !content->empty()) return content;
    if (content != nullptr && content->is_array())
      check_.add(place + ".content", "is an empty list");
    else
      check_.text(place + ".content", content);
    return nullptr;
  }

  // A message of a person begins a turn; one with results goes on with it.
  void begin_turn() {
    turn_answer_.clear();
    turn_thinks_ = turn_has_calls_ = false;
  }

  void take_user(const std::string& place, const Json* content) {
    const Json* const list = blocks(place, content);
    bool has_others = false;
    const bool has_results = list != nullptr && text_of(list->front(), "type") == "tool_result";
    if (!has_results && before_ != "user") begin_turn();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const Json& block = (*list)[i];
      const std::string at = entry_of(place + ".content", i);
      count_mark(at, block);
      if (text_of(block, "type") == "tool_result") {
        if (has_others) check_.add(at, "the result of a tool behind another block");
        take_result(at, block);
        continue;
      }
      if (!has_others) check_.all_answered(at);
      has_others = true;
      take_user_block(at, block);
    }
    if (!has_others && check_.has_open_calls()) check_.all_answered(place);
  }

  void take_user_block(const std::string& place, const Json& block) {
    const std::string type = text_of(block, "type");
    if (type == "text") return take_text(place, block);
    if (!check_.rules().images) return check_.add(place + ".type", "the provider takes only texts here");
    if (type == "image") return take_image(place, block);
    if (type != "document" && type != "search_result" && type != "container_upload")
      check_.add(place + ".type", "there is no block of this type in a message of the user");
  }

  void take_image(const std::string& place, const Json& block) {
    const Json* const source = member(block, "source");
    const std::string type = source == nullptr ? "" : text_of(*source, "type");
    if (type == "base64" && text_of(*source, "media_type").starts_with("image/")) return;
    if (type == "url" && text_of(*source, "url").starts_with("http")) return;
    if (type != "file") check_.add(place + ".source", "is neither the address nor the data of an image");
  }

  void take_result(const std::string& place, const Json& block) {
    check_.result(place + ".tool_use_id", member(block, "tool_use_id"));
    const Json* const content = member(block, "content");
    if (content == nullptr) return;  // a result without content is allowed
    if (!content->is_array()) {
      check_.text(place + ".content", content);
      return;
    }
    for (std::size_t i = 0; i < content->size(); ++i)
      take_user_block(entry_of(place + ".content", i), (*content)[i]);
  }

  void take_answer(const std::string& place, const Json* content, bool is_last) {
    const Json* const list = blocks(place, content);
    if (turn_answer_.empty()) {
      turn_answer_ = place;
      turn_thinks_ = list != nullptr && is_thinking_block(text_of(list->front(), "type"));
    }
    if (list == nullptr) return;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string at = entry_of(place + ".content", i);
      count_mark(at, (*list)[i]);
      turn_has_calls_ = turn_has_calls_ || text_of((*list)[i], "type") == "tool_use";
      take_answer_block(at, (*list)[i]);
    }
    const std::string last = entry_of(place + ".content", list->size() - 1);
    if (is_thinking_block(text_of(list->back(), "type")))
      check_.add(last, "reasoning at the end of an answer");
    if (is_last && text_of(list->back(), "text").ends_with(' '))
      check_.add(last + ".text", "ends with a blank, at the end of the request");
  }

  void take_answer_block(const std::string& place, const Json& block) {
    const std::string type = text_of(block, "type");
    if (type == "text") return take_text(place, block);
    if (type == "tool_use") return take_call(place, block);
    if (type == "thinking") {
      if (text_of(block, "signature").empty() && !check_.rules().unsigned_reasoning)
        check_.add(place + ".signature", "is missing");
      if (member(block, "thinking") == nullptr) check_.add(place + ".thinking", "is missing");
    } else if (type == "redacted_thinking") {
      if (text_of(block, "data").empty()) check_.add(place + ".data", "is missing");
    } else if (type != "fallback" && !type.starts_with("server_") && !type.ends_with("_tool_result")) {
      check_.add(place + ".type", "there is no block of this type in an answer");
    }
  }

  void take_call(const std::string& place, const Json& block) {
    check_.call(place + ".id", member(block, "id"));
    check_.tool_name(place + ".name", member(block, "name"));
    const Json* const input = member(block, "input");
    if (input == nullptr || !input->is_object()) check_.add(place + ".input", "is no object");
  }

  RequestCheck& check_;
  bool thinks_ = false;
  std::string turn_answer_ = {};  // the place of the first answer of the turn
  bool turn_thinks_ = false;      // that answer begins with reasoning
  bool turn_has_calls_ = false;
  int marks_ = 0;
  std::string before_ = {};
};

void check_messages_system(const Json& body, RequestCheck& check, AnthropicMessages& messages) {
  const Json* const system = member(body, "system");
  if (system == nullptr) return;
  if (!system->is_array()) {
    check.text("system", system);
    return;
  }
  for (std::size_t i = 0; i < system->size(); ++i) {
    messages.count_mark(entry_of("system", i), (*system)[i]);
    messages.take_text(entry_of("system", i), (*system)[i]);
  }
}

void check_messages_tools(const Json& body, RequestCheck& check, AnthropicMessages& messages) {
  const Json& tools = list_of(body, "tools");
  for (std::size_t i = 0; i < tools.size(); ++i) {
    messages.count_mark(entry_of("tools", i), tools[i]);
    if (text_of(tools[i], "type").empty() || text_of(tools[i], "type") == "custom")
      check.tool(entry_of("tools", i), tools[i], "input_schema");
  }
  const Json* const choice = member(body, "tool_choice");
  check.tools(body, choice == nullptr ? "" : text_of(*choice, "name"));
}

// What the API refuses beside thinking: "`max_tokens` must be greater than `thinking.budget_tokens`",
// "Thinking may not be enabled when tool_choice forces tool use", "`temperature` may only be set to 1 when
// thinking is enabled", and the same of top_k and of top_p below 0.95.
void check_thinking(const Json& body, RequestCheck& check) {
  constexpr int least_budget = 1024;
  const Json* const thinking = member(body, "thinking");
  const std::string type = thinking == nullptr ? "" : text_of(*thinking, "type");
  if (type != "enabled" && type != "adaptive") return;
  const Json* const choice = member(body, "tool_choice");
  const std::string chosen = choice == nullptr ? "" : text_of(*choice, "type");
  if (chosen == "any" || chosen == "tool") check.add("tool_choice", "demands a call beside thinking");
  const auto number = [&body](const char* name, double usual) {
    const Json* const value = member(body, name);
    return value != nullptr && value->is_number() ? value->get<double>() : usual;
  };
  if (number("temperature", 1.0) != 1.0) check.add("temperature", "is not 1 beside thinking");
  if (number("top_p", 1.0) < 0.95) check.add("top_p", "is below 0.95 beside thinking");
  if (member(body, "top_k") != nullptr) check.add("top_k", "is not allowed beside thinking");
  if (type != "enabled") return;
  const Json* const budget = member(*thinking, "budget_tokens");
  if (budget == nullptr || !budget->is_number_unsigned() || *budget < least_budget)
    return check.add("thinking.budget_tokens", "is no number of at least 1024");
  if (const Json* const limit = member(body, "max_tokens");
      limit != nullptr && limit->is_number() && *budget >= *limit)
    check.add("thinking.budget_tokens", "is not below max_tokens");
}

}  // namespace

void check_messages(const Json& body, RequestCheck& check) {
  const Json* const limit = member(body, "max_tokens");
  if (limit == nullptr || !limit->is_number_unsigned() || *limit < 1)
    check.add("max_tokens", "is no number of at least 1");
  check_thinking(body, check);
  AnthropicMessages messages(check, body);
  check_messages_system(body, check, messages);
  check_messages_tools(body, check, messages);
  const Json* const list = member(body, "messages");
  if (list == nullptr || !list->is_array() || list->empty())
    return check.add("messages", "is no list with entries");
  messages.run(*list);
}

}  // namespace agentcore::detail::testing
