// The events of a text/event-stream.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace console_app::top {

class EventParser {
 public:
  // `id`: of this event, or of the last one that had one. `data`: empty if the event is an id alone.
  using OnEvent = std::function<void(const std::string& id, const std::string& data)>;

  explicit EventParser(OnEvent on_event) : on_event_(std::move(on_event)) {}

  // Takes bytes as they come. False: an event is too large, and the stream is of no use any more.
  bool take(std::string_view bytes);
  // Before the bytes of another connection.
  void restart();

 private:
  void take_line(std::string_view line);

  OnEvent on_event_;
  std::string line_ = {};
  std::string data_ = {};
  std::string id_ = {};
  bool has_data_ = false;
  bool has_id_ = false;  // of the event that is being read
};

}  // namespace console_app::top
