#include "llm/http/error_words.hpp"

#include "llm/http/rate_headers.hpp"

#include <algorithm>
#include <cstddef>

namespace agentcore::detail::llm {
namespace {

constexpr std::size_t most_examined = 4096;  // bytes of a message, and of the message behind a gateway

struct KnownCode {
  std::string_view stem;  // see stem_of()
  ErrorKind kind;
};

// In the comments: who sends it. Codes with "overloaded", "ratelimit" or "throttl" in them need no row.
constexpr KnownCode known_codes[] = {
    {"accountoverdue", ErrorKind::account_exhausted},           // Volcengine
    {"arrearage", ErrorKind::account_exhausted},                // DashScope
    {"billing", ErrorKind::account_exhausted},                  // Anthropic
    {"billinghardlimitreached", ErrorKind::account_exhausted},  // OpenAI
    {"billingnotactive", ErrorKind::account_exhausted},         // OpenAI
    {"creditlimitexceeded", ErrorKind::account_exhausted},
    {"credits", ErrorKind::account_exhausted},               // OpenCode Zen
    {"exceededcurrentquota", ErrorKind::account_exhausted},  // Kimi
    {"insufficientbalance", ErrorKind::account_exhausted},   // MiniMax, Venice
    {"insufficientcredits", ErrorKind::account_exhausted},
    {"insufficientfunds", ErrorKind::account_exhausted},
    {"insufficientquota", ErrorKind::account_exhausted},      // OpenAI
    {"insufficientuserquota", ErrorKind::account_exhausted},  // new-api
    {"paymentrequired", ErrorKind::account_exhausted},
    {"usagenotincluded", ErrorKind::account_exhausted},  // OpenAI, in plans
    {"1008", ErrorKind::account_exhausted},              // MiniMax
    {"1113", ErrorKind::account_exhausted},              // Z.ai

    {"contextlengthexceeded", ErrorKind::context_full},         // OpenAI, Groq
    {"contextwindowexceeded", ErrorKind::context_full},         // LiteLLM
    {"exceedcontextsize", ErrorKind::context_full},             // llama.cpp
    {"modelcontextwindowexceeded", ErrorKind::context_full},    // Anthropic
    {"modelmaxprompttokensexceeded", ErrorKind::context_full},  // GitHub Copilot
    {"requesttoolarge", ErrorKind::context_full},               // Anthropic
    {"1261", ErrorKind::context_full},                          // Z.ai

    {"deploymentnotfound", ErrorKind::model_unknown},              // Azure
    {"invalidendpointormodelnotfound", ErrorKind::model_unknown},  // Volcengine
    {"invalidmodel", ErrorKind::model_unknown},                    // Mistral
    {"modelaccessdenied", ErrorKind::model_unknown},               // DashScope
    {"modeldecommissioned", ErrorKind::model_unknown},             // Groq
    {"modeldeprecated", ErrorKind::model_unknown},
    {"modelnotavailable", ErrorKind::model_unknown},  // Together
    {"modelnotfound", ErrorKind::model_unknown},      // OpenAI, xAI, DashScope, Cerebras, LM Studio
    {"modelnotsupported", ErrorKind::model_unknown},  // GitHub Copilot
    {"unknownmodel", ErrorKind::model_unknown},       // GitHub Models
    {"unsupportedmodel", ErrorKind::model_unknown},
    {"1211", ErrorKind::model_unknown},  // Z.ai

    {"notfound", ErrorKind::not_found},          // Anthropic, vLLM, Google
    {"resourcenotfound", ErrorKind::not_found},  // Kimi, Bedrock

    {"modeloverloaded", ErrorKind::model_busy},

    {"limitburstrate", ErrorKind::rate_limited},     // DashScope
    {"limitrequests", ErrorKind::rate_limited},      // DashScope
    {"resourceexhausted", ErrorKind::rate_limited},  // Google
    {"slowdown", ErrorKind::rate_limited},           // OpenAI
    {"toomanyrequests", ErrorKind::rate_limited},    // Azure, Google
    {"1002", ErrorKind::rate_limited},               // MiniMax

    {"capacityexceeded", ErrorKind::overloaded},  // Groq
    {"modelatcapacity", ErrorKind::overloaded},
    {"modelnotready", ErrorKind::overloaded},  // Bedrock
    {"serverbusy", ErrorKind::overloaded},
    {"serviceunavailable", ErrorKind::overloaded},           // OpenAI, vLLM
    {"servicetiercapacityexceeded", ErrorKind::overloaded},  // Mistral
    {"unavailable", ErrorKind::overloaded},                  // Google, llama.cpp

    {"aborted", ErrorKind::passing},  // Google
    {"api", ErrorKind::passing},      // Anthropic
    {"badgateway", ErrorKind::passing},
    {"connection", ErrorKind::passing},
    {"deadlineexceeded", ErrorKind::passing},  // Google
    {"gatewaytimeout", ErrorKind::passing},
    {"internal", ErrorKind::passing},        // Google
    {"internalserver", ErrorKind::passing},  // vLLM
    {"modelstream", ErrorKind::passing},     // Bedrock
    {"modeltimeout", ErrorKind::passing},    // Bedrock
    {"server", ErrorKind::passing},          // OpenAI, llama.cpp
    {"timeout", ErrorKind::passing},         // Anthropic
    {"upstream", ErrorKind::passing},        // gateways
};

char small(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// Letters and digits in lower case, without the "error" or "exception" at the end.
std::string stem_of(std::string_view code) {
  std::string stem;
  for (const char letter : code) {
    const char c = small(letter);
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) stem.push_back(c);
  }
  for (const std::string_view end : {"error", "exception"})
    if (stem.ends_with(end)) {
      stem.resize(stem.size() - end.size());
      break;
    }
  return stem;
}

bool has(std::string_view text, std::string_view phrase) noexcept {
  return text.find(phrase) != std::string_view::npos;
}

constexpr std::string_view account_phrases[] = {
    "insufficient balance",
    "insufficient account balance",
    "insufficient funds",
    "insufficient account funds",
    "insufficient credit",
    "balance is too low",
    "balance is insufficient",
    "exceeded your current quota",  // OpenAI
    "exceeded current quota",       // Kimi
    "all available credits",        // xAI
    "have any credits",             // xAI
    "requires more credits",        // OpenRouter
    "purchase more credits",        // xAI
    "out of credits",
    "not enough credits",
    "credit limit exceeded",
    "monthly spending limit",
    "specified api usage limits",   // Anthropic
    "account is in good standing",  // DashScope
    "余额不足",
    "欠费",  // Z.ai: no balance; in arrears
};

constexpr std::string_view quota_phrases[] = {"allocated quota"};

constexpr std::string_view rate_phrases[] = {"rate limit",
                                             "rate-limit",
                                             "ratelimit",
                                             "too many requests",
                                             "throttl",
                                             "too many tokens, please wait",
                                             "resource exhausted",
                                             "resource has been exhausted",
                                             "quota exceeded",
                                             "slow down",
                                             "requests per minute",
                                             "tokens per minute",
                                             "rate increased too quickly"};

constexpr std::string_view overload_phrases[] = {"overloaded",
                                                 "at capacity",
                                                 "over capacity",
                                                 "capacity exceeded",
                                                 "temporarily unavailable",
                                                 "service unavailable",
                                                 "server is busy",
                                                 "servers are busy",
                                                 "server busy",
                                                 "high demand",
                                                 "try again later"};

constexpr std::string_view context_phrases[] = {
    "context length",   // OpenAI, DeepSeek, vLLM, Mistral, Together, OpenRouter, LM Studio, Ollama
    "context window",   // OpenAI (Responses), llama-cpp-python, MiniMax
    "context size",     // llama.cpp, LM Studio
    "context limit",    // Anthropic
    "maximum context",  //
    "context_length_exceeded",
    "prompt is too long",         // Anthropic
    "prompt too long",            // Ollama
    "input is too long",          // Bedrock
    "maximum prompt length",      // xAI
    "prompt token count",         // GitHub Copilot
    "input token count",          // Gemini
    "maximum number of tokens",   // Gemini
    "maximum allowed input",      // Poolside
    "range of input length",      // DashScope
    "model token limit",          // Kimi
    "max length exceeded",        // Kimi
    "exceeds max length",         // Z.ai
    "reduce the length",          // Groq, Cerebras
    "`max_new_tokens` must be",   // Together, TGI
    "must be at least 1, got -",  // vLLM: nothing is left for the answer
    "max_model_len",              // vLLM
    "max_seq_len",
};

constexpr std::string_view model_phrases[] = {
    "model_not_found",
    "unknown model",
    "invalid model",
    "no such model",
    "unsupported model",
    "not a valid model",             // OpenRouter
    "not found the model",           // Kimi
    "no endpoints found",            // OpenRouter
    "no models loaded",              // LM Studio
    "non-serverless model",          // Together
    "access to the model",           // Bedrock
    "not found for account",         // NVIDIA
    "deployment for this resource",  // Azure
};

// Each of these counts where "model" stands before it in the same sentence: "The model `x` does not exist".
constexpr std::string_view phrases_after_model[] = {
    "does not exist", "not exist",      "not found",           "not available",   "not supported",
    "is invalid",     "not accessible", "been decommissioned", "been deprecated", "not deployed"};

// The text behind "model", up to the end of the sentence. A dot within a word, as in "gpt-4.1", ends none.
std::string_view sentence(std::string_view text) noexcept {
  constexpr std::size_t longest = 160;
  text = text.substr(0, longest);
  return text.substr(0, text.find(". "));
}

// The time at the beginning of a text: "1.2s", "7m12s.", "20 seconds".
std::chrono::milliseconds time_at(std::string_view text) {
  const auto end = text.find_first_not_of("0123456789.hms");
  std::string time(text.substr(0, end));
  while (time.ends_with('.')) time.pop_back();
  if (time.empty() || time.front() < '0' || time.front() > '9') return {};
  const std::string_view unit = end == std::string_view::npos ? "" : text.substr(end);
  if (unit.starts_with('-') || unit.starts_with(':') || unit.starts_with('/')) return {};  // a date
  if (unit.starts_with(" min")) time += 'm';
  if (unit.starts_with(" hour")) time += 'h';
  if (unit.starts_with(" ms") || unit.starts_with(" milli")) time += "ms";
  const auto parsed = parse_duration(time);  // a bare number is seconds
  return parsed ? std::chrono::ceil<std::chrono::milliseconds>(*parsed) : std::chrono::milliseconds(0);
}

}  // namespace

std::optional<ErrorKind> kind_of_code(std::string_view code) {
  const std::string stem = stem_of(code);
  const auto* const row = std::ranges::find(known_codes, stem, &KnownCode::stem);
  if (row != std::end(known_codes)) return row->kind;
  if (has(stem, "overloaded")) return ErrorKind::overloaded;
  if (has(stem, "ratelimit") || has(stem, "throttl")) return ErrorKind::rate_limited;
  return std::nullopt;
}

ErrorWords::ErrorWords(const ApiError& error) {
  for (const std::string_view part : {std::string_view(error.message), std::string_view(error.raw)}) {
    for (const char letter : part.substr(0, most_examined)) text_.push_back(small(letter));
    text_ += '\n';
  }
}

template <std::size_t N>
bool ErrorWords::has_one_of(const std::string_view (&phrases)[N]) const {
  return std::ranges::any_of(phrases, [this](std::string_view phrase) { return has(text_, phrase); });
}

bool ErrorWords::account_exhausted() const {
  return has_one_of(account_phrases);
}

bool ErrorWords::quota_per_time() const {
  return has_one_of(quota_phrases);
}

bool ErrorWords::rate_limited() const {
  return has_one_of(rate_phrases);
}

bool ErrorWords::overloaded() const {
  return has_one_of(overload_phrases);
}

bool ErrorWords::context_full() const {
  return has_one_of(context_phrases);
}

bool ErrorWords::model_unknown() const {
  if (has_one_of(model_phrases)) return true;
  for (auto at = text_.find("model"); at != std::string::npos; at = text_.find("model", at + 1)) {
    const std::string_view rest = sentence(std::string_view(text_).substr(at));
    const auto is_in_rest = [rest](std::string_view phrase) { return has(rest, phrase); };
    if (std::ranges::any_of(phrases_after_model, is_in_rest)) return true;
  }
  return false;
}

bool ErrorWords::about_model() const {
  return has(text_, "model") || has_one_of(model_phrases);
}

std::chrono::milliseconds ErrorWords::retry_after() const {
  for (const std::string_view lead : {"try again in ", "retry in ", "retry after "}) {
    const auto at = text_.find(lead);
    if (at == std::string::npos) continue;
    const auto time = time_at(std::string_view(text_).substr(at + lead.size()));
    if (time.count() > 0) return time;
  }
  return {};
}

}  // namespace agentcore::detail::llm
