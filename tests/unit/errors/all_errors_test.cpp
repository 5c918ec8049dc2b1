// The tables of errors together: each code that can have a message is in one of them.
#include "support/sanitized.hpp"
#include "unit/errors/error_rows.hpp"

#include <set>
#include <string>
#include <string_view>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using Codes = std::set<std::string>;

// Reasons without a message: SendResult and VerbResult have a code alone.
const Codes codes_without_a_message = {
    // Of a message.
    "mailbox_full", "message_too_large", "invalid_utf8",
    // Of a verb.
    "not_waiting_llm", "not_stopped", "parent_stopped", "not_held", "stop_pending", "no_lease",
    "lease_expired", "paused", "not_paused", "call_not_found", "call_over", "not_child_agent",
    "cannot_delete_system_agent", "cannot_stop_user",
#ifdef RACES_WATCHED
    "out_of_memory",  // the sanitizer has its own allocator: no allocation can be made to fail
#endif
};

Codes all_codes() {
  Codes all;
  for (unsigned char code = 1; to_string(static_cast<Errc>(code)) != "unknown"; ++code)
    all.emplace(to_string(static_cast<Errc>(code)));
  return all;
}

ErrorRows all_errors() {
  ErrorRows all;
  for (const auto errors :
       {tree_errors, spec_errors, function_errors, turn_errors, client_errors, router_errors,
        http_option_errors, http_request_errors, http_answer_errors, transfer_errors, tool_errors,
        history_errors, recording_errors, store_errors, receipt_errors})
    for (ErrorRow& row : errors()) all.push_back(std::move(row));
  return all;
}

}  // namespace

TEST_CASE("each code with a message is in the table of errors and no message is empty", "[errors]") {
  Codes missing = all_codes();
  CHECK(missing.size() > codes_without_a_message.size());
  for (const std::string& code : codes_without_a_message) {
    INFO(code);
    CHECK(missing.erase(code) == 1);
  }
  for (const ErrorRow& row : all_errors()) {
    INFO(row.cause);
    CHECK_FALSE(row.error.message.empty());
    CHECK(codes_without_a_message.count(std::string(to_string(row.error.code))) == 0);
    missing.erase(std::string(to_string(row.error.code)));
  }
  CHECK(missing == Codes());
}
