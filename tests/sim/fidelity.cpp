#include "sim/fidelity.hpp"

#include "sim/run.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace agentcore::sim {
namespace {

constexpr std::size_t sections_before = 6;  // of a difference that are shown

bool begins_section(const std::string& line) {
  return line.starts_with("> ") || line.starts_with("-- ");
}

std::string marked(const Lines& section, const char* mark) {
  std::string text;
  for (const std::string& line : section) text += mark + line + '\n';
  return text;
}

}  // namespace

std::vector<Lines> sections_of(const Lines& trace) {
  std::vector<Lines> sections(1);
  for (const std::string& line : trace) {
    const bool in_callback = !sections.back().empty() && sections.back().back().starts_with("in ");
    if (begins_section(line) && !in_callback) sections.emplace_back();
    sections.back().push_back(line);
  }
  std::erase(sections, Lines());
  return sections;
}

Lines trace_of(Script script, std::uint32_t real, std::string& problem, Counts* counts) {
  script.setup[Knob::real] = real;
  Outcome outcome = run(script, true);
  problem = outcome.problem;
  if (counts != nullptr) counts->add(outcome.counts);
  return std::move(outcome.trace);
}

Comparison comparison(const std::vector<Lines>& one, const std::vector<Lines>& other,
                      const std::function<bool(const Lines&, const Lines&)>& is_other_order) {
  Comparison result;
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    const Lines a = i < one.size() ? one[i] : Lines(), b = i < other.size() ? other[i] : Lines();
    ++result.sections;
    if (a == b) continue;
    ++result.in_other_order;
    if (is_other_order(a, b)) continue;
    for (std::size_t before = i < sections_before ? 0 : i - sections_before; before < i; ++before)
      result.difference += marked(one[before], "  ");
    result.difference += marked(a, "- ") + marked(b, "+ ");
    return result;
  }
  return result;
}

std::vector<Script> scripts_in(const char* folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".sim") files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<Script> scripts;
  for (const auto& file : files) {
    std::ifstream in(file);
    scripts.push_back(script_from(std::string(std::istreambuf_iterator<char>(in), {})));
  }
  return scripts;
}

}  // namespace agentcore::sim
