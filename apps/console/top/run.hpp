// The terminal view of a console.
#pragma once

#include "console/top/settings.hpp"

namespace console_app::top {

// Shows the agents until the person quits. Returns the exit status. Throws std::runtime_error with what is
// wrong.
int run(const Settings& settings);

}  // namespace console_app::top
