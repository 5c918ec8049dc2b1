#include "support/drive/tree_fixture.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::test {

TreeFixture::TreeFixture(TreeOptions options, bool watch_states) {
  RuntimeOptions how;
  how.clock = &clock;
  how.seed = 1;
  how.log = [this](const LogRecord& record) {
    std::string line = std::string(to_string(record.level)) + " " + std::string(record.message);
    for (const auto& field : record.fields)
      line += " " + std::string(field.key) + "=" + std::string(field.value);
    log.push_back(line);
  };
  runtime = std::make_unique<Runtime>(std::move(how));
  llm = std::make_unique<FakeClient>(*runtime);
  if (!options.llm) options.llm = llm.get();
  tree = std::make_unique<AgentTree>(*runtime, options);
  seen.watch(*tree, watch_states);
}

TreeFixture::~TreeFixture() {
  seen.unwatch();
  tree.reset();
  if (!check_at_end) return;
  CHECK(seen.violations == std::vector<std::string>{});
}

Agent TreeFixture::root(std::string id, AgentSpec spec) {
  spec.id = std::move(id);
  return tree->create(std::move(spec)).value();
}

Agent TreeFixture::child(const Agent& parent, std::string id, AgentSpec spec) {
  spec.id = std::move(id);
  return parent.create_child(std::move(spec)).value();
}

void TreeFixture::settle() {
  for (int i = 0; i < 100'000 && runtime && runtime->poll(); ++i) {
  }
}

void TreeFixture::advance(Duration time) {
  clock.advance(time);
  settle();
}

bool TreeFixture::logged(std::string_view part) const {
  return std::any_of(log.begin(), log.end(),
                     [&](const std::string& line) { return line.find(part) != line.npos; });
}

void TreeFixture::ask(const Agent& agent, std::string text) {
  REQUIRE(agent.send(std::move(text)).accepted());
  settle();
  REQUIRE(agent.state().value() == AgentState::waiting_llm);
}

}  // namespace agentcore::test
