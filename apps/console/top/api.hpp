// The HTTP API of a console, for one viewer.
#pragma once

#include "console/top/http.hpp"
#include "console/top/json_fields.hpp"
#include "console/top/settings.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace console_app::top {

struct Answer {
  long status = 0;  // 0: there was none
  Json json = nullptr;
  std::string problem = {};  // a sentence; empty: the server did what it was asked

  bool ok() const { return problem.empty(); }
};

class Api {
 public:
  using OnAnswer = std::function<void(const Answer&)>;

  // Throws std::runtime_error if the file of the token has none.
  Api(Http& http, const Settings& settings);

  const std::string& url() const { return url_; }
  static std::string agent_path(std::string_view id);  // "api/agent/ID"

  Http::Id get(const std::string& path, OnAnswer on_answer);
  // `body`: null for none.
  Http::Id send(const std::string& method, const std::string& path, const Json& body, OnAnswer on_answer);
  // The events after the one with the id `after`, with the text of the agent `text_of` (empty: of none).
  struct StreamHandlers {
    std::function<void()> on_open;
    std::function<void(std::string_view)> on_data;
    OnAnswer on_end;
  };
  Http::Id follow(const std::string& after, std::string_view text_of, StreamHandlers handlers);
  void cancel(Http::Id& id) { http_.cancel(id); }

 private:
  HttpRequest request(std::string method, const std::string& path) const;
  Answer answer_of(const HttpAnswer& answer) const;

  Http& http_;
  std::string url_;  // without a slash at its end
  std::string token_;
};

// As encodeURIComponent() of JavaScript.
std::string percent_encoded(std::string_view text);

}  // namespace console_app::top
