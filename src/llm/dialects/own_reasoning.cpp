#include "llm/dialects/own_reasoning.hpp"

#include "core/blank.hpp"
#include "core/keyed_hash.hpp"
#include "core/text_hash.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

// The fingerprint of the messages so far. Each text has its length before it, so that no two lists of texts
// have the same bytes.
class Prefix {
 public:
  void add(const ChatMessage& message) {
    bytes_.clear();
    add(to_string(message.role));
    add(message.tool_call_id);
    for (const MessageItem& item : message.items) {
      if (const auto* const text = std::get_if<TextItem>(&item); text && !text->text.empty())
        add(text->text);
      else if (const auto* const call = std::get_if<ToolCall>(&item))
        for (const std::string* const part : {&call->id, &call->name, &call->arguments}) add(*part);
      else if (const auto* const image = std::get_if<ContentPart>(&item))
        for (const std::string* const part : {&image->url, &image->data, &image->media_type, &image->name})
          add(*part);
    }
    hash_ = core::sip_hash(hash_, 0, bytes_);
  }
  std::uint64_t value() const noexcept { return hash_ == 0 ? 1 : hash_; }

 private:
  void add(std::string_view text) { bytes_.append(std::to_string(text.size())).append(1, ':').append(text); }

  std::string bytes_;  // of one message
  std::uint64_t hash_ = 0;
};

// The text of a fingerprint; empty if it is not known.
std::string text_of(std::uint64_t fingerprint) {
  return fingerprint == 0 ? std::string() : core::hex_digits(fingerprint);
}

bool is_same(const std::string& made, const std::string& now) noexcept {
  return !made.empty() && made == now;
}

// True if the member has a text. In the text of a JSON object the quotes within strings are escaped, so only
// a member can look like one.
bool has_text(std::string_view object, std::string_view member) noexcept {
  constexpr std::string_view spaces = " \t\r\n";
  const auto letter = [&](std::size_t at) { return at < object.size() ? object[at] : '\0'; };
  for (auto at = object.find(member); at != std::string_view::npos; at = object.find(member, at + 1)) {
    const auto colon = object.find_first_not_of(spaces, at + member.size());
    if (letter(colon) == ':' && letter(object.find_first_not_of(spaces, colon + 1)) == '"') return true;
  }
  return false;
}

// True for reasoning that only a server that signs nothing takes back.
bool is_unsigned(const ReasoningBlock& block, Dialect dialect) noexcept {
  if (dialect == Dialect::openai_responses) return !has_text(block.data, R"("encrypted_content")");
  return dialect == Dialect::anthropic_messages && has_text(block.data, R"("thinking")") &&
         !has_text(block.data, R"("signature")");
}

// The first answer of the turn that goes on with results of tools; null: none does. A message of a person
// right behind a result is in one message with it, and begins no turn.
const ChatMessage* answer_of_running_turn(const std::vector<ChatMessage>& messages) noexcept {
  const ChatMessage* first = nullptr;
  bool has_calls = false;
  Role before = Role::assistant;
  for (const ChatMessage& message : messages) {
    if (message.role == Role::system) continue;
    if (message.role == Role::user && before == Role::assistant) {
      first = nullptr;
      has_calls = false;
    }
    if (message.role == Role::assistant && first == nullptr) first = &message;
    has_calls = has_calls || message.role == Role::tool;
    before = message.role;
  }
  return has_calls ? first : nullptr;
}

bool begins_with_reasoning(const ChatMessage& answer) noexcept {
  for (const MessageItem& item : answer.items) {
    const auto* const text = std::get_if<TextItem>(&item);
    if (!text || !core::is_blank(text->text)) return std::holds_alternative<ReasoningBlock>(item);
  }
  return false;
}

}  // namespace

ReasoningRule rule_of(Dialect dialect) noexcept {
  using When = ReasoningRule::When;
  switch (dialect) {
    case Dialect::openai_chat:
      return {.when = When::with_calls};
    case Dialect::openai_responses:
      return {.same_account = true};
    case Dialect::anthropic_messages:
      return {.same_account = true, .same_prefix = true};
  }
  return {};
}

Binding binding_of(const ChatRequest& request, const ReasoningRule& rule, std::string_view key) {
  static const std::string of_process = core::random_digits();
  Binding binding{request.model, core::fingerprint(request.salt.empty() ? of_process : request.salt, key)};
  if (!rule.same_prefix) return binding;
  Prefix prefix;
  for (const ChatMessage& message : request.messages) prefix.add(message);
  binding.prefix = prefix.value();
  return binding;
}

ReasoningBlock block_of(Dialect dialect, const std::string& server, const Binding& binding) {
  return {std::string(to_string(dialect)), {}, server, binding.model, text_of(binding.account),
          text_of(binding.prefix)};
}

bool goes_with(const ReasoningRule& rule, bool has_calls, bool offers_tools) noexcept {
  switch (rule.when) {
    case ReasoningRule::When::never:
      return false;
    case ReasoningRule::When::with_calls:
      return has_calls;
    case ReasoningRule::When::with_tools:
      return has_calls || offers_tools;
    case ReasoningRule::When::always:
      return true;
  }
  return false;
}

std::size_t keep_own_reasoning(ChatRequest& request, Dialect dialect, const ReasoningRule& rule,
                               const std::string& server, const Binding& binding) {
  const ReasoningBlock own = block_of(dialect, server, binding);
  std::size_t others = 0;
  Prefix prefix;
  for (ChatMessage& message : request.messages) {
    const bool goes = dialect == Dialect::openai_chat ||
                      goes_with(rule, !message.tool_calls().empty(), !request.tools.empty());
    const std::string before = rule.same_prefix ? text_of(prefix.value()) : std::string();
    std::erase_if(message.items, [&](const MessageItem& item) {
      const auto* const block = std::get_if<ReasoningBlock>(&item);
      if (!block) return false;
      if (!goes || block->dialect != own.dialect) return true;
      const bool stays = is_same(block->server, own.server) &&
                         (!rule.same_model || is_same(block->model, own.model)) &&
                         (!rule.same_account || is_same(block->account, own.account)) &&
                         (!rule.same_prefix || is_same(block->prefix, before)) &&
                         (rule.takes_unsigned || !is_unsigned(*block, dialect));
      if (!stays) ++others;
      return !stays;
    });
    if (rule.same_prefix) prefix.add(message);
  }
  return others;
}

bool has_reasoning(const ChatRequest& request) noexcept {
  return std::ranges::any_of(request.messages,
                             [](const ChatMessage& message) { return !message.reasoning().empty(); });
}

void remove_reasoning(ChatRequest& request) noexcept {
  for (ChatMessage& message : request.messages) message.remove<ReasoningBlock>();
}

bool lacks_reasoning(const std::vector<ChatMessage>& messages) noexcept {
  const ChatMessage* const answer = answer_of_running_turn(messages);
  return answer != nullptr && !begins_with_reasoning(*answer);
}

bool refuses_reasoning(const ChatError& error) noexcept {
  static constexpr std::string_view words[] = {"thinking", "reasoning", "signature", "encrypted",
                                               "extra_content"};
  const auto is_said = [&](std::string_view word) {
    const auto same = [](char said, char wanted) { return (said | 0x20) == (wanted | 0x20); };
    const std::string& text = error.message;
    return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
  };
  const bool is_refused = error.http_status == 400 || error.http_status == 422;
  return is_refused && std::ranges::any_of(words, is_said);
}

}  // namespace agentcore::detail::llm
