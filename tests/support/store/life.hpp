// Life: one run of a program whose agents are in a store. A restart is the next Life on the same store.
#pragma once

#include "support/catch.hpp"
#include "support/drive/unhurried.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::test {

// What a restore has returned. A test that reads a report that is not there fails with the error of the
// restore.
class RestoreOutcome {
 public:
  RestoreOutcome& operator=(Result<RestoreReport> result) {
    result_ = std::move(result);
    return *this;
  }
  explicit operator bool() const noexcept { return result_.has_value(); }
  bool has_value() const noexcept { return result_.has_value(); }
  const RestoreReport& operator*() const { return value(); }
  const RestoreReport* operator->() const { return &value(); }
  const RestoreReport& value() const {
    if (!result_) FAIL("the restore was refused: " << result_.error().message);
    return *result_;
  }
  const Error& error() const {
    REQUIRE_FALSE(result_.has_value());
    return result_.error();
  }

 private:
  Result<RestoreReport> result_ = RestoreReport();
};

// The error of a result; Errc::none if it has none.
template <typename T>
Error error_of(const Result<T>& result) {
  return result ? Error{} : result.error();
}

struct Life {
  explicit Life(Store& store, RestoreOptions options = {}, TreeOptions tree_options = {},
                RuntimeOptions runtime_options = {})
      : runtime(unhurried(std::move(runtime_options))) {
    tree_options.llm = &llm;
    tree.emplace(runtime, std::move(tree_options));
    on_restored = tree->on<AgentRestored>([this](const AgentRestored& event) {
      restored.push_back(event);
      restored_ids.push_back(event.agent.id());
    });
    on_stop = tree->on<StopPersisted>([this](const StopPersisted& event) { stops.push_back(event); });
    on_message =
        tree->on<MessagePersisted>([this](const MessagePersisted& event) { messages.push_back(event); });
    on_dropped = tree->on<MessageDropped>([this](const MessageDropped& event) { dropped.push_back(event); });
    on_closed = tree->on<QuestionClosed>([this](const QuestionClosed& event) { closed.push_back(event); });
    report = tree->restore(&store, std::move(options));
  }

  Agent create(std::string id, AgentSpec spec = {}) {
    spec.id = std::move(id);
    return tree->create(std::move(spec)).value();
  }
  Agent find(std::string_view id) {
    const auto found = tree->find(id);
    if (!found) FAIL("there is no agent '" << id << "'" << (report ? "" : ": " + report.error().message));
    return *found;
  }
  // The contents of the messages of a conversation.
  static std::vector<std::string> texts(const Agent& agent) {
    std::vector<std::string> all;
    for (const ChatMessage& message : agent.conversation().value()) all.push_back(message.content());
    return all;
  }

  Runtime runtime;
  testing::ScriptedClient llm{runtime};
  std::optional<AgentTree> tree;
  Subscription on_restored, on_stop, on_message, on_dropped, on_closed;
  std::vector<AgentRestored> restored;
  std::vector<std::string> restored_ids;
  std::vector<StopPersisted> stops;
  std::vector<MessagePersisted> messages;
  std::vector<MessageDropped> dropped;
  std::vector<QuestionClosed> closed;
  RestoreOutcome report;
};

// How many records a store has.
inline std::size_t count_records(Store& store) {
  std::size_t count = 0;
  const Result<void> read = store.read({}, {RecordKey::max, RecordKey::max, RecordKey::max},
                                       [&](const RecordKey&, std::string_view) { return ++count, true; });
  CHECK(read);
  return count;
}

}  // namespace agentcore::test
