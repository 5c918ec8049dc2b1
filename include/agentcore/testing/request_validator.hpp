// validate_request(): would a provider take the body of a request?
#pragma once

#include <agentcore/export.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agentcore::testing {

/// Returns why the provider would refuse a request with that body, one sentence for each reason, in the order
/// of the body; empty if it would take the request. Each sentence begins with its place:
///
///     messages[3].tool_calls[0].function.name: "get weather" is no name of a tool: letters, digits, '_' ...
///
/// The rules are written from the documents and the answers of the providers, and not from what this library
/// sends: roles and their order, empty messages, ids of tool calls and their results, names, arguments,
/// schemas, images, and what is sent back of a model's reasoning. They are strict: a request that some models
/// of a provider refuse is refused. For servers that apply the chat template of any model (llama.cpp, vLLM,
/// Ollama, ...) the rules are those of the strictest templates, Mistral's.
///
/// `provider`: the name of a provider, as in agentcore::providers() (component http). For any other name the
/// only reason says so. `path`: the path of the URL of the request; what it ends with decides the dialect:
/// "/chat/completions", "/responses" or "/messages". In a dialect that is not the provider's usual one the
/// rules are those of OpenAI or Anthropic, but for what the provider's server does in every dialect: it takes
/// only texts, or it takes unsigned reasoning. Empty: the usual one.
///
/// The servers of tests can use it to refuse what real servers would:
///
///     for (const std::string& problem : agentcore::testing::validate_request("mistral", body))
///       std::cerr << problem << '\n';
///
/// @threadsafe
AGENTCORE_API std::vector<std::string> validate_request(std::string_view provider, std::string_view body,
                                                        std::string_view path = {});

}  // namespace agentcore::testing
