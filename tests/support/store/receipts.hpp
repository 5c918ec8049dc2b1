// Files of receipts, as tests write, read and change them.
#pragma once

#include "support/catch.hpp"

#include <agentcore/receipt_file.hpp>

#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::test {

// A record of a stop of that agent, with a tool call and a model call.
inline StopRecord stop_record(std::string agent) {
  StopRecord record;
  record.tree = 1;
  record.agent_id = agent;
  record.reason = "enough";
  record.called = {TimePoint(std::chrono::seconds(5)), WallTime(std::chrono::seconds(1'700'000'000))};
  record.closed = record.called;
  record.settled = {TimePoint(std::chrono::seconds(6)),
                    WallTime(std::chrono::milliseconds(1'700'000'001'250))};
  record.operations.push_back({.agent_id = agent, .turn = 3, .tokens_counted = 12, .tokens_reserved = 40});
  record.operations.push_back({.kind = TaskKind::tool_call,
                               .agent_id = std::move(agent),
                               .turn = 3,
                               .call_id = "call_1",
                               .tool = "search",
                               .cut = TimePoint(std::chrono::seconds(5))});
  return record;
}

inline StopRecord delete_record(std::string agent) {
  StopRecord record = stop_record(std::move(agent));
  record.verb = StopVerb::terminate;
  record.cause = StopCause::terminate;
  return record;
}

inline std::unique_ptr<ReceiptFile> open_receipts(const std::string& path, ReceiptOptions options = {}) {
  return ReceiptFile::open(path, std::move(options)).value();
}

// Appends a receipt for each agent; returns the last one.
inline ReceiptAnchor write_receipts(const std::string& path, const std::vector<std::string>& agents,
                                    const std::string& key = {}) {
  const auto file = open_receipts(path, {.key = key});
  for (const std::string& agent : agents) file->record(stop_record(agent));
  return file->last();
}

inline std::string receipt_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void set_receipt_content(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// With the ends of the lines.
inline std::vector<std::string> receipt_lines(const std::string& content) {
  std::vector<std::string> lines;
  std::istringstream text(content);
  for (std::string line; std::getline(text, line);) lines.push_back(line + "\n");
  return lines;
}

inline std::string joined_receipts(const std::vector<std::string>& lines) {
  std::string content;
  for (const std::string& line : lines) content += line;
  return content;
}

}  // namespace agentcore::test
