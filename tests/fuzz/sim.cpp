// The simulator, driven by bytes (tests/sim/bytes.hpp).
//
//     fuzz_sim --seeds DIR FOLDER...   writes the scripts in these folders as inputs into DIR
//     fuzz_sim --print FILE            prints an input as a script, for agentcore-sim --script
#include "fuzz.hpp"
#include "sim/bytes.hpp"
#include "sim/run.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore::sim;

namespace {

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file.string() + " cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_seeds(const std::filesystem::path& into, std::span<char*> folders) {
  for (const char* const folder : folders)
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".sim") continue;
      const std::vector<std::uint8_t> bytes = bytes_of(script_from(content_of(entry.path())));
      std::ofstream(into / entry.path().stem(), std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
}

void print(const std::filesystem::path& file) {
  const std::string bytes = content_of(file);
  std::fputs(
      to_string(script_of_bytes({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()})).c_str(),
      stdout);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments);
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const std::span<char*> all(*arguments, static_cast<std::size_t>(*count));
  const std::string_view option = all.size() > 2 ? all[1] : "";
  try {
    if (option == "--seeds") write_seeds(all[2], all.subspan(3)), std::exit(0);
    if (option == "--print") print(all[2]), std::exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::exit(1);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Script script = script_of_bytes({data, size});
  for (Command& command : script.commands)
    if (command.act == Act::create_many)
      command.act = Act::create_child;  // thousands of agents take too long
  const std::string problem = run(script).problem;
  if (!problem.empty()) std::fputs(as_test(script, problem).c_str(), stderr);
  agentcore::fuzz::expect(problem.empty());
  return 0;
}
