// RequestRules: what a provider takes and refuses, as data for testing::validate_request().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace agentcore::detail::testing {

enum class RequestForm : std::uint8_t { chat, responses, messages };

// Whether an answer must have the model's reasoning (`reasoning_content`) when it is sent back.
enum class ReasoningBack : std::uint8_t { optional, with_calls, with_tools };

// A row for each provider. The defaults are what OpenAI's chat completions take.
struct RequestRules {
  std::string_view provider = {};
  RequestForm form = RequestForm::chat;

  // Names of tools and of calls: letters, digits, '_' and '-'.
  std::size_t shortest_name = 1, longest_name = 64;
  bool name_begins_with_letter = false;  // or with '_'
  // Ids of calls: letters and digits of that length; 0: any text of at most `longest_id` bytes.
  std::size_t exact_id = 0, longest_id = 40;
  std::size_t most_tools = 128;
  bool empty_schema = true;  // takes the schema of an object without properties
  // In schemas, `required` may name only properties, and `properties` needs the type of an object.
  bool known_required = false;

  // The order of messages.
  bool alternates = false;        // chat templates: user and answer in turns, but for calls and their results
  bool user_after_result = true;  // takes a user message right after the result of a tool
  bool user_first = false;        // the first message, but for the system's, is the user's
  bool answer_last = true;        // takes an answer as the last message
  bool developer_role = false;

  bool empty_texts = false;  // takes empty texts of the user and of tools
  bool images = true;        // and documents and sounds; in all dialects that the provider speaks
  // Members of an answer beside the usual ones, with a blank between them.
  std::string_view answer_members = {};
  ReasoningBack reasoning_back = ReasoningBack::optional;
  // In the dialects whose reasoning is signed or encrypted: takes some that is not.
  bool unsigned_reasoning = false;
  bool signed_calls = false;  // Gemini 3: the first call of an answer in the current turn has its signature

  bool max_tokens = true;      // the name of the limit; if not, max_completion_tokens
  bool stream_options = true;  // knows the member
  bool cache_key = false;      // knows prompt_cache_key
};

// All rows, sorted by provider.
std::span<const RequestRules> all_request_rules() noexcept;

// The row of a provider; null: there is none of that name.
const RequestRules* request_rules(std::string_view provider) noexcept;

}  // namespace agentcore::detail::testing
