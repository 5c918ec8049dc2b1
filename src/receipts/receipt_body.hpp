// The body of a receipt: a StopRecord as JSON.
#pragma once

#include <agentcore/stop_audit.hpp>

#include <set>
#include <string>
#include <string_view>

namespace agentcore::detail::receipts {

// The bounds of a body, so that a line is never longer than max_line_bytes.
inline constexpr std::size_t max_listed = 1000;
inline constexpr std::size_t max_id_bytes = 256;  // that of an agent is never longer
inline constexpr std::size_t max_reason_bytes = 1024;

// One line. `salt`: random, so that nobody can find out an erased body by trying bodies.
std::string body_of(const StopRecord& record, const std::string& salt);
// True if the body names one of these agents. False also if it is no JSON.
bool names_any(std::string_view body, const std::set<std::string>& agents);

}  // namespace agentcore::detail::receipts
