// Settings: what the command line and the config file of agentcore-console say.
#pragma once

#include "console/top/settings.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace console_app {

struct Settings {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8700;
  std::string token_file = {};               // empty: no token
  std::vector<std::string> host_names = {};  // further names of the console
  std::string base_url = {};                 // of the model server; empty: that of `provider`
  std::string provider = {};                 // one of agentcore::providers()
  std::string model = {};
  std::string api_key_env = {};  // empty: that of `provider`, or none
  std::string system_prompt = {};
  std::vector<std::string> agents = {};   // "name" or "parent/name"
  std::vector<std::string> approve = {};  // patterns of tools; a person has to approve each call
  std::string store = {};                 // a file; empty: agents are not kept
  bool secure_delete = false;             // of the store: what is deleted is overwritten
  bool keep_partial_answers = false;      // else the part of an answer that was not completed is dropped
  std::string receipts = {};              // a file; empty: receipts are not kept
  bool verbose = false;                   // log records of all levels
  std::optional<top::Settings> top = {};  // set: nothing is served; the agents of another console are shown
};

}  // namespace console_app
