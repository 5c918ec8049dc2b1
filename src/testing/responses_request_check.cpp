// The checks of a request to /responses.
#include "testing/request_check.hpp"

#include <cstddef>

namespace agentcore::detail::testing {
namespace {

// Checks the items one after the other.
class ResponsesItems {
 public:
  ResponsesItems(RequestCheck& check, const Json& body)
      : check_(check), stores_(member(body, "store") == nullptr || body["store"] != Json(false)) {}

  void run(const Json& items) {
    for (std::size_t i = 0; i < items.size(); ++i) take(items[i], entry_of("input", i));
    if (items.empty()) return;
    const std::string last = entry_of("input", items.size() - 1);
    check_.all_answered(last);
    end_reasoning(last, false);
  }

 private:
  void take(const Json& item, const std::string& place) {
    const std::string type = text_of(item, "type"), role = text_of(item, "role");
    const bool is_answer = type == "function_call" || (role == "assistant" && type != "reasoning");
    if (type != "reasoning") end_reasoning(place, is_answer);
    if (type == "reasoning") return take_reasoning(item, place);
    if (type == "function_call") return take_call(item, place);
    if (type == "function_call_output") return take_output(item, place);
    if (type.empty() || type == "message") return take_message(item, role, place);
    if (!type.ends_with("_call") && !type.ends_with("_call_output") && type != "compaction")
      check_.add(place + ".type", "there is no item of this type");
  }

  // The API refuses reasoning without the item that it led to.
  void end_reasoning(const std::string& place, bool is_answer) {
    if (reasons_ && !is_answer)
      check_.add(place, "comes where the answer to the reasoning before it must be");
    reasons_ = false;
  }

  void take_reasoning(const Json& item, const std::string& place) {
    const Json* const summary = member(item, "summary");
    if (summary == nullptr || !summary->is_array()) check_.add(place + ".summary", "is no list");
    const bool must_be_encrypted = !stores_ && !check_.rules().unsigned_reasoning;
    if (must_be_encrypted && text_of(item, "encrypted_content").empty())
      check_.add(place + ".encrypted_content", "is missing, and the provider has not stored the item");
    const std::string id = text_of(item, "id");
    if (!id.empty() && !id.starts_with("rs_")) check_.add(place + ".id", "does not begin with rs_");
    reasons_ = true;
  }

  void take_call(const Json& item, const std::string& place) {
    check_.call(place + ".call_id", member(item, "call_id"));
    check_.tool_name(place + ".name", member(item, "name"));
    check_.arguments(place + ".arguments", member(item, "arguments"));
  }

  void take_output(const Json& item, const std::string& place) {
    check_.result(place + ".call_id", member(item, "call_id"));
    const Json* const output = member(item, "output");
    if (output == nullptr || !output->is_array()) {
      check_.text(place + ".output", output, check_.rules().empty_texts);
      return;
    }
    for (std::size_t i = 0; i < output->size(); ++i)
      take_part((*output)[i], "user", entry_of(place + ".output", i));
  }

  void take_message(const Json& item, const std::string& role, const std::string& place) {
    const bool is_known = role == "user" || role == "assistant" || role == "system" || role == "developer";
    if (!is_known) check_.add(place + ".role", "the provider does not know this role");
    if (role != "assistant") check_.all_answered(place);
    const Json* const content = member(item, "content");
    if (content == nullptr || !content->is_array()) {
      check_.text(place + ".content", content, check_.rules().empty_texts && role == "user");
      return;
    }
    if (content->empty()) check_.add(place + ".content", "is an empty list");
    for (std::size_t i = 0; i < content->size(); ++i)
      take_part((*content)[i], role, entry_of(place + ".content", i));
  }

  void take_part(const Json& part, const std::string& role, const std::string& place) {
    const std::string type = text_of(part, "type");
    const bool is_answer = role == "assistant";
    if (type == (is_answer ? "output_text" : "input_text")) {
      check_.text(place + ".text", member(part, "text"), !is_answer && check_.rules().empty_texts);
    } else if (is_answer && type == "refusal") {
      check_.text(place + ".refusal", member(part, "refusal"));
    } else if (!is_answer && !check_.rules().images) {
      check_.add(place + ".type", "the provider takes only texts here");
    } else if (!is_answer && type == "input_image") {
      const std::string url = text_of(part, "image_url");
      if (!url.starts_with("https://") && !url.starts_with("http://") && !url.starts_with("data:image/") &&
          text_of(part, "file_id").empty())
        check_.add(place + ".image_url", "is neither the address nor the data of an image");
    } else if (is_answer || (type != "input_file" && type != "input_audio")) {
      check_.add(place + ".type", "there is no part of this type in a message of that role");
    }
  }

  RequestCheck& check_;
  const bool stores_;
  bool reasons_ = false;  // the items before are reasoning
};

void check_responses_tools(const Json& body, RequestCheck& check) {
  const Json& tools = list_of(body, "tools");
  for (std::size_t i = 0; i < tools.size(); ++i)
    if (text_of(tools[i], "type") == "function") check.tool(entry_of("tools", i), tools[i], "parameters");
  const Json* const choice = member(body, "tool_choice");
  check.tools(body, choice == nullptr || !choice->is_object() ? "" : text_of(*choice, "name"));
}

void check_responses_members(const Json& body, RequestCheck& check) {
  for (const char* const name : {"messages", "stop", "stream_options", "max_tokens", "response_format"})
    if (member(body, name) != nullptr) check.add(name, "this API does not know this member");
  if (const Json* const instructions = member(body, "instructions")) check.text("instructions", instructions);
  constexpr int least = 16;
  const Json* const limit = member(body, "max_output_tokens");
  if (limit != nullptr && (!limit->is_number_unsigned() || *limit < least))
    check.add("max_output_tokens", "is no number of at least 16");
}

}  // namespace

void check_responses(const Json& body, RequestCheck& check) {
  const Json* const input = member(body, "input");
  if (input != nullptr && input->is_array() && !input->empty())
    ResponsesItems(check, body).run(*input);
  else
    check.text("input", input);
  check_responses_tools(body, check);
  check_responses_members(body, check);
}

}  // namespace agentcore::detail::testing
