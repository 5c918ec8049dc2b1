#include "llm/dialects/last_check.hpp"

#include "core/blank.hpp"
#include "core/message_items.hpp"
#include "core/utf8.hpp"
#include "llm/dialects/json_text.hpp"
#include "llm/dialects/request_body.hpp"
#include "llm/dialects/tool_names.hpp"
#include "llm/dialects/tool_schema.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace agentcore::detail::llm {
namespace {

constexpr std::string_view empty_question = "(empty message)";
constexpr std::string_view empty_result = "(no output)";
constexpr std::string_view bridge = "OK.";

// Broken UTF-8 in them is mended when they are written.
bool are_arguments(const std::string& text) {
  return is_json_object(text) || (!core::is_utf8(text) && is_json_object(core::valid_utf8(text)));
}

// Goes through the messages of a request, and makes the list of those that are sent.
class LastCheck {
 public:
  LastCheck(ChatRequest& request, Dialect dialect, const BodyDefaults& defaults)
      : request_(request),
        defaults_(defaults),
        bridges_(defaults.bridge_tool_results && dialect != Dialect::anthropic_messages),
        fills_results_(dialect != Dialect::anthropic_messages) {}

  Repairs run() {
    repairs_.tools = sent_names(request_.tools, defaults_);
    for (ToolDescription& tool : request_.tools) check_tool(tool);
    if (const SentName* const chosen = offered(request_.tool_choice.name))
      request_.tool_choice.name = chosen->sent;
    std::vector<ChatMessage> given = std::exchange(request_.messages, {});
    request_.messages.reserve(given.size());
    for (ChatMessage& message : given) {
      places_.push_back(request_.messages.size());
      check_calls(message);
      if (stays(message)) add(std::move(message));
    }
    places_.push_back(request_.messages.size());
    if (repairs_.left_out + repairs_.bridges != 0) move_places();
    return repairs_;
  }

 private:
  const SentName* offered(std::string_view own) const noexcept { return find_own(repairs_.tools, own); }

  void check_tool(ToolDescription& tool) {
    if (const SentName* const name = offered(tool.name)) tool.name = name->sent;
    std::string completed = completed_schema(tool.parameters, !defaults_.sends_empty_schemas);
    if (completed.empty()) return;
    tool.parameters = std::move(completed);
    ++repairs_.schemas;
  }

  void check_calls(ChatMessage& message) {
    for (ToolCall& call : message.tool_calls()) {
      if (const SentName* const tool = offered(call.name)) {
        call.name = tool->sent;
      } else if (!is_tool_name(call.name, defaults_)) {
        call.name = similar_tool_name(std::move(call.name), defaults_);
        ++repairs_.names;
      }
      if (are_arguments(call.arguments)) continue;
      call.arguments = "{}";
      ++repairs_.arguments;
    }
  }

  // Whether the message is sent. Gives one that must stand at its place a text.
  bool stays(ChatMessage& message) {
    // A blank text is refused beside other items, too.
    std::erase_if(message.items, [](const MessageItem& item) {
      const auto* const text = std::get_if<TextItem>(&item);
      return text != nullptr && !text->text.empty() && core::is_blank(text->text);
    });
    if (!core::is_blank(message) || !message.parts().empty() || !message.tool_calls().empty()) return true;
    switch (message.role) {
      case Role::user:
        return last_is(Role::user) ? leaves_out() : fills(message, empty_question);
      case Role::tool:
        return !fills_results_ || fills(message, empty_result);
      default:
        return leaves_out();
    }
  }
  bool leaves_out() {
    ++repairs_.left_out;
    return false;
  }
  bool fills(ChatMessage& message, std::string_view text) {
    message.set_content(std::string(text));
    ++repairs_.filled;
    return true;
  }

  bool last_is(Role role) const {
    return !request_.messages.empty() && request_.messages.back().role == role;
  }

  void add(ChatMessage&& message) {
    if (bridges_ && message.role == Role::user && last_is(Role::tool)) {
      request_.messages.push_back(ChatMessage::assistant(std::string(bridge)));
      ++repairs_.bridges;
    }
    request_.messages.push_back(std::move(message));
  }

  // Numbers of messages of the given list become numbers of the new one.
  void move_places() {
    const auto moved = [this](std::size_t count) { return places_[std::min(count, places_.size() - 1)]; };
    if (request_.stable_messages) request_.stable_messages = moved(*request_.stable_messages);
    for (std::size_t& end : request_.sent_before) end = moved(end);
    auto& ends = request_.sent_before;
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  }

  ChatRequest& request_;
  const BodyDefaults& defaults_;
  const bool bridges_;
  const bool fills_results_;
  std::vector<std::size_t> places_ = {};  // for each number of given messages, how many are sent of them
  Repairs repairs_ = {};
};

void append(std::string& text, std::size_t count, std::string_view what) {
  if (count == 0) return;
  if (!text.empty()) text += ", ";
  text.append(what).append(": ").append(std::to_string(count));
}

}  // namespace

std::string Repairs::text() const {
  std::string text;
  append(text, tools.size(), "names of offered tools changed");
  append(text, names, "names of called tools changed");
  append(text, arguments, "arguments replaced by {}");
  append(text, left_out, "empty messages left out");
  append(text, filled, "empty messages filled");
  append(text, bridges, "answers put between a result and a user message");
  append(text, schemas, "schemas completed");
  return text;
}

Repairs last_check(ChatRequest& request, Dialect dialect, const BodyDefaults& defaults) {
  return LastCheck(request, dialect, defaults).run();
}

}  // namespace agentcore::detail::llm
