// One message of a conversation: its items, and what is known of them.
#pragma once

#include <agentcore/export.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace agentcore {

/// The author of a message.
enum class Role : unsigned char {
  system,     ///< Instructions of the host.
  user,       ///< A message to the model.
  assistant,  ///< An answer of the model: text, tool calls or both.
  tool        ///< The result of one tool call.
};
/// Returns the name of the enumerator, spelled as above.
AGENTCORE_API std::string_view to_string(Role role) noexcept;

/// What interrupted a turn or an answer: the mark of a question whose turn ended without its final answer, or
/// of an answer of which only a part was kept (AgentSpec::partial_answers). The mark is stored beside the
/// message and is never sent to a model (G8, G11).
enum class Interruption : unsigned char {
  none,         ///< Nothing was interrupted.
  aborted,      ///< An abort ended the turn.
  stopped,      ///< A stop ended the turn.
  failed,       ///< The turn ended with an error.
  interrupted,  ///< An interrupt ended the turn.
  steered,      ///< Only of an answer: a message that was steered into the turn ended it (SteerWhen::now).
  truncated     ///< Only of an answer: it was complete, and was shortened by truncate_answer().
};
/// Returns the name of the enumerator, spelled as above.
AGENTCORE_API std::string_view to_string(Interruption interruption) noexcept;

/// One tool call, as requested by the model in an answer.
struct ToolCall {
  /// Identifies the call: ChatMessage::tool_call_id of its result has the same value. Unique within a
  /// history.
  std::string id = {};
  /// The name of the tool. For an action of a window: "<window>__<action>", as far as providers accept that.
  std::string name = {};
  /// The arguments: the text of a JSON object. In the answer of an LlmClient they are as the model has
  /// written them, perhaps not JSON at all, and empty if none came. In the history of an agent they are what
  /// its tool got, and ToolStarted has: the same object with its members in the order of their names and
  /// without blanks, numbers as nlohmann::json reads them; {} where the text was no object. In a history that
  /// a host has made (AgentSpec::history) they stay as they are.
  std::string arguments = {};
  /// The window, if the call is an action of a window. Empty: the call is one of an ordinary tool.
  std::string window_id = {};
  /// The action of that window. Empty: `name` specifies the action.
  std::string action_id = {};

  /// True if all fields are equal.
  bool operator==(const ToolCall&) const = default;
};

/// How a tool call ended (G9).
enum class ToolOutcome : unsigned char {
  /// The call ended, however that came, before it began, or it was rejected: it had no effect. A call begins
  /// when its function does: ToolStarted means that it was handed over to the tool, which may begin later
  /// (make_blocking_tool(), make_agent_tool()).
  not_started,
  completed,  ///< the tool, or the host in its place, delivered a result, with success or not
  /// The turn ended, the call was cancelled, or it timed out, after the call began: its effect is unknown.
  interrupted,
  /// As interrupted, and the tool did not end within the grace period; it may still be running. This is known
  /// only after the turn has ended: the event Abandoned reports it.
  abandoned,
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(ToolOutcome outcome) noexcept;

/// How the call ended whose result a message is.
struct CallEnd {
  ToolOutcome outcome = ToolOutcome::not_started;  ///< How the call ended.
  bool success = false;                            ///< Of a completed call: its ToolResult::success.

  /// True if all fields are equal.
  bool operator==(const CallEnd&) const = default;
};

/// A part of a message that is not text: an image, a document or a sound. Set either `url`, or `data` and
/// `media_type`. HttpLlmClient fails a call with Errc::unsupported_part if its server takes only texts or its
/// dialect does not take the part, and an LlmRouter goes on to its next route. The dialects take:
///
///   - images: all dialects, with a URL or data
///   - documents: Dialect::anthropic_messages and openai_responses, with a URL or data; openai_chat, with
///   data
///   - sounds: Dialect::openai_chat, with data
///
/// In the result of a tool, Dialect::anthropic_messages and openai_responses take images and documents.
/// Whether a model understands the part, and how large it may be, depends on the provider.
struct ContentPart {
  /// What the part is.
  enum class Kind : unsigned char {
    image,     ///< A picture.
    document,  ///< A document, e.g. a PDF file.
    audio      ///< A sound, e.g. speech.
  };

  std::string url = {};   ///< "https://...". Empty: `data` is the part itself.
  std::string data = {};  ///< The part in base64. Ignored if `url` is set.
  /// Of `data`, e.g. "image/png", "application/pdf", "audio/wav" or "audio/mpeg".
  std::string media_type = {};
  /// Of an image: the resolution for the model: "low", "high" or "auto", for providers that support it.
  /// Empty: not sent.
  std::string detail = {};
  Kind kind = Kind::image;  ///< What the part is.
  /// Of a document: its name for the model, e.g. "report.pdf". Empty: none; where the provider demands one,
  /// "document".
  std::string name = {};

  /// True if all fields are equal.
  bool operator==(const ContentPart&) const = default;
};

/// Returns the name of the enumerator, spelled as above.
AGENTCORE_API std::string_view to_string(ContentPart::Kind kind) noexcept;

/// Reasoning of a model, in the form in which its provider expects it in later requests: signed, encrypted or
/// in plain text. A block goes back only to who made it, as far as the provider checks that
/// (ReasoningRule): others reject a request that contains it. What is not known counts as another.
struct ReasoningBlock {
  std::string dialect = {};  ///< The dialect of the block, as returned by to_string(Dialect).
  std::string data = {};     ///< The text of a JSON object.
  /// The server that created the block: the host of HttpLlmOptions::base_url in lower case, followed by
  /// ":port" unless the port is the default of the scheme: "api.deepseek.com", "127.0.0.1:8000",
  /// "[::1]:8000". Empty: unknown.
  std::string server = {};
  std::string model = {};  ///< The model, as the request named it. Empty: unknown.
  /// A fingerprint of the account: a keyed hash of the API key (ChatRequest::salt). Empty: unknown.
  std::string account = {};
  /// A fingerprint of the messages before the answer, as they were sent: their roles, texts, images, calls
  /// and results. Empty: unknown.
  std::string prefix = {};

  /// True if all fields are equal.
  bool operator==(const ReasoningBlock&) const = default;
};

/// A text of a message.
struct TextItem {
  std::string text = {};  ///< In UTF-8.
  bool refusal = false;   ///< Of an answer. True: the model refuses to answer, and the text says so.
  /// Of an answer: the identifier of the provider for the item ("msg_..." in Dialect::openai_responses). It
  /// is kept for the records of the host and is never sent. Empty: none.
  std::string id = {};
  /// Of an answer in Dialect::openai_responses: what the text is, e.g. "commentary" or "final_answer". It is
  /// sent back in that dialect alone. Empty: not known.
  std::string phase = {};

  /// True if all fields are equal.
  bool operator==(const TextItem&) const = default;
};

/// One item of a message: a text, a block of reasoning, a tool call, or a part that is not text.
using MessageItem = std::variant<TextItem, ReasoningBlock, ToolCall, ContentPart>;

/// The items of one kind in a message, in their order. A view: it is valid as long as the items that it was
/// made of, and changes with them. `Kind` is an alternative of MessageItem, const for a message that is
/// const. Each function but begin() and end() takes time in proportion to the number of items.
template <typename Kind>
class ItemsOf {
  using Item = std::conditional_t<std::is_const_v<Kind>, const MessageItem, MessageItem>;
  using Value = std::remove_const_t<Kind>;

 public:
  /// Goes through the items of that kind.
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;  ///< It can be copied and used again.
    using value_type = Value;                             ///< The kind of the items.
    using difference_type = std::ptrdiff_t;               ///< Of two positions.
    using pointer = Kind*;                                ///< To an item.
    using reference = Kind&;                              ///< Of an item.

    /// A position of no message.
    Iterator() = default;
    /// The first item of the kind at or behind `at`.
    Iterator(Item* at, Item* end) noexcept : at_(at), end_(end) { skip(); }
    /// The item.
    Kind& operator*() const noexcept { return *std::get_if<Value>(at_); }
    /// The item.
    Kind* operator->() const noexcept { return std::get_if<Value>(at_); }
    /// To the next item of the kind.
    Iterator& operator++() noexcept {
      ++at_;
      skip();
      return *this;
    }
    /// As above; returns the position before.
    Iterator operator++(int) noexcept {
      Iterator before = *this;
      ++*this;
      return before;
    }
    /// True for the same position.
    bool operator==(const Iterator& other) const noexcept { return at_ == other.at_; }

   private:
    void skip() noexcept {
      while (at_ != end_ && !std::holds_alternative<Value>(*at_)) ++at_;
    }

    Item* at_ = nullptr;
    Item* end_ = nullptr;
  };

  /// A view of no items.
  ItemsOf() = default;
  /// The items of the kind among these.
  explicit ItemsOf(std::span<Item> items) noexcept : items_(items) {}

  /// The first item of the kind.
  Iterator begin() const noexcept { return {items_.data(), items_.data() + items_.size()}; }
  /// Behind the last item.
  Iterator end() const noexcept { return {items_.data() + items_.size(), items_.data() + items_.size()}; }
  /// True if there is none.
  bool empty() const noexcept { return begin() == end(); }
  /// Their number.
  std::size_t size() const noexcept { return static_cast<std::size_t>(std::distance(begin(), end())); }
  /// The item number `index`, from 0, which must be below size().
  Kind& operator[](std::size_t index) const noexcept {
    return *std::next(begin(), static_cast<std::ptrdiff_t>(index));
  }
  /// The first item; there must be one.
  Kind& front() const noexcept { return *begin(); }
  /// The last item; there must be one.
  Kind& back() const noexcept { return (*this)[size() - 1]; }
  /// Copies of the items.
  operator std::vector<Value>() const { return {begin(), end()}; }  // NOLINT: implicit by design
  /// True if the items are equal, one by one.
  friend bool operator==(const ItemsOf& some, const std::vector<Value>& others) noexcept {
    return std::equal(some.begin(), some.end(), others.begin(), others.end());
  }

 private:
  std::span<Item> items_ = {};
};
/// True if the items are equal, one by one.
template <typename Kind, typename Other>
requires std::is_same_v<std::remove_const_t<Kind>, std::remove_const_t<Other>>
bool operator==(const ItemsOf<Kind>& some, const ItemsOf<Other>& others) noexcept {
  return std::equal(some.begin(), some.end(), others.begin(), others.end());
}

/// One message of a conversation: a list of items, in the order in which they were written.
///
///     using agentcore::ChatMessage;
///     ChatMessage question = ChatMessage::user("What is in this image?",
///                                              {{.url = "https://example.com/cat.png"}});
///     ChatMessage answer = ChatMessage::assistant("I look it up.", {{"call_1", "search",
///     R"({"q":"cat"})"}}); for (const agentcore::ToolCall& call : answer.tool_calls())
///     std::puts(call.name.c_str());
struct ChatMessage {
  Role role = Role::user;  ///< The author.
  /// What the message consists of. An answer goes back to the model in this order, as far as the dialect can
  /// express it. Reasoning and tool calls may only be in assistant messages, and other parts than texts
  /// only in user and tool messages.
  std::vector<MessageItem> items = {};
  /// Only in user messages that begin a turn, and in assistant messages without tool calls. In an assistant
  /// message: the text is the part of an answer that was kept.
  Interruption interruption = Interruption::none;
  std::string tool_call_id = {};  ///< Only in tool messages: ToolCall::id of the call with this result.
  /// Only in tool messages: how the call ended. Of a call that has not ended (ConversationPage::open_calls):
  /// how it would end if its turn ended now. `abandoned` is known later than the result: the value changes
  /// with the event Abandoned. It is stored beside the message and is never sent to a model. Empty: not
  /// known, because the history was written by another program.
  std::optional<CallEnd> call_end = {};
  /// True: a message that was put into a running turn (Agent::steer()). Only in user messages. It belongs to
  /// the turn of the question before it, and begins none.
  bool steered = false;
  bool pinned = false;  ///< True: trimming never removes the message from what is sent to a model.
  /// True: a summary that is sent in place of earlier messages (ContextOptions::compact). Only in user
  /// messages before the first question. It begins no turn and has no answer.
  bool summary = false;

  /// Makes a system message: instructions of the host.
  static ChatMessage system(std::string text) { return with_text(Role::system, std::move(text)); }
  /// Makes a user message, with images, documents and sounds behind its text.
  static ChatMessage user(std::string text, std::vector<ContentPart> parts = {}) {
    return with_text(Role::user, std::move(text)).append(std::move(parts));
  }
  /// Makes an answer of the model, with tool calls behind its text. The results of the calls must follow.
  static ChatMessage assistant(std::string text, std::vector<ToolCall> calls = {}) {
    ChatMessage message{.role = Role::assistant};
    if (!text.empty()) message.items.emplace_back(TextItem{std::move(text)});
    return message.append(std::move(calls));
  }
  /// Makes an answer of the model that consists of these items.
  static ChatMessage assistant(std::vector<MessageItem> items) {
    return {.role = Role::assistant, .items = std::move(items)};
  }
  /// Makes the result of the tool call whose ToolCall::id is `call_id`.
  static ChatMessage tool_result(std::string call_id, std::string text, std::vector<ContentPart> parts = {}) {
    ChatMessage message = with_text(Role::tool, std::move(text)).append(std::move(parts));
    message.tool_call_id = std::move(call_id);
    return message;
  }

  /// The texts of the message that are not empty, with an empty line between two.
  AGENTCORE_API std::string content() const;
  /// Puts `text` in the place of the first text, and removes the other texts. Without a text: behind the
  /// reasoning, before all else.
  AGENTCORE_API void set_content(std::string text);

  /// The tool calls, whose results must follow before the next answer. See ItemsOf for how long it is valid.
  ItemsOf<const ToolCall> tool_calls() const& noexcept { return ItemsOf<const ToolCall>(items); }
  /// The same, to change the calls.
  ItemsOf<ToolCall> tool_calls() & noexcept { return ItemsOf<ToolCall>(items); }
  /// Copies, of a message that is about to go.
  std::vector<ToolCall> tool_calls() const&& { return ItemsOf<const ToolCall>(items); }
  /// The reasoning. See ItemsOf for how long it is valid.
  ItemsOf<const ReasoningBlock> reasoning() const& noexcept { return ItemsOf<const ReasoningBlock>(items); }
  /// The same, to change the blocks.
  ItemsOf<ReasoningBlock> reasoning() & noexcept { return ItemsOf<ReasoningBlock>(items); }
  /// Copies, of a message that is about to go.
  std::vector<ReasoningBlock> reasoning() const&& { return ItemsOf<const ReasoningBlock>(items); }
  /// The images, documents and sounds. See ItemsOf for how long it is valid.
  ItemsOf<const ContentPart> parts() const& noexcept { return ItemsOf<const ContentPart>(items); }
  /// The same, to change the parts.
  ItemsOf<ContentPart> parts() & noexcept { return ItemsOf<ContentPart>(items); }
  /// Copies, of a message that is about to go.
  std::vector<ContentPart> parts() const&& { return ItemsOf<const ContentPart>(items); }

  /// Removes all items of the kind; true if there was one.
  template <typename Kind>
  bool remove() noexcept {
    return std::erase_if(items, [](const MessageItem& item) { return std::holds_alternative<Kind>(item); }) !=
           0;
  }
  /// Puts items of one kind behind the others.
  template <typename Kind>
  ChatMessage& append(std::vector<Kind> more) & {
    for (Kind& item : more) items.emplace_back(std::move(item));
    return *this;
  }
  /// The same, for a message that is about to go.
  template <typename Kind>
  ChatMessage append(std::vector<Kind> more) && {
    return std::move(append(std::move(more)));
  }

  /// True for a user message that begins a turn: any but a steered one and a summary.
  bool is_question() const noexcept { return role == Role::user && !steered && !summary; }
  /// True for the kept part of an answer that was not completed.
  bool is_partial() const noexcept {
    return role == Role::assistant && interruption != Interruption::none &&
           interruption != Interruption::truncated;
  }
  /// True if all fields are equal.
  bool operator==(const ChatMessage&) const = default;

 private:
  static ChatMessage with_text(Role role, std::string text) {
    ChatMessage message{.role = role};
    message.items.emplace_back(TextItem{std::move(text)});
    return message;
  }
};

}  // namespace agentcore
