#include "arguments.hpp"

#include <agentcore/http_recording.hpp>
#include <agentcore/provider.hpp>

#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

std::optional<Arguments> read_arguments(int argc, char** argv) {
  Arguments arguments;
  const std::map<std::string_view, std::string*> options = {
      {"--provider", &arguments.provider}, {"--base-url", &arguments.base_url},
      {"--model", &arguments.model},       {"--system", &arguments.system},
      {"--history", &arguments.history},   {"--record", &arguments.record}};
  for (int i = 1; i < argc; ++i) {
    const auto option = options.find(argv[i]);
    if (option == options.end() && (argv[i][0] == '-' || !arguments.message.empty())) return std::nullopt;
    if (option != options.end() && ++i == argc) return std::nullopt;
    (option != options.end() ? *option->second : arguments.message) = argv[i];
  }
  return arguments;
}

namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

agentcore::Result<agentcore::HttpLlmOptions> client_options(const Arguments& arguments) {
  std::string url = arguments.base_url;
  if (url.empty() && arguments.provider.empty()) url = from_environment("OPENAI_BASE_URL");
  agentcore::HttpLlmOptions options;
  if (url.empty() || !arguments.provider.empty()) {
    auto known = agentcore::provider_options(arguments.provider.empty() ? "openai" : arguments.provider,
                                             {.name = "agentcore terminal chat"});
    if (!known) return known.error();
    options = std::move(*known);
  }
  if (!url.empty()) options.base_url = url;
  if (options.api_key_env.empty() && std::getenv("OPENAI_API_KEY")) options.api_key_env = "OPENAI_API_KEY";
  options.model = arguments.model.empty() ? from_environment("OPENAI_MODEL") : arguments.model;
  if (!arguments.record.empty()) {
    auto recorder = agentcore::HttpRecorder::to_file(arguments.record);
    if (!recorder) return recorder.error();
    options.recorder = std::move(*recorder);
  }
  return options;
}
