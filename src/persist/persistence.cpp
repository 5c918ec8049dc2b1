#include "persist/persistence.hpp"

#include "loop/time.hpp"
#include "persist/conversation_reader.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::detail::persist {
namespace {

constexpr unsigned most_doublings = 6;  // of the second before a retry: 64 seconds
constexpr Duration longest_wait = std::chrono::minutes(1);

// Runs a commit on an executor. At its end it wakes the loop, also if it was destroyed without running.
struct Job {
  Job(std::shared_ptr<Commit> what, std::shared_ptr<loop::Waker> loop, Ref<Store> keep) noexcept
      : commit(std::move(what)), waker(std::move(loop)), store(std::move(keep)) {}
  ~Job() {
    commit->drop();
    waker->notify();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const std::shared_ptr<Commit> commit;
  const std::shared_ptr<loop::Waker> waker;
  const Ref<Store> store;
};

Error no_memory() noexcept {
  return {Errc::out_of_memory, "out of memory"};
}

}  // namespace

Persistence::Persistence(Tree tree, Ref<Store> store, RestoreOptions options)
    : tree_(std::move(tree)),
      store_(std::move(store)),
      options_(std::move(options)),
      recorder_(tree_.table, tree_.pool, tree_.steers, tree_.engine, options_.durability) {
}

Persistence::~Persistence() {
  if (commit_) commit_->finish();
}

bool Persistence::has_end_work() const noexcept {
  if (detached_) return false;
  if (commit_) return commit_->has_ended();
  return retry_timer_ == 0 && recorder_.is_due();
}

// Takes the changes out of the recorder. False: there was no memory for them, or there are none.
bool Persistence::make_commit() {
  Batch batch = recorder_.take();
  if (batch.changes.empty() && batch.acknowledgements.empty()) return false;
  acknowledgements_ = std::move(batch.acknowledgements);
  commit_ = std::make_shared<Commit>(*store_, std::move(batch.changes), options_.sync);
  return true;
}

void Persistence::end_poll() {
  if (!has_end_work() || tree_.hub.closed()) return;
  const core::TreeLifetime::LoopEntry entry(tree_.lifetime);
  if (commit_) on_committed();
  if (!commit_ && has_end_work() && !tree_.hub.closed()) start();
}

void Persistence::start() {
  if (!make_commit()) return;
  if (options_.executor) return submit(commit_);
  commit_->finish();
  on_committed();
}

void Persistence::submit(std::shared_ptr<Commit> commit) {
  tree_.engine.guarded("RestoreOptions::executor", [&] {
    auto job = std::make_shared<const Job>(std::move(commit), tree_.engine.waker(), store_);
    options_.executor->submit([job = std::move(job)] { static_cast<void>(job->commit->run()); });
  });
  // If that has thrown, the next poll finds that the commit has failed.
}

// Waits for the commit that runs, and for one of everything else that has changed.
Result<void> Persistence::finish() {
  for (int commits = 0; commits < 2; ++commits) {
    if (!commit_ && !make_commit()) return {};
    commit_->finish();
    Result<void> result = commit_->result();
    on_committed();
    if (!result) return result;
  }
  return {};
}

Result<void> Persistence::flush() {
  if (detached_) return {};
  try {
    return finish();
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

void Persistence::close() noexcept {
  closing_ = true;
  if (retry_timer_ != 0) tree_.engine.cancel_timer(std::exchange(retry_timer_, 0));
  try {
    if (const Result<void> result = flush(); !result)
      tree_.engine.log(LogLevel::error, "the last changes of a tree are not in its store",
                       {{"error", to_string(result.error().code)}, {"why", result.error().message}});
  } catch (const std::exception&) {
  }
  detached_ = true;
}

// The commit has ended: reports it, or keeps its changes for the next one.
void Persistence::on_committed() noexcept {
  const std::shared_ptr<Commit> commit = std::exchange(commit_, nullptr);
  std::vector<Acknowledgement> acknowledgements = std::exchange(acknowledgements_, {});
  if (commit->result()) {
    failures_ = 0;
    for (const Acknowledgement& one : acknowledgements)
      if (!closing_ && !tree_.hub.closed()) report(one);
    return;
  }
  if (closing_) return;
  const bool kept = tree_.engine.guarded("a store", [&] {
    recorder_.give_back({commit->take_batch(), std::move(acknowledgements)});
  });
  if (!kept) recorder_.note_lost();
  on_failure(commit->result().error());
}

void Persistence::report(const Acknowledgement& one) noexcept {
  using What = Acknowledgement::What;
  switch (one.what) {
    case What::intents:
      return go_on_with_calls(one.agent);
    case What::stop:
    case What::erasure:
      return tree_.hub.emit_for(one.agent, [&](Agent agent) {
        return StopPersisted{std::move(agent), one.name, one.what == What::erasure};
      });
    case What::message:
    case What::end_of_message:
      return tree_.hub.emit_for(one.agent, [&](Agent agent) {
        return MessagePersisted{std::move(agent), one.message, one.what == What::end_of_message};
      });
  }
}

void Persistence::go_on_with_calls(core::NodeId agent) noexcept {
  StoredAgent* const stored = recorder_.agents().find(agent);
  if (!stored) return;
  for (Intent& intent : stored->intents)
    if (intent.state == Intent::State::written) intent.state = Intent::State::stored;
  tree_.engine.guarded("a tool call", [&] { tree_.go_on(agent); });
}

void Persistence::on_failure(const Error& error) noexcept {
  ++failures_;
  tree_.engine.log(LogLevel::error, "changes of a tree could not be written to its store",
                   {{"error", to_string(error.code)}, {"why", error.message}});
  if (tree_.hub.closed()) return;
  AfterStoreFailure after = AfterStoreFailure::retry;
  const auto on_failure = options_.on_failure;
  if (on_failure) tree_.engine.guarded("RestoreOptions::on_failure", [&] { after = on_failure(error); });
  if (tree_.hub.closed()) return;
  if (after == AfterStoreFailure::go_on) {
    detach();
    return;
  }
  retry_later();
  if (after == AfterStoreFailure::stop_all)
    tree_.engine.guarded("stop_all()", [&] { tree_.stop(0, "the store failed: " + error.message); });
}

// AfterStoreFailure::go_on.
void Persistence::detach() noexcept {
  detached_ = true;
  tree_.hub.changes = nullptr;
  tree_.engine.log(LogLevel::warning, "a tree goes on without its store");
  tree_.engine.guarded("tool calls", [&] {
    for (const core::NodeId agent : recorder_.agents().waiting())
      if (!tree_.hub.closed()) tree_.go_on(agent);
  });
}

void Persistence::retry_later() noexcept {
  const Duration wait =
      std::min<Duration>(std::chrono::seconds(1 << std::min(failures_ - 1, most_doublings)), longest_wait);
  tree_.engine.guarded("a retry of a store", [&] {
    retry_timer_ = tree_.engine.start_timer(
        loop::later(tree_.engine.now(), wait),
        [this, keep = tree_.keep()] {
          retry_timer_ = 0;
          tree_.engine.waker()->notify();
        },
        loop::TimerUse::watch);
  });
}

// A store may be the host's: nothing is thrown through it.
Result<void> Persistence::read(const RecordKey& first, const RecordKey& last, const Read& visit) {
  if (commit_) commit_->finish();  // a store is used by one thread at a time
  std::exception_ptr thrown;
  Result<void> done = store_->read(first, last, [&](const RecordKey& key, std::string_view body) {
    try {
      visit(key, body);
    } catch (...) {
      thrown = std::current_exception();
    }
    return thrown == nullptr;
  });
  if (thrown) std::rethrow_exception(thrown);
  return done;
}

Result<void> Persistence::load(core::Node& node) {
  StoredAgent* const agent = recorder_.agents().find(node.id());
  if (!agent || agent->is_loaded) return {};
  try {
    return ConversationReader(*this).read(node, *agent);
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& error) {
    return Error{Errc::store_corrupt, "the conversation of agent '" +
                                          tree_.table.names().name_of(node, node.id()) +
                                          "' in the store cannot be read: " + error.what()};
  }
}

bool Persistence::load_or_stop(core::Node& node) noexcept {
  StoredAgent* const agent = recorder_.agents().find(node.id());
  if (!agent || agent->is_loaded) return true;
  return tree_.engine.guarded("a store",
                              [&] {
                                const core::NodeId id = node.id();
                                const Result<void> loaded = load(node);
                                if (loaded) return;
                                tree_.engine.log(LogLevel::error,
                                                 "a conversation could not be read from its store",
                                                 {{"agent", tree_.table.names().name_of(node, id)},
                                                  {"error", to_string(loaded.error().code)},
                                                  {"why", loaded.error().message}});
                                if (!tree_.hub.closed()) tree_.stop(id, loaded.error().message);
                              }) &&
         !tree_.hub.closed() && recorder_.agents().find(node.id()) &&
         recorder_.agents().find(node.id())->is_loaded;
}

}  // namespace agentcore::detail::persist
