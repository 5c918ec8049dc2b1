// The names of the enumerators of all public enumerations that have a to_string().
#include "support/catch.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

using namespace agentcore;

namespace {

// The enumerator with this value, as the compiler writes it; "" if there is none.
template <auto value>
constexpr std::string_view spelling() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("value = ") + std::string_view("value = ").size());
  text = text.substr(0, text.find_first_of(";]"));
  const auto scope = text.rfind("::");
  return text.find_first_of("()") == text.npos && scope != text.npos ? text.substr(scope + 2)
                                                                     : std::string_view();
}

// The values below 100, of which no enumeration here has as many.
template <typename Enum, std::size_t... values>
void check_values(std::index_sequence<values...>) {
  std::set<std::string_view> names;
  const auto check = [&](Enum value, std::string_view spelled) {
    if (spelled.empty()) {
      CHECK(to_string(value) == "unknown");
      return;
    }
    INFO(spelled);
    if (value == Enum{} && spelled == "none")
      CHECK((to_string(value).empty() || to_string(value) == "none"));  // Errc::none is ""
    else
      CHECK(to_string(value) == spelled);
    CHECK(names.insert(to_string(value)).second);
    CHECK(*to_string(value).end() == '\0');  // hosts print data()
  };
  (check(static_cast<Enum>(values), spelling<static_cast<Enum>(values)>()), ...);
  CHECK(names.size() > 1);
}

}  // namespace

TEMPLATE_TEST_CASE("every enumerator has its own name", "[core]", AfterStoreFailure, AgentRole, AgentState,
                   ContentPart::Kind, ConversationChange, Dialect, DiscardReason, DropReason, Durability,
                   Errc, FinishReason, GrantScope, InterruptedTurns, Interruption, JoinUserMessages,
                   LateResult, LogLevel, MessagePriority, PartialAnswers, Permission, QuestionKind,
                   QuestionOutcome, ReaskCause, RestoredTurn, Role, RunEnd, Scope, SteerFallback, SteerFate,
                   SteerWhen, StopCause, StopVerb, StopWhen, TaskKind, TaskState, ToolMode, ToolOutcome,
                   ToolReplay, TurnOutcome, VerbStatus, VolatilePlace, WindowCloseReason) {
  check_values<TestType>(std::make_index_sequence<100>());
}

TEST_CASE("the name of a state is read back as that state", "[core]") {
  for (std::size_t i = 0; i < agent_state_count; ++i) {
    const auto state = static_cast<AgentState>(i);
    CHECK(agent_state_from_string(to_string(state)) == state);
  }
  CHECK_FALSE(agent_state_from_string("unknown"));
  CHECK(std::string(to_string(Errc::none)).empty());
}
