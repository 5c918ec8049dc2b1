#include "command_line.hpp"

#include <charconv>
#include <cstddef>

namespace standin {
namespace {

constexpr std::string_view manual_text = R"(NAME
    agentcore-standin - a stand-in model server that speaks OpenAI's and Anthropic's streams

SYNOPSIS
    agentcore-standin [OPTION]...

DESCRIPTION
    A real HTTP/1.1 server that answers like a model of OpenAI or Anthropic, at a pace you choose, without a
    model and without a key. It counts every token it writes and records the instant at which each client
    went away, so that stopping can be seen from the other side. It holds 10,000 streams on one thread.

    It prints one line when it listens, "listening on http://127.0.0.1:PORT/v1": that is the base URL to
    give to a client. SIGINT and SIGTERM end it.

OPTIONS
    --port N             listen on port N; 0, the default, takes a free one
    --host ADDRESS       listen on this IPv4 address instead of 127.0.0.1 (0.0.0.0: everywhere)
    --port-file FILE     write the port to FILE once it listens; FILE appears complete or not at all
    --tokens N           length of an answer in tokens (default 200); 0 is endless
    --rate R             tokens a second in each stream (default 20); 0 is as fast as the client reads
    --first-token-ms N   from the request to the first token (default 100)
    --api-key KEY        answer 401 to requests without "Authorization: Bearer KEY", or "x-api-key: KEY" in
                         the Messages API
    --model NAME         the model that GET /v1/models names (default standin)
    --prompt-cache       answers report the tokens of their prompt that were cached by an earlier request
    --log                print a line for each request that ended
    --help               print this page

PATHS
    POST   /v1/chat/completions   an answer, as a stream or at once; /chat/completions is the same
    POST   /v1/messages           the same in Anthropic's Messages API; /messages is the same
    GET    /v1/models             the one model
    GET    /health                {"status":"ok"}
    GET    /standin/records       a record for each chat request; ?since=N: those numbered above N
    DELETE /standin/records       forget those that have ended
    GET    /standin/stats         totals

REQUEST HEADERS
    x-agent-id: NAME              who asks; kept in the record (else the JSON field "user" is)
    x-standin-tokens: N           as --tokens, for this request; max_tokens is ignored then
    x-standin-rate: R             as --rate, for this request
    x-standin-first-token-ms: N   as --first-token-ms, for this request
    x-standin-calls: STYLE        how tool calls are streamed: pieces (the default), interleaved, whole,
                                  no-index or object
    x-standin-fault: FAULT        misbehave:
        hang-before-headers       no byte of an answer, ever
        hang-after-headers        status and headers, then silence
        hang-mid-stream           half of the tokens (ten, if endless), then silence
        close-mid-stream          the same, then the connection is closed
        garbage                   the same, then an event that is not JSON, then the rest
        error-500, error-429      an API error
        html                      status 200 and a page of HTML
        no-done                   a stream without finish_reason and [DONE], but ended in good order

TOOL CALLS
    When a request has tools and ends with a user message that has lines of the form
        /call NAME ARGUMENTS
    the answer is these calls instead of words. ARGUMENTS, the rest of the line, is passed on as it is.

EXIT STATUS
    0 after a signal, 1 when it cannot listen, 2 when the options are wrong.
)";

template <typename T>
bool read_number(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

// Applies one option with its value; false when the value is wrong.
bool apply(CommandLine& line, const std::string& name, const std::string& value) {
  Options& options = line.options;
  Pace& pace = options.pace;
  if (name == "--port") return read_number(value, options.port);
  if (name == "--tokens") return read_number(value, pace.tokens);
  if (name == "--first-token-ms") return read_number(value, pace.first_token_ms);
  if (name == "--rate") return read_number(value, pace.rate) && pace.rate >= 0 && pace.rate <= 1e6;
  std::string& text = name == "--host"      ? options.host
                      : name == "--api-key" ? options.api_key
                      : name == "--model"   ? options.model
                                            : line.port_file;
  text = value;
  return !value.empty();
}

bool takes_value(const std::string& name) {
  for (const std::string_view known : {"--port", "--tokens", "--first-token-ms", "--rate", "--host",
                                       "--api-key", "--model", "--port-file"}) {
    if (name == known) return true;
  }
  return false;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments) {
  CommandLine line;
  for (std::size_t i = 0; i < arguments.size() && line.error.empty(); ++i) {
    std::string name = arguments[i];
    const std::size_t equals = name.find('=');
    const bool joined = equals != std::string::npos;
    const std::string joined_value = joined ? name.substr(equals + 1) : std::string();
    name.resize(joined ? equals : name.size());
    if (name == "--help" || name == "-h") {
      line.help = true;
    } else if (name == "--log" && !joined) {
      line.log = true;
    } else if (name == "--prompt-cache" && !joined) {
      line.options.prompt_cache = true;
    } else if (!takes_value(name)) {
      line.error = "unknown option " + arguments[i];
    } else if (!joined && i + 1 == arguments.size()) {
      line.error = name + " needs a value";
    } else if (const std::string value = joined ? joined_value : arguments[++i]; !apply(line, name, value)) {
      line.error = name + " cannot be \"" + value + "\"";
    }
  }
  return line;
}

std::string_view manual() noexcept {
  return manual_text;
}

}  // namespace standin
