// display(): foreign text in a form that may be shown to people.
#pragma once

#include <agentcore/export.hpp>

#include <string>
#include <string_view>

namespace agentcore {

/// Returns `text` in a form that cannot deceive a reader or control a terminal. Broken UTF-8 is replaced by
/// U+FFFD. Characters that are invisible, control a terminal, separate lines or change the direction of
/// writing are written as escapes: ESC is `\u001b`. Line ends, tabs, and what joins or varies other
/// characters stay. The result of display() is not changed by another display().
///
/// The texts of errors are in this form already. What keeps its bytes, because a program may need them, needs
/// display() before a person sees it: deltas, answers, the arguments and results of tools, and names that a
/// model has written, in events, in TurnResult and in conversations.
///
///     auto ends = tree.on<agentcore::ToolEnded>([](const agentcore::ToolEnded& ended) {
///       std::puts(agentcore::display(ended.result.message).c_str());
///     });
///
/// Throws std::bad_alloc without memory, nothing else.
/// @threadsafe
AGENTCORE_API std::string display(std::string_view text);

}  // namespace agentcore
