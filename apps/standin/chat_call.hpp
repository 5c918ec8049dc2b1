// ChatCall: the request of one POST to the model, read from its headers and its JSON.
#pragma once

#include "http.hpp"
#include "options.hpp"
#include "prompt_cache.hpp"
#include "tool_script.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace standin {

// Misbehaviour on request (header x-standin-fault).
enum class Fault : std::uint8_t {
  none,
  hang_before_headers,  // not a byte of an answer, ever
  hang_after_headers,   // status and headers, then silence
  hang_mid_stream,      // half of the tokens (ten of an endless answer), then silence
  close_mid_stream,     // the same, then the connection is closed
  garbage,              // the same, then an event that is not JSON, then the rest
  error_500,            // an API error as JSON
  error_429,            // the same, with Retry-After
  html,                 // status 200 and a page of HTML
  no_done,              // a stream that ends in good order, but without finish_reason and "data: [DONE]"
};

// "hang-mid-stream" and so on; nullopt when there is no such fault.
std::optional<Fault> fault_named(std::string_view name) noexcept;

enum class Api : std::uint8_t {
  chat,      // OpenAI chat completions
  messages,  // Anthropic Messages
};

struct ChatCall {
  Api api = Api::chat;
  std::string model;
  std::string agent;   // see Record::agent
  std::string prompt;  // text of the last user message
  std::uint64_t prompt_tokens = 0;
  PromptParts parts;                  // with Options::prompt_cache
  std::optional<PromptTokens> cache;  // the same; set by Connection
  bool stream = false;
  bool include_usage = false;
  Pace pace;
  bool cut_by_limit = false;  // max_tokens limits the answer: its finish_reason is "length"
  Fault fault = Fault::none;
  Script script;  // dictates the answer, if it is not empty
  CallStyle call_style = CallStyle::pieces;
};

// An error to answer with. The fields are those of OpenAI.
struct ApiError {
  int status = 0;
  std::string type;     // "invalid_request_error"
  std::string code;     // empty: null
  std::string param;    // empty: null
  std::string message;  // valid UTF-8 or not: it is replaced when it is written
};

// In the shape of that API. Anthropic has fewer fields.
std::string to_json(const ApiError& error, Api api = Api::chat);

// The 401 for a request whose key is not the server's; nullopt when the key is accepted.
std::optional<ApiError> check_api_key(const HttpRequest& request, const Options& options,
                                      Api api = Api::chat);

// Reads the request into `call`, whose `api` is set; nullopt when it is valid. After an error `call` still
// has the parts that could be read.
std::optional<ApiError> read_chat_call(const HttpRequest& request, const Options& options, ChatCall& call);

}  // namespace standin
