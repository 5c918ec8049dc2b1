// RecorderLines: a recorder whose lines a test can read.
#pragma once

#include <agentcore/http_recording.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::test {

struct RecorderLines {
  std::shared_ptr<HttpRecorder> recorder() {
    return std::make_shared<HttpRecorder>([this](std::string_view line) { text += line; });
  }
  // What was recorded, ready to be replayed.
  std::shared_ptr<const HttpReplay> replay(HttpReplay::Pace pace = HttpReplay::Pace::at_once) const {
    return HttpReplay::from_text(text, pace).value();
  }
  std::vector<HttpExchange> exchanges() const { return replay()->exchanges(); }

  std::string text;
};

}  // namespace agentcore::test
