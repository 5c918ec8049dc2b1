// Forward declarations of the main public types. In your own headers, include this file instead of
// agentcore.hpp.
#pragma once

#include <cstdint>

/// All public names of the library.
namespace agentcore {

class Agent;
class AgentTree;
class CallSlots;
class ChatSink;
class Clock;
class Executor;
class HttpLlmClient;
class HttpRecorder;
class HttpReplay;
class KeptEvent;
class LlmClient;
class LlmRouter;
class LoopAttachment;
class Runtime;
class StopAudit;
class Subscription;
class TerminateScope;
class ThreadPool;
class Timer;
class ToolContext;
class ToolDone;
class ToolRegistry;

enum class AgentState : unsigned char;
enum class Dialect : unsigned char;
enum class Errc : unsigned char;
enum class StopCause : unsigned char;

struct AgentSpec;
struct Answer;
struct Budget;  // NOLINT(bugprone-forward-declaration-namespace): detail::loop::Budget is another
struct ChatError;
struct ChatMessage;
struct ChatOutcome;
struct ChatRequest;
struct Error;
struct Event;
struct HttpExchange;
struct LogRecord;
struct Message;
struct MessageEnd;
struct MessageId;
struct OpenQuestion;
struct Question;
struct RepairedHistory;
struct RunningTask;
struct SendOptions;
struct StateChanged;
struct StopRecord;
struct StopReport;
struct Tool;
struct ToolCall;
struct ToolCallRecord;
struct ToolDescription;
struct ToolResult;
struct ToolSpec;
struct TurnResult;
struct Usage;
struct Window;

template <typename T>
class SharedOrBorrowed;
template <typename T>
class Result;

/// What tests and demos use: a client without a network, a clock that is moved by hand.
namespace testing {
class ManualClock;
class ScriptedClient;
}  // namespace testing

/// Internal.
namespace detail {
struct TestAccess;
using EventKinds = std::uint64_t;  // a set of types of events, one bit for each
}  // namespace detail

// Internal namespaces. They are declared here because public objects contain pointers to their types.
namespace detail::core {
struct AgentAccess;
}
namespace detail::loop {
class Engine;
struct RuntimeAccess;
}  // namespace detail::loop
namespace detail::tree {
class TreeCore;
}

}  // namespace agentcore
