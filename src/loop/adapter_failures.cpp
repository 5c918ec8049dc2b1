#include <agentcore/adapters/failures.hpp>

#include <exception>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace agentcore::detail {

void throw_invalid_argument(const char* what) {
  throw std::invalid_argument(what);
}

void throw_runtime_error(const char* what) {
  throw std::runtime_error(what);
}

void throw_system_error(int number, const char* what) {
  throw std::system_error(number, std::generic_category(), what);
}

bool start_thread(std::thread& thread, std::function<void()> function) noexcept {
  try {
    thread = std::thread(std::move(function));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace agentcore::detail
