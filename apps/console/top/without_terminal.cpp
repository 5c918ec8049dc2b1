// In place of terminal/ where ncurses was not found.
#include "console/top/run.hpp"

#include <stdexcept>

namespace console_app::top {

int run(const Settings& /*settings*/) {
  throw std::runtime_error("this program was built without ncurses: it has no terminal view");
}

}  // namespace console_app::top
