// Gates: which agents are closed for sure, as the threads that have called verbs know it. Written from
// docs/guarantees.md (G1 to G3) and the headers, not from the code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace agentcore::interleaved {

// Agents are named by their ids; "" is the tree, the parent of all roots.
class Family {
 public:
  void add(const std::string& id, const std::string& parent) { parents_[id] = parent; }
  bool knows(const std::string& id) const { return parents_.contains(id); }
  const std::map<std::string, std::string>& parents() const { return parents_; }
  bool is_within(std::string id, const std::string& root) const {
    for (;;) {
      if (id == root) return true;
      if (id.empty()) return false;
      id = parents_.at(id);
    }
  }
  std::vector<std::string> below(const std::string& root, bool with_root) const {
    std::vector<std::string> all;
    for (const auto& [id, parent] : parents_)
      if ((with_root || id != root) && is_within(id, root)) all.push_back(id);
    return all;
  }

 private:
  std::map<std::string, std::string> parents_;
};

// One for stops and deletes, which resumes open; one for pauses. A verb that opens may take effect at any
// time between its call and its return. So an agent is known to be closed from the return of a verb that
// closes it until the next call of one that may open it, if no such call overlapped with the first one.
class Gates {
 public:
  struct Closed {
    bool quiet = true;       // the loop was in no action of it
    std::uint64_t poll = 0;  // the number of the poll that ran then, or had run
    bool subtree = true;     // a child that is created below it is closed, too
    bool cuts = true;        // what is in flight is cut by the verb
    std::uint64_t at = 0;    // the time of the return
  };

  explicit Gates(const Family& family) : family_(family) {}

  // The time is a number that rises with each call.
  std::uint64_t now() noexcept { return ++now_; }

  void close(const std::vector<std::string>& ids, std::uint64_t called, Closed how) {
    how.at = now();
    for (const std::string& id : ids) {
      bool sure = true;
      for (const Opening& opening : openings_)
        if (opening.end > called && family_.is_within(id, opening.root)) sure = false;
      if (sure && (!closed_.try_emplace(id, how).second && how.quiet)) closed_[id] = how;
    }
  }
  std::size_t begin_open(const std::string& root, bool alone) {
    for (const std::string& id : family_.below(root, true))
      if (!alone || id == root) closed_.erase(id);
    openings_.push_back({root, ~std::uint64_t{0}});
    return openings_.size() - 1;
  }
  void end_open(std::size_t number) { openings_[number].end = now(); }
  // It was created below an agent that was closed before.
  void inherit(const std::string& id, const std::string& parent) {
    if (const auto found = closed_.find(parent); found != closed_.end() && found->second.subtree)
      closed_.emplace(id, found->second);
  }
  void forget(const std::string& id) { closed_.erase(id); }

  // How many verbs that may open were called so far.
  std::size_t openings() const { return openings_.size(); }
  const Closed* find(const std::string& id) const {
    const auto found = closed_.find(id);
    return found == closed_.end() ? nullptr : &found->second;
  }
  const std::map<std::string, Closed>& all() const { return closed_; }

 private:
  struct Opening {
    std::string root;
    std::uint64_t end;
  };

  const Family& family_;
  std::uint64_t now_ = 0;
  std::map<std::string, Closed> closed_;
  std::vector<Opening> openings_;
};

}  // namespace agentcore::interleaved
