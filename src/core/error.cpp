// The exception of a Result without a value.
#include <agentcore/error.hpp>

#include <string>

namespace agentcore {

BadResultAccess::BadResultAccess(const Error& error)
    : what_(std::string(to_string(error.code)) + ": " + error.message) {
}

void detail::throw_bad_result(const Error& error) {
  throw BadResultAccess(error);
}

}  // namespace agentcore
