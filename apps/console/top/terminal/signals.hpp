// Signals that end the program or resize its terminal, as a descriptor that poll(2) can wait for.
#pragma once

namespace console_app::top {

class Signals {
 public:
  // Throws std::runtime_error if the system refuses them.
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const;
  // Reads what came since the last call.
  struct Seen {
    bool quit = false;
    bool resized = false;
  };
  Seen take();
};

}  // namespace console_app::top
