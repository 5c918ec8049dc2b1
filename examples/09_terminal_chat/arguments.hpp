// The command line of the chat, and the client that it asks for.
#pragma once

#include <agentcore/error.hpp>
#include <agentcore/http_llm_client.hpp>

#include <optional>
#include <string>

struct Arguments {
  std::string provider, base_url, model, system, history, record, message;
};

inline constexpr const char* usage =
    "usage: example_09_terminal_chat [--provider NAME] [--base-url URL] [--model M] [--system TEXT]\n"
    "                                [--history FILE] [--record FILE] [MESSAGE]\n";

// Nothing: they make no sense.
std::optional<Arguments> read_arguments(int argc, char** argv);
// A known provider, or whatever speaks like OpenAI at the URL.
agentcore::Result<agentcore::HttpLlmOptions> client_options(const Arguments& arguments);
