// An HttpExchange as a line of JSON (docs/design/recording.md).
#include "core/json_depth.hpp"
#include "core/utf8.hpp"
#include "llm/http/base64.hpp"

#include <agentcore/http_recording.hpp>

#include <cstdint>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* base64_member = "base64";
constexpr std::string_view complete_word = "complete";  // for Errc::none, whose own name is empty

ordered_json text_to_json(const std::string& bytes) {
  if (detail::core::is_utf8(bytes)) return bytes;
  ordered_json object;
  object[base64_member] = detail::llm::to_base64(bytes);
  return object;
}

ordered_json list_to_json(const std::vector<std::string>& texts) {
  ordered_json list = ordered_json::array();
  for (const std::string& text : texts) list.push_back(text_to_json(text));
  return list;
}

ordered_json body_to_json(const std::vector<HttpExchange::Piece>& body) {
  ordered_json list = ordered_json::array();
  for (const auto& [at, bytes] : body)
    list.push_back({{"at_ns", at.count()}, {"bytes", text_to_json(bytes)}});
  return list;
}

// Reads one exchange. A refused value counts as empty; the first refusal is the error.
class ExchangeReader {
 public:
  Result<HttpExchange> read(std::string_view line) {
    HttpExchange exchange = read_line(line);
    if (!problem_.empty()) return Error{Errc::invalid_recording, problem_};
    return exchange;
  }

 private:
  void refuse(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
  }

  HttpExchange read_line(std::string_view line) {
    if (detail::core::json_depth(line) > detail::core::max_json_depth) {
      refuse("the text is nested deeper than " + std::to_string(detail::core::max_json_depth) + " levels");
      return {};
    }
    try {
      const json object = json::parse(line);
      if (object.is_object()) return read_exchange(object);
      refuse("the text is not a JSON object");
    } catch (const json::parse_error& error) {
      refuse("the text is not valid JSON at byte " + std::to_string(error.byte));
    } catch (const json::exception&) {
      refuse("the text is not valid JSON: a number is out of range");
    }
    return {};
  }

  HttpExchange read_exchange(const json& object) {
    if (!object.contains("url")) refuse("url is missing");
    HttpExchange exchange;
    if (object.contains("method")) exchange.method = text(object, "method");
    exchange.url = text(object, "url");
    exchange.request_headers = texts(object, "request_headers");
    exchange.request_body = text(object, "request_body");
    exchange.status = static_cast<int>(number(object, "status", std::numeric_limits<int>::max()));
    exchange.content_type = text(object, "content_type");
    exchange.headers = texts(object, "headers");
    exchange.body = body(object);
    exchange.end = end(object);
    exchange.end_message = text(object, "end_message");
    exchange.ended_at = time(object, "ended_at_ns");
    exchange.request_sent = flag(object, "request_sent", true);
    return exchange;
  }

  std::vector<HttpExchange::Piece> body(const json& object) {
    std::vector<HttpExchange::Piece> pieces;
    for (const json& piece : list(object, "body")) {
      const std::string before =
          std::exchange(where_, "body, piece " + std::to_string(pieces.size() + 1) + ": ");
      if (!piece.is_object()) refuse(where_ + "is not an object");
      pieces.push_back(piece.is_object() ? HttpExchange::Piece{time(piece, "at_ns"), text(piece, "bytes")}
                                         : HttpExchange::Piece{});
      where_ = before;
    }
    return pieces;
  }

  Errc end(const json& object) {
    if (!object.contains("end")) return Errc::none;
    const std::string word = text(object, "end");
    if (word == complete_word) return Errc::none;
    for (unsigned char code = 1; to_string(static_cast<Errc>(code)) != "unknown"; ++code)
      if (word == to_string(static_cast<Errc>(code))) return static_cast<Errc>(code);
    refuse("end is neither " + std::string(complete_word) + " nor the name of an Errc");
    return Errc::none;
  }

  // Each of these reads a member that may be missing.

  const json& list(const json& object, const char* name) {
    static const json nothing = json::array();
    const auto found = object.find(name);
    if (found == object.end()) return nothing;
    if (found->is_array()) return *found;
    refuse(where_ + name + " is not an array");
    return nothing;
  }

  std::vector<std::string> texts(const json& object, const char* name) {
    std::vector<std::string> all;
    for (const json& entry : list(object, name)) all.push_back(text_of(entry, name));
    return all;
  }

  std::string text(const json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() ? std::string() : text_of(*found, name);
  }

  std::string text_of(const json& value, const char* name) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_object() && value.contains(base64_member) && value[base64_member].is_string()) {
      if (auto bytes = detail::llm::from_base64(value[base64_member].get_ref<const std::string&>()))
        return std::move(*bytes);
      refuse(where_ + name + " is not in base64");
    }
    refuse(where_ + name + R"( is neither a string nor {"base64": a string})");
    return {};
  }

  bool flag(const json& object, const char* name, bool missing) {
    const auto found = object.find(name);
    if (found == object.end()) return missing;
    if (found->is_boolean()) return found->get<bool>();
    refuse(where_ + name + " is neither true nor false");
    return missing;
  }

  Duration time(const json& object, const char* name) {
    return Duration(static_cast<Duration::rep>(number(object, name, Duration::max().count())));
  }

  std::uint64_t number(const json& object, const char* name, std::uint64_t most) {
    const auto found = object.find(name);
    if (found == object.end()) return 0;
    if (found->is_number_unsigned() && found->get<std::uint64_t>() <= most)
      return found->get<std::uint64_t>();
    refuse(where_ + name + " is not an integer from 0 to " + std::to_string(most));
    return 0;
  }

  std::string where_;  // the object that holds the current member
  std::string problem_;
};

}  // namespace

std::string to_json_line(const HttpExchange& exchange) {
  ordered_json line = {
      {"method", text_to_json(exchange.method)},
      {"url", text_to_json(exchange.url)},
      {"request_headers", list_to_json(exchange.request_headers)},
      {"request_body", text_to_json(exchange.request_body)},
      {"status", exchange.status},
      {"content_type", text_to_json(exchange.content_type)},
      {"headers", list_to_json(exchange.headers)},
      {"body", body_to_json(exchange.body)},
      {"end", exchange.end == Errc::none ? complete_word : to_string(exchange.end)},
      {"end_message", text_to_json(exchange.end_message)},
      {"ended_at_ns", exchange.ended_at.count()},
  };
  if (!exchange.request_sent) line["request_sent"] = false;
  return line.dump();
}

Result<HttpExchange> exchange_from_json_line(std::string_view line) {
  return ExchangeReader().read(line);
}

}  // namespace agentcore
