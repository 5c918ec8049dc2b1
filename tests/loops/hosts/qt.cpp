#include "loops/host_loop.hpp"

#include <agentcore/adapters/qt.hpp>

#include <QCoreApplication>
#include <QEventLoop>
#include <QTimer>
#include <optional>
#include <utility>

namespace loops_test {

namespace {

class QtHost final : public HostLoop {
 public:
  void attach(agentcore::Runtime& runtime) override {
    adapter_ = std::make_unique<agentcore::adapters::QtLoop>(runtime);
  }
  agentcore::Result<void> try_attach(agentcore::Runtime& runtime) override {
    return keep(adapter_, agentcore::adapters::QtLoop::make(runtime));
  }
  void detach() override { adapter_.reset(); }
  void turn() override { loop_.processEvents(QEventLoop::WaitForMoreEvents); }
  void look() override { loop_.processEvents(); }
  void call_after(std::chrono::milliseconds delay, std::function<void()> function) override {
    QTimer::singleShot(delay, &*application_, std::move(function));
  }
  void close() override { application_.reset(); }

 private:
  int count_ = 1;
  char name_[5] = "test";
  char* words_[2] = {name_, nullptr};
  std::optional<QCoreApplication> application_{std::in_place, count_, words_};
  QEventLoop loop_;
  std::unique_ptr<agentcore::adapters::QtLoop> adapter_;
};

}  // namespace

std::unique_ptr<HostLoop> make_host_loop() {
  return std::make_unique<QtHost>();
}

}  // namespace loops_test
