// Random changes of a file of receipts: each is noticed.
#include "support/store/receipts.hpp"

#include "support/prop.hpp"
#include "support/store/store_folder.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// One change of a line, or of the order of lines.
void change(std::vector<std::string>& lines) {
  const auto index = [&] { return *rc::gen::inRange<std::size_t>(0, lines.size()); };
  std::string& line = lines[index()];
  const std::size_t at = *rc::gen::inRange<std::size_t>(0, line.size());
  switch (*rc::gen::inRange(0, 7)) {
    case 0:
      line[at] = *rc::gen::arbitrary<char>();
      break;
    case 1:
      line.erase(at, *rc::gen::inRange<std::size_t>(1, 100));
      break;
    case 2:
      line.insert(at, *rc::gen::arbitrary<std::string>());
      break;
    case 3:
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(index()));
      break;
    case 4:
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(index()), lines[index()]);
      break;
    case 5:
      std::swap(lines[index()], lines[index()]);
      break;
    default:
      line.swap(lines[index()]);
  }
}

}  // namespace

TEST_CASE("any change of a file of receipts is noticed", "[property][receipts]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  prop("a file that differs from what was written is not intact", [&] {
    const std::string key = *rc::gen::element(std::string(), std::string("sixteen bytes or more"));
    set_receipt_content(path, "");
    const ReceiptAnchor last = write_receipts(path, {"a", "b", "c", "d", "e"}, key);
    if (*rc::gen::arbitrary<bool>()) open_receipts(path, {.key = key})->erase_agent("b").value();
    const std::string before = receipt_content(path);
    std::vector<std::string> lines = receipt_lines(before);
    for (int changes = *rc::gen::inRange(1, 4); changes != 0 && !lines.empty(); --changes) change(lines);
    set_receipt_content(path, joined_receipts(lines));
    const ReceiptCheck check = verify_receipts(path, {.key = key, .anchor = last}).value();
    // A last line without its end is no receipt, wherever it comes from.
    const std::string after = joined_receipts(lines);
    RC_ASSERT(check.intact() == (after.starts_with(before) && after.find('\n', before.size()) == after.npos));
    // What is opened nevertheless is only a file whose end is missing.
    const auto opened = ReceiptFile::open(path, {.key = key});
    RC_ASSERT(opened.has_value() == verify_receipts(path, {.key = key}).value().intact());
    if (!opened) RC_ASSERT(opened.error().code == Errc::store_corrupt);
  });
}
