// The file of the conversation: JSON, as it is sent to models.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/error.hpp>

#include <string>
#include <vector>

// The messages in the file; none if there is no file yet. `system` replaces their system message, unless it
// is empty.
agentcore::Result<std::vector<agentcore::ChatMessage>> load_history(const std::string& path,
                                                                    const std::string& system);
// False: see errno. Whenever the program is killed, the file is the old one or the new one.
bool save_history(const std::string& path, const std::vector<agentcore::ChatMessage>& messages);
