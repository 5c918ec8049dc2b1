// LineFile: lines are the same wherever they end, in the file and in what is read of it at once.
#include "receipts/line_file.hpp"

#include "support/catch.hpp"
#include "support/store/receipts.hpp"
#include "support/store/store_folder.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore;
using agentcore::detail::receipts::LineFile;
using agentcore::test::set_receipt_content;
using agentcore::test::StoreFolder;

namespace {

constexpr std::size_t at_once = std::size_t{64} << 10;  // the bytes of one read

struct ReadLines {
  std::vector<std::string> lines;
  std::uint64_t bytes = 0, tail = 0;
  Errc error = Errc::none;
};

ReadLines read_lines(const std::string& content, std::size_t most) {
  const StoreFolder folder;
  set_receipt_content(folder.file(), content);
  LineFile file = LineFile::open(folder.file(), LineFile::Mode::read).value();
  ReadLines read;
  for (;;) {
    const Result<std::optional<std::string_view>> line = file.next(most);
    if (!line) read.error = line.error().code;
    if (!line || !*line) break;
    read.lines.emplace_back(**line);
  }
  read.bytes = file.read_bytes();
  read.tail = file.tail_bytes();
  return read;
}

}  // namespace

TEST_CASE("a line has at most the bytes that are asked for", "[receipts][files][G15]") {
  const std::size_t most = GENERATE(as<std::size_t>(), 1, 7, at_once - 1, at_once, at_once + 1);
  CAPTURE(most);
  const std::string longest(most, 'x');
  for (const std::string before : {"", "\n", "a\n"}) {
    const ReadLines read = read_lines(before + longest + "\nb\n", most);
    CHECK(read.error == Errc::none);
    REQUIRE(read.lines.size() == (before.empty() ? 2U : 3U));
    CHECK((read.lines[read.lines.size() - 2] == longest));
    CHECK(read.bytes == before.size() + most + 3);
    CHECK(read.tail == 0);
    const ReadLines longer = read_lines(before + longest + "x\nb\n", most);
    CHECK(longer.error == Errc::store_corrupt);
    CHECK(longer.bytes == before.size());
  }
}

TEST_CASE("lines are whole wherever the reading of a file ends", "[receipts][files]") {
  for (const std::size_t first : {at_once - 2, at_once - 1, at_once, at_once + 1, 2 * at_once - 1})
    for (const std::string tail : {"", "t", "tail"}) {
      CAPTURE(first, tail);
      const ReadLines read = read_lines(std::string(first, 'x') + "\nsecond\n\n" + tail, 1'000'000);
      CHECK((read.lines == std::vector<std::string>{std::string(first, 'x'), "second", ""}));
      CHECK(read.bytes == first + 9);
      CHECK(read.tail == tail.size());
    }
}
