#include "history_file.hpp"

#include <agentcore/history.hpp>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>

agentcore::Result<std::vector<agentcore::ChatMessage>> load_history(const std::string& path,
                                                                    const std::string& system) {
  std::ifstream file(path, std::ios::binary);
  if (!file && errno == ENOENT) return std::vector<agentcore::ChatMessage>{};  // the first time
  auto messages = agentcore::history_from_json(std::string{std::istreambuf_iterator<char>(file), {}});
  if (!messages) return messages.error();
  // What we wrote is valid; a file may also come from elsewhere.
  auto repaired = agentcore::repair_history(std::move(*messages)).messages;
  // Its system message is the system prompt, unless the command line names another.
  const bool has_system = !repaired.empty() && repaired.front().role == agentcore::Role::system;
  if (has_system && !system.empty()) repaired.erase(repaired.begin());
  return repaired;
}

// Written beside it and renamed.
bool save_history(const std::string& path, const std::vector<agentcore::ChatMessage>& messages) {
  const std::string draft = path + ".part";
  std::ofstream file(draft, std::ios::binary);
  file << agentcore::history_to_json(messages) << '\n';
  file.close();
  return file && std::rename(draft.c_str(), path.c_str()) == 0;
}
