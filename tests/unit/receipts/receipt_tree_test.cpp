// A tree that writes receipts of its stops into a file.
#include "support/drive/tool_turn.hpp"
#include "support/store/receipts.hpp"
#include "support/store/store_folder.hpp"

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

TEST_CASE("the stops and deletes of a tree are in its file of receipts", "[receipts][audit][X9][X39]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  const std::string key = "sixteen bytes at least";
  {
    ToolTurn t({.audit = std::shared_ptr<ReceiptFile>(open_receipts(path, {.key = key}))});
    const Agent top = t.root("top");
    t.ask(t.child(top, "leaf"));
    CHECK(top.stop({.reason = "the document was closed"}).took_effect());
    t.settle();
    CHECK(top.terminate().took_effect());
    t.settle();
  }
  const ReceiptCheck check = verify_receipts(path, {.key = key}).value();
  CHECK(check.intact());
  CHECK(check.records == 2);
  const json receipts = json::parse(receipts_to_json(path).value());
  const json& stop = receipts[0]["body"];
  CHECK(stop["agent"] == "top");
  CHECK(stop["reason"] == "the document was closed");
  CHECK(stop["descendants"]["first"] == json({"leaf"}));
  CHECK(stop["operations"]["first"][0]["agent"] == "leaf");
  CHECK(stop["operations"]["first"][0]["outcome"] == "interrupted");
  CHECK(stop["after_gate"] == 0);
  CHECK(receipts[1]["body"]["verb"] == "terminate");
  // Ids, counts and times: nothing of what was said.
  CHECK(receipt_content(path).find("question") == std::string::npos);
}

TEST_CASE("a receipt that cannot be written is logged and the stop completes", "[receipts][audit][G16]") {
  const StoreFolder folder;
  ToolTurn t({.audit = std::shared_ptr<ReceiptFile>(open_receipts(folder.file(), {.max_bytes = 1}))});
  t.agent();
  CHECK(t["a"].stop().took_effect());
  t.settle();
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.logged("the receipt does not fit into ReceiptOptions::max_bytes"));
}
