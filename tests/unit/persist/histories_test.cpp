// Where the messages of conversations are in a store, whatever their agents share: against a model.
#include "persist/histories.hpp"

#include "persist/history_record.hpp"
#include "persist/record_kinds.hpp"
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/memory_store.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail;
using namespace agentcore::detail::persist;
using agentcore::test::records_of;

namespace {

// Conversations with texts that are never used again, each with its pieces.
class Forest {
 public:
  void create() { agents_.try_emplace(next_agent_++); }
  void fork(std::mt19937& random) {
    const core::NodeId origin = some(random);
    Agent copy;
    const std::size_t size = random() % (agents_[origin].texts.size() + 1);
    copy.texts.assign(agents_[origin].texts.begin(),
                      agents_[origin].texts.begin() + static_cast<std::ptrdiff_t>(size));
    copy.pieces = histories_.share(origin, agents_[origin].pieces, next_agent_, size);
    agents_.emplace(next_agent_++, std::move(copy));
  }
  // Takes messages away at the front and at the end, changes the last one that is left, and adds some.
  void change(std::mt19937& random) {
    const core::NodeId id = some(random);
    std::vector<std::string>& texts = agents_[id].texts;
    turn::ConversationChanges what;
    if (random() % 4 == 0) {
      what.removed_in_front = random() % (texts.size() + 1);
      texts.erase(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(what.removed_in_front));
    }
    std::size_t from = texts.size();
    if (random() % 3 == 0) from = random() % (texts.size() + 1);
    texts.resize(from);
    for (std::size_t i = random() % 4; i > 0; --i) texts.push_back(std::to_string(next_text_++));
    what.from = from;
    turn::Conversation conversation;
    std::vector<ChatMessage> messages;
    for (const std::string& text : texts) messages.push_back(ChatMessage::user(text));
    conversation.load(std::move(messages), {});
    StoreBatch batch;
    histories_.write(batch, id, agents_[id].pieces, conversation, what);
    REQUIRE(store_.commit(batch, StoreSync::process));
  }
  void remove(std::mt19937& random) {
    const core::NodeId id = some(random);
    StoreBatch batch;
    histories_.erase(batch, id, agents_[id].pieces);
    REQUIRE(store_.commit(batch, StoreSync::process));
    agents_.erase(id);
  }
  void restart() {
    Histories next;
    next.begin_at(histories_.next_segment());
    for (const auto& [id, agent] : agents_) next.add(id, agent.pieces);
    next.end_adding();
    histories_ = std::move(next);
  }
  // Each agent finds its texts, and no other record is there.
  void check() {
    const auto records = records_of(store_);
    std::set<RecordKey> owned;
    for (const auto& [id, agent] : agents_) {
      CAPTURE(id);
      std::vector<std::string> found;
      for (const Piece& piece : agent.pieces)
        for (std::uint64_t number = piece.first; number < piece.end(); ++number) {
          const RecordKey key = key_of(Kind::history, piece.segment, number);
          owned.insert(key);
          REQUIRE(records.contains(key));
          found.push_back(read_message(records.at(key)).message.content());
        }
      CHECK(found == agent.texts);
    }
    CHECK(owned.size() == records.size());
  }
  std::size_t size() const { return agents_.size(); }

 private:
  struct Agent {
    std::vector<std::string> texts;
    std::vector<Piece> pieces;
  };
  core::NodeId some(std::mt19937& random) const {
    auto at = agents_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random() % agents_.size()));
    return at->first;
  }

  MemoryStore store_;
  Histories histories_;
  std::map<core::NodeId, Agent> agents_;
  core::NodeId next_agent_ = 1;
  std::uint64_t next_text_ = 0;
};

}  // namespace

TEST_CASE("conversations that share messages keep theirs, and no record stays without one",
          "[persist][fork][rewind][delete][G13][G14]") {
  for (unsigned seed = 0; seed < test::amount(200U, 40U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Forest forest;
    forest.create();
    for (int step = 0; step < 40; ++step) {
      CAPTURE(step);
      const unsigned what = random() % 16;
      if (what == 0 || forest.size() == 0)
        forest.create();
      else if (what < 4 && forest.size() < 6)
        forest.fork(random);
      else if (what == 4)
        forest.remove(random);
      else if (what == 5)
        forest.restart();
      else
        forest.change(random);
      forest.check();
    }
  }
}
