// The file with the token of a console.
#include "console/token_file.hpp"

#include "support/catch.hpp"
#include "support/store/store_folder.hpp"

#include <fstream>
#include <stdexcept>
#include <string>

using agentcore::test::StoreFolder;
using console_app::read_token;

TEST_CASE("the token is the first line of its file, from any editor", "[console][top]") {
  const StoreFolder folder;
  const std::string path = folder.file("token");
  const auto token_in = [&](const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    return read_token(path);
  };
  for (const std::string text : {"secret", "secret\n", "secret\r\n", "secret\r\nmore\r\n"})
    CHECK(token_in(text) == "secret");
  CHECK(token_in("two words \n") == "two words ");
  for (const std::string text : {"", "\n", "\r\n", "\nsecret\n"})
    CHECK_THROWS_AS(token_in(text), std::runtime_error);
  CHECK_THROWS_AS(read_token(folder.file("missing")), std::runtime_error);
}
