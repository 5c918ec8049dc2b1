// Ready-made ContextOptions for the context window of a model.
#pragma once

#include <agentcore/context.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>

#include <cstddef>
#include <string_view>

namespace agentcore {

/// Returns the options for a model whose context window has that many tokens: a request may have all of them
/// but a quarter, and but 32,000 where a quarter is more. That room is for the answer, and for the difference
/// between estimate_tokens() and the count of the provider. A longer request is trimmed to two thirds of its
/// limit. 0 counts as 1.
///
///     spec.context = agentcore::context_for_window(131'072);  // a server of your own
///
/// @threadsafe
AGENTCORE_API ContextOptions context_for_window(std::size_t tokens);

/// Returns context_for_window() for a model by its name, as providers spell it: "gpt-4o-mini",
/// "anthropic/claude-sonnet-4". What is before the last '/' and what follows the name of the family does not
/// count, nor does upper case. The windows are those that the makers have published; a server may allow less,
/// and many servers of your own do (`--ctx-size`).
///
///     spec.model.name = "gpt-4o";
///     spec.context = agentcore::context_for_model(spec.model.name).value();
///
/// Error: `invalid_config` if the library does not know the model. ContextOptions{} has limits that suit
/// every model in use: 32,000 tokens.
/// @threadsafe
AGENTCORE_API Result<ContextOptions> context_for_model(std::string_view model);

}  // namespace agentcore
