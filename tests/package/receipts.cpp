// What a stranger's first program with receipts does: a file that says what a stop has ended, and a check of
// it. usage: receipts FOLDER
#include <agentcore/agentcore.hpp>
#include <agentcore/receipt_file.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return EXIT_FAILURE;
  const std::string path = std::string(argv[1]) + "/receipts.jsonl";
  {
    std::shared_ptr<agentcore::ReceiptFile> receipts = agentcore::ReceiptFile::open(path).value();
    agentcore::Runtime runtime;
    agentcore::testing::ScriptedClient model(runtime);
    agentcore::AgentTree tree(runtime, {.llm = &model, .audit = receipts});
    static_cast<void>(tree.create({.id = "planner"}).value().stop());
    runtime.run_until_idle();
  }
  const bool good = agentcore::verify_receipts(path).value().records == 1;
  std::cout << (good ? "the stop has its receipt\n" : "the stop has no receipt\n");
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
