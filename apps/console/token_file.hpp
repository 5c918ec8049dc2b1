// The token of a console, from a file.
#pragma once

#include <string>

namespace console_app {

// The first line of the file, without the carriage return of a file that was written on Windows. Throws
// std::runtime_error if there is none, or it is empty.
std::string read_token(const std::string& path);

}  // namespace console_app
