// AgentSpec: the configuration from which an agent is created.
#pragma once

#include <agentcore/budget.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/context.hpp>
#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/no_limit.hpp>
#include <agentcore/shared_or_borrowed.hpp>
#include <agentcore/tool_policy.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// Protects an agent against verbs that are called on it directly. A stop or a delete of an ancestor with its
/// subtree includes the agent, whatever its role; only a stop of the parent with Scope::descendants leaves an
/// AgentRole::user as it is.
enum class AgentRole : unsigned char {
  normal,  ///< No protection.
  system,  ///< terminate() is refused with `cannot_delete_system_agent`.
  /// Represents a person. terminate() is refused with `cannot_delete_system_agent`, stop() with
  /// `cannot_stop_user`.
  user,
};

/// Returns the name of the role: "normal", "system" or "user".
AGENTCORE_API std::string_view to_string(AgentRole role) noexcept;

/// Handles a message in the host's code instead of a model call. The agent is `processing` while the function
/// runs.
///
///     agentcore::AgentSpec spec;
///     spec.handler = [](const agentcore::Agent& agent, const agentcore::Message& message) {
///       std::printf("%s received: %s\n", agent.id().c_str(), message.text.c_str());
///     };
///     agentcore::Agent printer = tree.create(std::move(spec)).value();
///
/// Called on the loop thread, for one message at a time per agent, and never for an agent that is stopped or
/// being deleted. `agent` and `message` are valid during the call; `agent` may be copied. The function may
/// call anything, and may for example stop its own agent or destroy the tree. If the function throws, the
/// turn fails with `callback_failed`, and the agent continues with its next message.
using MessageHandler = std::function<void(const Agent& agent, const Message& message)>;

/// How the tools are described to a model, and how the model calls them.
enum class ToolProtocol : unsigned char {
  native,  ///< The function calls of the provider.
  text,    ///< <tool_call> blocks in the text of the answer, for models and servers without function calls.
};

/// What is kept in the history of an answer that was not completed: the turn was aborted, interrupted or
/// stopped, a message was steered into it (SteerWhen::now), or the model call failed in the middle.
enum class PartialAnswers : unsigned char {
  drop,  ///< Nothing.
  /// What was delivered as DeltaReceived; if acknowledge() was called for that model call, what was
  /// acknowledged.
  keep,
  keep_acknowledged  ///< What was acknowledged; nothing if acknowledge() was not called. For voice.
};
/// Returns the name of the enumerator, spelled as above.
AGENTCORE_API std::string_view to_string(PartialAnswers partial) noexcept;

/// The names of the code that a spec refers to, for agents that a store keeps: see CodeRegistry. An empty
/// name means that the field has no name: what it refers to is not found again after a restart.
struct CodeNames {
  std::string llm = {};           ///< Of AgentSpec::llm.
  std::string tools = {};         ///< Of AgentSpec::tools.
  std::string handler = {};       ///< Of AgentSpec::handler.
  std::string tool_policy = {};   ///< Of AgentSpec::tool_policy.
  std::string count_tokens = {};  ///< Of ContextOptions::count_tokens.
  std::string summary_llm = {};   ///< Of Compaction::llm.

  /// True if all names are equal.
  bool operator==(const CodeNames&) const = default;
};

/// What is sent with the model calls of an agent, and what they cost. All fields have defaults.
///
///     agentcore::AgentSpec spec;
///     spec.model = {.name = "gpt-4.1", .temperature = 0.2, .max_tokens = 2'000};
///
/// The summaries of ContextOptions::compact have a model and a token limit of their own (Compaction).
struct ModelOptions {
  /// The name of the model. Empty: the client's default.
  std::string name = {};
  /// Sampling temperature, 0 to 2. Empty: not sent.
  std::optional<double> temperature = {};
  /// Maximum number of tokens of one answer, at least 1. Empty: not sent.
  std::optional<std::uint32_t> max_tokens = {};
  /// Nucleus sampling, 0 to 1. Empty: not sent.
  std::optional<double> top_p = {};
  /// Texts at which the model ends its answer; providers refuse an empty one. Empty: not sent.
  std::vector<std::string> stop_sequences = {};
  /// "low", "medium", "high", or another value that the model accepts. Empty: not sent.
  std::string reasoning_effort = {};
  /// True: the server sends each answer in pieces, and there are DeltaReceived events as they arrive. False:
  /// in one piece, for servers that cannot stream, or cannot stream tool calls.
  bool stream = true;
  /// The format of the answers. Answers that end a turn are checked (ResponseFormat::validate); those of
  /// Agent::simulate() are not. For `json_schema`, a schema that is not a JSON object with members is
  /// refused. With `validate`, so is a schema that cannot be checked: one that is not of draft 4 to 7, is
  /// nested deeper than 64 levels, refers to another document, or has a pattern with look-ahead, look-behind
  /// or a back reference (in a build without RE2: any pattern).
  ResponseFormat response_format = {};
  /// Applies to the model calls of a turn up to its first tool calls; the later model calls of the turn may
  /// answer in words. `named` without a name is refused.
  ToolChoice tool_choice = {};
  /// Whether the model may ask for several tool calls in one answer. Empty: not sent.
  std::optional<bool> parallel_tool_calls = {};
  /// Lets the provider find the cached beginning of the agent's requests again (ChatRequest::cache_key); at
  /// most 64 bytes. Empty: a text that is made from the id of the agent.
  std::string cache_key = {};
  /// The prices of the model, for budgets with a cost, and for TurnResult::cost where the client reports no
  /// cost.
  Prices prices = {};
};

/// How much an agent may do, use and wait. All fields have defaults.
///
///     agentcore::AgentSpec spec;
///     spec.limits = {.tool_rounds = 100,
///                    .turn_timeout = std::chrono::minutes(5),
///                    .budget = {.tokens = 200'000}};
struct AgentLimits {
  /// Maximum number of messages in the mailbox, 1 to 65,000. Empty: TreeOptions::mailbox_limit. Messages that
  /// a verb has dropped (AbortOptions::queue, QueueAction::drop) do not count when the verb has
  /// returned. Before the loop runs, as many messages can be dropped as the mailbox takes, but at least
  /// 1,024.
  std::optional<std::uint16_t> mailbox = {};
  /// How often in one turn a refused answer is returned to the model together with the reason, and the model
  /// is asked again. 0: never. One limit for both kinds of refused answers:
  ///
  ///   - With ToolProtocol::text, an answer whose tool calls cannot be read. It counts as an answer with tool
  ///     calls. Beyond the limit it is an answer in words, and TurnResult::parse_error is set.
  ///   - An answer that does not match ModelOptions::response_format. Beyond the limit the turn fails with
  ///     `invalid_answer`; at once, if the answer is a refusal or a content filter ended it.
  ///
  /// Each time is a model call like any other: it has usage, draws on budgets and is ended by verbs. The
  /// event ModelCallEnded precedes it. The refused answer and the reason are sent with that model call alone:
  /// they are not part of the conversation.
  std::uint16_t repairs = 1;
  /// Maximum number of answers with tool calls in one turn. After that many, the next answer must be in
  /// words: if it has tool calls, they are not run, and the turn fails with `tool_round_limit`. An agent that
  /// works with files or programs needs more, 100 for example. no_limit is accepted.
  std::uint16_t tool_rounds = 12;
  /// Maximum number of tool calls of one answer that run concurrently. Their results are kept in the order of
  /// the calls. 1, and also 0: one after the other.
  std::uint16_t parallel_tools = 1;
  /// Maximum number of background tasks of the agent at a time; a call that would begin another one is
  /// refused (ToolRefused). 0: tools of ToolMode::async run as ToolMode::sync.
  std::uint16_t background_tasks = 0;
  /// The time-out of one turn, from its beginning: model calls, back-offs, tool calls and waits for people
  /// together; >= 0. After it the turn fails with Errc::deadline_exceeded, and the agent goes on with its
  /// next message. SendOptions::deadline, which describes this, applies instead where it is earlier. Read
  /// when the turn begins. Not for turns of a `handler`. no_limit: no time-out.
  ///
  /// Budget::wall_clock is another limit: it runs from the grant, over turns and the idle time between them,
  /// and its end stops the agent.
  Duration turn_timeout = no_limit;
  /// The lease of the agent and its subtree: how long they may run unless the host renews it with
  /// Agent::renew(), for example in each frame of a game; > 0. When it runs out, the agent is stopped with
  /// StopCause::lease, even if the loop is busy: the next beginning, answer or message is refused, and a
  /// timer cuts what runs. Then only resume() opens the agent, with a whole lease. It begins at the creation
  /// and also runs in a pause, and while the machine sleeps (Clock::boot_time()). Not for AgentRole::user.
  /// no_limit: none.
  Duration lease = no_limit;
  /// Limits what the agent itself uses.
  Budget budget = {};
  /// Limits what the agent and all its descendants use together.
  Budget subtree_budget = {};
};

/// The configuration of an agent. All fields have defaults.
///
///     agentcore::AgentSpec spec;
///     spec.id = "planner";
///     spec.system_prompt = "You plan trips.";
///     spec.model.name = "gpt-4.1";
///     spec.tools = tools;  // a std::shared_ptr<agentcore::ToolRegistry>
///     spec.limits.budget = {.tokens = 100'000};
///     agentcore::Agent planner = tree.create(std::move(spec)).value();
///
/// The same with designated initializers: `{.id = "planner", .model = {.name = "gpt-4.1"}, .limits = ...}`.
///
/// The fields are checked when the agent is created: a value out of range is refused with `invalid_config`,
/// unless the field names another error.
struct AgentSpec {
  /// Unique in the tree; UTF-8, at most 255 bytes, not beginning with '@'. Empty: an id is generated
  /// ("@17.1"; in the second tree of a Runtime "@2:17.1"). Errors: `invalid_agent_id`, `agent_exists`.
  std::string id = {};
  /// The first message of every model call. Empty: the system message of `history`, if there is one.
  std::string system_prompt = {};
  /// The model, and what is sent with each call of it.
  ModelOptions model = {};
  /// The client for the agent's model calls. Null: TreeOptions::llm. If that is null too and there is no
  /// `handler`, each turn fails with `no_llm_client`.
  SharedOrBorrowed<LlmClient> llm = {};
  /// If set, messages are passed to this function and not to a model. The answers of Agent::simulate() are
  /// not.
  MessageHandler handler = {};
  /// Protection against verbs.
  AgentRole role = AgentRole::normal;
  /// True: a message to the stopped agent resumes it. False: the message is refused. If an ancestor is
  /// stopped or has a deferred stop pending (StopOptions::when), or the lease of the agent has run out
  /// (AgentLimits::lease), the message is refused in both cases, and the agent stays stopped.
  bool auto_resume = false;

  /// The tools that the agent may call. The agents whose specs name the same registry share it. Null: none.
  SharedOrBorrowed<ToolRegistry> tools = {};
  /// How the model calls the tools.
  ToolProtocol tool_protocol = ToolProtocol::native;
  /// Decides which tool calls of the agent may run. Empty: TreeOptions::tool_policy alone. See ToolPolicy.
  ToolPolicy tool_policy = {};

  /// How much the agent may do, use and wait.
  AgentLimits limits = {};

  /// How much of the conversation is sent to the model.
  ContextOptions context = {};
  /// The conversation to continue, for example Agent::conversation() of an earlier run. Must be valid
  /// (is_valid_history()). If it begins with a system message, that message is the system prompt, and
  /// `system_prompt` must be empty or equal to it. If the last question has no answer, it is marked as
  /// stopped. Error: `invalid_history`.
  std::vector<ChatMessage> history = {};
  /// What is kept of an answer that was not completed. The kept part is an assistant message with the mark of
  /// its interruption (ChatMessage::interruption), and TurnResult::partial. Its tool calls and its reasoning
  /// are never kept, and nothing is kept if only white space is left.
  PartialAnswers partial_answers = PartialAnswers::drop;

  /// The names of the code above. In a tree with a store (AgentTree::restore()), a field of the spec that is
  /// empty and has a name here is taken from RestoreOptions::code; a name that is not there is refused with
  /// `invalid_config`. In a tree without a store they have no effect.
  CodeNames code = {};
};

/// A spec that many equal agents share: create it once, and no agent needs a copy of it. AgentSpec::id is
/// ignored: each agent gets a generated id.
///
///     auto shared = std::make_shared<agentcore::AgentSpec>();
///     shared->system_prompt = "You summarize texts.";
///     for (int i = 0; i < 1000; ++i) tree.create(shared).value();
using SharedAgentSpec = std::shared_ptr<const AgentSpec>;

/// A type that converts to SharedAgentSpec. The functions that take a shared spec are templates, so that a
/// list in braces, as in create({}), can only be an AgentSpec.
template <typename T>
concept SharesAgentSpec = std::convertible_to<const T&, SharedAgentSpec>;

}  // namespace agentcore
