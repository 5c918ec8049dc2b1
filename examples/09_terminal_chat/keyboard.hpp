// The keyboard: lines, which the terminal edits, or single keys while an answer comes. Also Ctrl-C.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <termios.h>

class Keyboard {
 public:
  Keyboard();
  ~Keyboard();
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;

  bool is_terminal() const { return is_terminal_; }
  bool has_ended() const { return ended_; }
  // True: each key comes at once. False: the terminal gives whole lines. Only for a terminal.
  void give_keys(bool keys);
  void read();
  // The next line; the last one of a file may have no end.
  std::optional<std::string> next_line();
  bool take_escape() { return std::exchange(escape_, false); }

 private:
  void take(const std::string& typed);

  termios lines_ = {};
  const bool is_terminal_;
  bool keys_ = false, escape_ = false;
  bool ended_ = false;  // Ctrl-D, or the end of a file
  std::string input_;   // read, but not used yet
};

// From now on each Ctrl-C writes a byte into the pipe with this end, which poll(2) watches; -1: it cannot be.
// (A signal handler may do next to nothing.)
int watch_ctrl_c();
