// Text of others, made safe for a terminal, and fitted to its columns. Widths are those of wcwidth(3): the
// locale must be one of UTF-8, see use_utf8().
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace console_app::top {

// Sets a locale of UTF-8: that of the environment if it is one, else C.UTF-8. False: there is none.
bool use_utf8();

// As agentcore::display() shows it ("\u001b", "\u202e"), on one line: a line end is "\n", a tab "\t". What
// the locale does not know is escaped, too. Characters that join others or choose their form are left out:
// terminals disagree about the width of what they make.
std::string printable(std::string_view text);

// The columns of printable text.
std::size_t columns(std::string_view text);

// Printable text, cut to at most `width` columns; "…" stands for what is missing.
std::string cut(std::string_view text, std::size_t width);
// The same, but what is missing is at the beginning.
std::string cut_front(std::string_view text, std::size_t width);
// As cut(), and filled with blanks to exactly `width` columns.
std::string fit(std::string_view text, std::size_t width);

// The last `most` lines of a text with line ends, each of at most `width` columns, broken between words where
// that is possible. No line has a control character; a tab is a blank.
std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t most);

}  // namespace console_app::top
