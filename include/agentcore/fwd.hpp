// Forward declarations of the main public types. In your own headers, include this file instead of
// agentcore.hpp.
#pragma once

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
class LlmClient;
class LlmRouter;
class ManualClock;
class Runtime;
class ScriptedClient;
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
struct Budget;  // NOLINT(bugprone-forward-declaration-namespace): loop::Budget is another
struct ChatMessage;
struct ChatOutcome;
struct ChatRequest;
struct Error;
struct GrantResult;
struct HttpExchange;
struct InteractionResult;
struct InteractionStep;
struct LogRecord;
struct Message;
struct OpenQuestion;
struct Question;
struct RepairedHistory;
struct RunningTask;
struct StateChange;
struct StopReport;
struct TerminateReport;
struct Tool;
struct ToolCall;
struct ToolDescription;
struct ToolResult;
struct ToolSpec;
struct Usage;
struct Window;

template <typename T>
class Result;

// Internal namespaces. They are declared here because public objects contain pointers to their types.
namespace core {
struct AgentAccess;
}
namespace loop {
class Engine;
}
namespace tree {
class TreeCore;
}

}  // namespace agentcore
