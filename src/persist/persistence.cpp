#include "persist/persistence.hpp"

#include "loop/time.hpp"
#include "mailbox/mailbox.hpp"
#include "persist/conversation_reader.hpp"
#include "persist/merged_batches.hpp"
#include "persist/urgent_changes.hpp"

#include <agentcore/display.hpp>

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

// Runs an attempt of a commit on an executor, and wakes the loop at its end, also if the executor destroys
// the job without running it.
class Job {
 public:
  Job(std::shared_ptr<Commit> commit, std::shared_ptr<loop::Waker> waker,
      SharedOrBorrowed<Store> store) noexcept
      : commit_(std::move(commit)), waker_(std::move(waker)), store_(std::move(store)) {}
  ~Job() {
    commit_->drop();
    waker_->notify();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void run() const noexcept {
    commit_->run();
    waker_->notify();
  }

 private:
  const std::shared_ptr<Commit> commit_;
  const std::shared_ptr<loop::Waker> waker_;
  const SharedOrBorrowed<Store> store_;
};

Error went_on() {
  return {Errc::store_failed, "the tree goes on without its store (AfterStoreFailure::go_on)"};
}

Error no_memory() noexcept {
  return {Errc::out_of_memory, "out of memory"};
}

}  // namespace

Persistence::Persistence(Tree tree, std::shared_ptr<OwnedStore> store, RestoreOptions options)
    : tree_(std::move(tree)),
      store_(std::move(store)),
      options_(std::move(options)),
      recorder_(tree_.table, {tree_.pool, tree_.steers, tree_.cleared, tree_.mail_notes}, tree_.turns,
                tree_.engine, options_.durability),
      waits_for_store_(tree_.engine),
      delayed_reads_(tree_.engine) {
}

Persistence::~Persistence() {
  if (commit_) commit_->finish();
}

bool Persistence::has_end_work() const noexcept {
  if (detached_) return false;
  if (commit_) return commit_->has_ended();
  if (!urgent_.empty()) return true;
  if (failed_) return !waits_ || (is_full_ && (recorder_.is_urgent() || waits_for_store_.has_stops()));
  return !unstored_.empty() || recorder_.is_due() || (waits_for_store_.has_next() && !tree_.has_resumes());
}

void Persistence::end_poll() {
  if (!has_end_work() || tree_.hub.closed()) return;
  const core::TreeLifetime::LoopEntry entry(tree_.lifetime);
  if (commit_) on_committed();
  if (std::exchange(readers_first_, false)) return;
  // What a full store takes is followed by more.
  for (bool again = true; again;) {
    if (tree_.hub.closed() || commit_ || !has_end_work() || !begin()) return;
    if (options_.executor) return submit();
    commit_->finish();
    again = commits_urgent_ && commit_->result();
    on_committed();
  }
}

// False: there is nothing to commit now. Throws std::bad_alloc; then no change is lost. `also_empty`: a
// commit without changes says whether the store can still be written.
bool Persistence::begin(bool also_empty) {
  if (urgent_.empty()) {
    if (!collect(also_empty)) return false;
    if (is_full_ && begin_urgent()) return true;
    if (failed_ && waits_) {
      waits_for_store_.fail_stops(last_error_);
      return false;
    }
  }
  if (!urgent_.empty()) {
    start(std::move(urgent_.front()), true);
    return true;
  }
  start(std::move(unstored_.front().changes), false);
  failed_ = false;
  retry_ = {};
  waits_for_store_.begin_commit(tree_.has_resumes());
  return true;
}

// Takes what has changed out of the recorder. What has failed is built again, from the present state: what
// was deleted or changed since is not written. False: there is nothing.
bool Persistence::collect(bool also_empty) {
  unstored_.reserve(unstored_.size() + 1);
  unstored_.push_back(recorder_.take());
  const auto is_empty = [](const Batch& batch) {
    return batch.changes.empty() && batch.acknowledgements.empty();
  };
  std::erase_if(unstored_, is_empty);
  if (unstored_.empty()) {
    failed_ = is_full_ = false;
    if (also_empty) unstored_.emplace_back();
    if (!also_empty && !tree_.has_resumes()) waits_for_store_.end_all({});
    return also_empty;
  }
  if (unstored_.size() == 1) return true;
  Batch all;
  std::vector<const StoreBatch*> batches;
  for (const Batch& batch : unstored_) batches.push_back(&batch.changes);
  all.changes = merged(batches);
  for (const Batch& batch : unstored_)
    all.acknowledgements.add_all(batch.acknowledgements,
                                 [this](const Acknowledgement& one) { return recorder_.is_in_force(one); });
  unstored_.front() = std::move(all);
  unstored_.erase(unstored_.begin() + 1, unstored_.end());
  return true;
}

// The store is full. What closes agents, deletes, or makes it smaller comes before everything else, also
// while the rest waits for its next attempt. False: there is none of it.
bool Persistence::begin_urgent() {
  is_full_ = waits_;  // else everything follows it at once
  auto found = urgent_changes(unstored_.front().changes,
                              [this](const RecordKey& first, const RecordKey& last,
                                     const VisitRecord& visit) { return read(first, last, visit); });
  if (!found) return false;
  unwritten_ = std::move(found->unwritten);
  urgent_ = std::move(found->batches);
  if (urgent_.empty()) return false;
  start(std::move(urgent_.front()), true);
  return true;
}

void Persistence::start(StoreBatch&& changes, bool is_urgent) {
  auto commit = std::make_shared<Commit>(*store_->store(), options_.sync);
  changes.set_epoch(store_->epoch());
  commit->set_batch(std::move(changes));
  commit_ = std::move(commit);
  commits_urgent_ = is_urgent;
}

void Persistence::submit() noexcept {
  const bool submitted = tree_.engine.guarded("RestoreOptions::executor", [&] {
    const auto job = std::make_shared<const Job>(commit_, tree_.engine.waker(), store_->store());
    options_.executor->submit([job] { job->run(); });
  });
  if (submitted) return;
  commit_->drop();
  tree_.engine.waker()->notify();
}

// A full store may take a stop at once, and everything else later.
void Persistence::when_stored(StoreWaits::Done done, std::optional<std::string> stop_of) {
  recorder_.note_tree();
  if (detached_ || (failed_ && waits_ && !(is_full_ && stop_of))) {
    const Error error = detached_ ? went_on() : last_error_;
    return tree_.engine.post([done = std::move(done), error] { done(error); });
  }
  waits_for_store_.add(std::move(done), std::move(stop_of));
  tree_.engine.waker()->notify();
}

// Waits for the commit that runs, and for one of everything else that has changed or has failed.
Result<void> Persistence::flush() {
  if (detached_) return went_on();
  try {
    for (bool is_last = false; !is_last;) {
      const bool had_begun = commit_ != nullptr;
      waits_ = false;
      if (!commit_ && !begin(!closing_)) return {};
      is_last = !had_begun && !commits_urgent_;
      commit_->finish();
      const Result<void> result = commit_->result();
      on_committed();  // a callback may destroy the tree
      if (!result) return result.error();
      if (detached_ || tree_.hub.closed()) return {};
    }
    return {};
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

// A commit that fails is tried once more: what has failed may have been an earlier one.
void Persistence::close() noexcept {
  if (std::exchange(closing_, true) || detached_) return store_->release();
  try {
    Result<void> result = flush();
    if (!result) result = flush();
    if (!result)
      tree_.engine.log(LogLevel::error, "the last changes of a tree are not in its store",
                       {{"error", to_string(result.error().code)}, {"why", result.error().message}});
  } catch (const std::exception&) {
    // There was no memory for the record.
  }
  retry_ = {};
  detached_ = true;
  store_->release();
}

// The commit has ended: reports it, or keeps what it has for the next attempt. Agents that wait for its end,
// to read, do that in the next poll.
void Persistence::on_committed() noexcept {
  const std::shared_ptr<Commit> commit = std::exchange(commit_, nullptr);
  if (commits_urgent_)
    urgent_.erase(urgent_.begin());
  else if (!commit->result())
    unstored_.front().changes = commit->take_batch();
  if (!commit->result())
    on_not_stored(commit->result().error());
  else if (commits_urgent_)
    tree_.engine.guarded("a store", [&] { on_urgent_stored(); });
  else
    on_stored();
  readers_first_ = readers_first_ || !readers_.empty();
  for (auto* const waiting : {&readers_, &beginners_})
    for (const core::NodeId agent : std::exchange(*waiting, {}))
      if (!closing_ && !tree_.hub.closed()) tree_.schedule(agent);
}

void Persistence::on_stored() {
  failures_ = 0;
  is_full_ = false;
  waits_for_store_.end_commit({});
  const std::vector<Batch> stored = std::exchange(unstored_, {});
  const Acknowledgements& acknowledgements = stored.front().acknowledgements;
  if (acknowledgements.left_out() > 0 && !closing_)
    tree_.engine.log(LogLevel::warning, "StopPersisted and MessagePersisted were left out",
                     {{"count", std::to_string(acknowledgements.left_out())}});
  for (const Acknowledgement& one : acknowledgements.list())
    if (!closing_ && !tree_.hub.closed()) report(one);
}

// The store has the stops and deletes of what is not stored: but not those of agents that it does not know.
void Persistence::on_urgent_stored() {
  if (!urgent_.empty()) return;
  using What = Acknowledgement::What;
  Acknowledgements& all = unstored_.front().acknowledgements;
  const auto is_stored = [this](const Acknowledgement& one) {
    return one.what == What::erasure || (one.what == What::stop && !unwritten_.contains(one.agent));
  };
  std::vector<Acknowledgement> stored;
  for (const Acknowledgement& one : all.list())
    if (is_stored(one)) stored.push_back(one);
  all.remove_if(is_stored);
  waits_for_store_.end_stops([&](const std::string& name) {
    return std::any_of(stored.begin(), stored.end(),
                       [&](const Acknowledgement& one) { return one.name == name; });
  });
  if (waits_) waits_for_store_.fail_stops(last_error_);
  for (const Acknowledgement& one : stored)
    if (!closing_ && !tree_.hub.closed()) report(one);
}

void Persistence::on_not_stored(const Error& error) noexcept {
  failed_ = true;
  is_full_ = error.code == Errc::store_full;
  urgent_.clear();
  tree_.engine.guarded("a store", [&] {
    last_error_ = error;
    if (commits_urgent_)
      waits_for_store_.end_all(error);
    else if (is_full_)
      waits_for_store_.end_full_commit(error);
    else
      waits_for_store_.end_commit(error);
    if (waits_for_store_.has_stops()) tree_.engine.waker()->notify();
  });
  if (!closing_) on_failure(error);
}

void Persistence::report(const Acknowledgement& one) noexcept {
  using What = Acknowledgement::What;
  switch (one.what) {
    case What::intents: {
      recorder_.agents().set_stored(one.agent);
      if (tree_.engine.guarded("a tool call", [&] { tree_.go_on(one.agent); }) || tree_.hub.closed()) return;
      // There was no memory to go on: the turn does so after another commit.
      if (StoredAgent* const stored = recorder_.agents().find(one.agent)) stored->lost_intent = true;
      return recorder_.note_change(one.agent);
    }
    case What::stop:
    case What::erasure:
      return tree_.hub.emit_for(one.agent, [&](Agent agent) {
        return StopPersisted{std::move(agent), one.name, one.what == What::erasure};
      });
    case What::message:
      if (!tree_.pool.stands_for(one.message)) return;  // it was dropped, or handled, while the commit ran
      [[fallthrough]];
    case What::end_of_message:
      return tree_.hub.emit_for(one.agent, [&](Agent agent) {
        return MessagePersisted{std::move(agent), one.message, one.what == What::end_of_message};
      });
  }
}

void Persistence::on_failure(const Error& error) noexcept {
  ++failures_;
  tree_.engine.log(LogLevel::error, "changes of a tree could not be written to its store",
                   {{"error", to_string(error.code)}, {"why", error.message}});
  if (tree_.hub.closed()) return;
  AfterStoreFailure after = AfterStoreFailure::retry;
  if (options_.on_failure)
    tree_.engine.guarded("RestoreOptions::on_failure", [&] {
      const auto on_failure = options_.on_failure;  // it may destroy the tree
      after = on_failure(error);
    });
  if (tree_.hub.closed()) return;
  if (after == AfterStoreFailure::go_on) {
    detach();
    return;
  }
  if (error.code == Errc::store_fenced)
    waits_ = true;  // for nothing: the store stays that of another tree
  else
    retry_later();
  if (after == AfterStoreFailure::stop_all)
    tree_.engine.guarded("stop_all()", [&] { tree_.stop(0, "the store failed: " + error.message); });
}

// AfterStoreFailure::go_on.
void Persistence::detach() noexcept {
  detached_ = true;
  tree_.hub.changes = nullptr;
  tree_.mail_notes.enable(false);
  commit_ = nullptr;
  failed_ = is_full_ = false;
  unstored_.clear();
  urgent_.clear();
  tree_.engine.guarded("a store", [&] { waits_for_store_.end_all(went_on()); });
  recorder_.forget_changes();
  tree_.engine.log(LogLevel::warning, "a tree goes on without its store");
  // Nothing notes agents any more.
  recorder_.agents().for_each_with_intents([&](core::NodeId agent) {
    tree_.engine.guarded("a tool call", [&] {
      if (!tree_.hub.closed()) tree_.go_on(agent);
    });
  });
}

void Persistence::retry_later() noexcept {
  const Duration wait = wait_after(failures_);
  tree_.engine.guarded("a retry of a store", [&] {
    const std::uint64_t timer = tree_.engine.start_timer(
        loop::later(tree_.engine.now(), wait),
        [this, keep = tree_.keep()] {
          waits_ = false;
          tree_.engine.waker()->notify();
        },
        loop::TimerUse::watch);
    retry_ = Timer(tree_.engine.weak_from_this(), timer);
    waits_ = true;
  });
}

Result<void> Persistence::read(const RecordKey& first, const RecordKey& last, const VisitRecord& visit) {
  if (commit_) commit_->finish();  // a store is used by one thread at a time
  return store_->read(first, last, visit);
}

Result<void> Persistence::load(core::Node& node) {
  StoredAgent* const agent = recorder_.agents().find(node.id());
  if (!agent || agent->is_loaded) return {};
  const core::TreeLifetime::LoopEntry entry(tree_.lifetime);  // a commit that ends here is to be reported
  try {
    return ConversationReader(*this).read(node, *agent);
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& error) {
    return Error{Errc::store_corrupt, "the conversation of agent '" +
                                          tree_.table.names().name_of(node, node.id()) +
                                          "' in the store cannot be read: " + display(error.what())};
  }
}

bool Persistence::may_begin_next(core::Node& node) {
  const core::NodeId id = node.id();
  if (detached_ || !recorder_.counts_mail(id)) return true;
  const std::uint32_t number = mailbox::front(node, tree_.pool);
  if (number == 0 || recorder_.may_begin(id, tree_.pool.id_of(number))) return true;
  beginners_.insert(id);
  return false;
}

bool Persistence::load_for_turn(core::Node& node) {
  const core::NodeId id = node.id();
  const StoredAgent* const agent = recorder_.agents().find(id);
  if (!agent || agent->is_loaded) return true;
  if (commit_) {
    readers_.insert(id);
    return false;
  }
  const Result<void> loaded = load(node);
  if (loaded) {
    delayed_reads_.end_failures();
    return true;
  }
  const Error& error = loaded.error();
  if (error.code == Errc::out_of_memory) throw std::bad_alloc();
  const bool is_damaged = error.code == Errc::store_corrupt || error.code == Errc::store_newer;
  tree_.engine.log(LogLevel::error,
                   is_damaged ? "a conversation in a store is damaged, and its agent is stopped"
                              : "a conversation could not be read from its store, and is read again later",
                   {{"agent", tree_.table.names().name_of(node, id)},
                    {"error", to_string(error.code)},
                    {"why", error.message}});
  if (is_damaged && !tree_.hub.closed()) tree_.stop(id, error.message);
  if (tree_.hub.closed() || !recorder_.agents().find(id)) return false;
  // Also if it is damaged: an agent of a person (AgentRole::user) cannot be stopped.
  if (node.load().is_open())
    delayed_reads_.add(id, [this, keep = tree_.keep()] {
      const core::TreeLifetime::LoopEntry entry(tree_.lifetime);
      for (const core::NodeId delayed : delayed_reads_.take())
        if (!tree_.hub.closed()) tree_.schedule(delayed);
    });
  return false;
}

}  // namespace agentcore::detail::persist
