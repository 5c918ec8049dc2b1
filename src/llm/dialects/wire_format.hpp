// WireFormat: the interface of a dialect: how a request is written, and how an answer is read. No I/O. Each
// dialect is a pair of files of its own, NAME_request.cpp and NAME_reader.cpp.
#pragma once

#include "llm/dialects/api_error.hpp"
#include "llm/dialects/json_text.hpp"
#include "llm/dialects/reasoning_details.hpp"
#include "llm/dialects/tool_call_assembler.hpp"
#include "llm/dialects/usage_counts.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/http_llm_client.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// The last data line of a complete stream of the OpenAI chat dialect. The other dialects accept it, too.
inline constexpr std::string_view done_mark = "[DONE]";

inline constexpr std::size_t max_reasoning_blocks = 1000;  // of one answer

// A piece of reasoning, for a ReasoningAssembler.
struct ReasoningPiece {
  std::optional<std::uint64_t> index = 0;  // of the block in the answer; empty: see ItemPlace::id
  std::string text = {};                   // appended to the earlier pieces
  std::string signature = {};              // the same
  std::string block = {};                  // the whole block, as JSON: the other fields are ignored then
  bool begins = false;                     // its block; in a block that was not begun, signatures are ignored
  bool of_message = false;  // belongs to the message, not to its calls: it goes back without calls, too
  ItemPlace item = {};      // of the block: that of its first piece counts
  // Only for a server whose rule has that: see ReasoningRule::field and takes_unsigned.
  bool of_field_reasoning = false;
  bool is_unsigned = false;
  CutPair cut = {};  // at the ends of `text`
};

// A piece of a text that belongs to one item of an answer. Without bytes: what is known of the item, whose
// text comes in other objects.
struct TextPiece {
  std::size_t offset = 0;  // in the text; the pieces follow one another without a gap
  std::size_t bytes = 0;
  bool refusal = false;
  std::optional<std::uint64_t> index = {};  // of the item in the answer
  std::uint64_t part = 0;                   // of the item: which of its texts
  std::string_view phase = {};              // of the item; empty: not known
  std::string_view id = {};                 // the same
  std::uint64_t place = 0;                  // see ItemPlace
};

// Parts from this number on (TextPiece::part) continue the text before them without a separator.
inline constexpr std::uint64_t unseparated_parts = 1'000'000;

// What a snapshot repeats.
enum class Repeats : std::uint8_t { part, item, answer };

// What a server sends again, whole, after or beside its pieces; or what it sends in no other way. The texts
// are without separators. `tool_calls` is empty, or has all calls of what is repeated.
struct Snapshot {
  Repeats what = Repeats::answer;
  std::string_view content = {};
  std::span<const TextPiece> texts = {};
  std::string_view reasoning = {};
  std::span<const TextPiece> reasoning_texts = {};  // of `reasoning`
  std::string_view text_in_details = {};            // see AnswerObject
  std::span<ToolCallPiece> tool_calls = {};
  std::span<ReasoningPiece> reasoning_pieces = {};
  std::span<ReasoningDetail> reasoning_details = {};
};

// The content of one JSON object of an answer: a chunk of a stream, or a whole body. The views are valid
// until the next parse.
struct AnswerObject {
  std::string_view content;                    // valid UTF-8
  std::string_view reasoning;                  // valid UTF-8
  std::span<const TextPiece> texts;            // of `content`; none: it belongs to the text before
  std::span<const TextPiece> reasoning_texts;  // of `reasoning`; the same
  CutPair content_cut;                         // at the ends of `content`
  CutPair reasoning_cut;                       // at the ends of `reasoning`
  CutPair details_cut;                         // at the ends of `text_in_details`
  const Snapshot* snapshot = nullptr;          // besides the pieces above; null: none
  bool has_choice = false;                     // the object holds an answer, possibly an empty one
  bool refused = false;                        // the model refuses to answer; `content` has its text
  bool ends = false;                           // nothing of the answer follows
  std::optional<FinishReason> finish_reason;   // `unknown` for any other reason
  std::optional<UsageCounts> usage;
  std::optional<double> cost;  // as the provider reports it
  std::string_view model;
  std::string_view answering_model;          // the model that continued the answer; overrides `model`
  std::string_view begins;                   // the id of the message that begins here
  bool begins_block = false;                 // another block begins: a separator goes before the next text
  std::span<const std::string> other_items;  // types of items other than text, reasoning and calls
  std::optional<ApiError> error;
  std::span<ToolCallPiece> tool_calls;      // for a ToolCallAssembler
  std::optional<std::uint64_t> ended_call;  // the server says that the call with this index is whole
  ToolCallFault tool_call_fault = ToolCallFault::none;  // why tool_calls is incomplete
  std::span<ReasoningPiece> reasoning_pieces;
  std::span<ReasoningDetail> reasoning_details;
  std::string_view text_in_details;  // valid UTF-8; a copy of `reasoning`, or the only text of it
  bool too_many_details = false;     // reasoning_details is incomplete
  std::uint64_t places = 1;          // the places of its items (ItemPlace) are below
};

// Reads answer objects, each by itself: what was read before does not change the result. Made for one chunk
// of about 250 bytes at a time; strict about JSON's structure, lenient about members that it does not use.
// For any input the result is an object or false, with the object as it was. One per client: its buffers are
// too large to have one per stream. Not re-entrant. The object that is passed must be a new one.
class AnswerReader {
 public:
  virtual ~AnswerReader() = default;

  // Reads one chunk. False: not JSON, or not an object. The JSON is parsed in place if enough bytes behind it
  // are readable, otherwise in a copy.
  virtual bool parse_chunk(std::string_view json, std::size_t readable_behind, AnswerObject& object) = 0;

  // Reads a whole body: as a chunk, and the JSON is checked to the last byte. An error is found in any of its
  // usual forms (ErrorReader), also in a list (Google).
  virtual bool parse_body(std::string_view json, AnswerObject& object) = 0;

  // True if it holds more memory than an idle client may keep: after a text of more than 256 KiB, also one
  // that became so long when it was repaired.
  virtual bool holds_large_buffers() const noexcept = 0;
};

// True if the block can be written in that dialect. Who may have it back was decided before, by
// keep_own_reasoning().
inline bool is_of(const ReasoningBlock& block, Dialect dialect) noexcept {
  return block.dialect == to_string(dialect);
}

// The defaults of a client for the bodies of its requests.
struct BodyDefaults {
  std::string model = {};
  std::optional<std::uint32_t> max_tokens = {};
  std::string max_tokens_field = "max_tokens";
  std::string extra_body = {};                            // the text of a JSON object, or empty
  std::optional<std::uint32_t> tool_call_id_length = {};  // exactly, in letters and digits; empty: unchanged
  // See HttpLlmOptions.
  JoinUserMessages join_user_messages = JoinUserMessages::unsent;
  bool prompt_caching = false;
  bool sends_cache_key = false;
  std::optional<ReasoningRule> reasoning = {};  // empty: that of the dialect; see rule_of()
  bool bridge_tool_results = false;
  bool tool_names_begin_with_letter = false;
  std::uint32_t shortest_tool_name = 1;
  bool sends_empty_schemas = true;
  bool takes_images = true;
  bool interleaved_thinking =
      false;  // of Anthropic's beta: a budget of thinking may exceed the answer's limit
};

// Stateless; one object per dialect.
class WireFormat {
 public:
  virtual Dialect dialect() const noexcept = 0;
  // The path that is appended to the base URL.
  virtual std::string_view path() const noexcept = 0;
  // The JSON body of a request. Broken UTF-8 in it is replaced by U+FFFD. A tool's parameters, an answer's
  // schema and the arguments of calls are sent unchanged; parameters that are not a JSON object with members
  // mean that the tool takes none.
  virtual std::string body(const ChatRequest& request, const BodyDefaults& defaults) const = 0;
  virtual std::unique_ptr<AnswerReader> make_reader() const = 0;
  // A block of reasoning in the form in which a later request sends it, made of its text and signature; empty
  // if this dialect sends no reasoning back. `unsigned_too`: also without its signature.
  virtual std::string reasoning_block(const ReasoningPiece& whole, bool unsigned_too) const = 0;
  // True if an answer is a list of items in an order of its own. If not, its reasoning has no place among its
  // texts and calls.
  bool has_items() const noexcept { return dialect() != Dialect::openai_chat; }
  // The names of members with which an answer repeats its request: they may make a line long.
  std::span<const std::string_view> echoed_members() const noexcept;

 protected:
  ~WireFormat() = default;
};

const WireFormat& wire_format(Dialect dialect) noexcept;

// One per pair of files.
const WireFormat& openai_chat() noexcept;
const WireFormat& openai_responses() noexcept;
const WireFormat& anthropic_messages() noexcept;

}  // namespace agentcore::detail::llm
