// Drive agentcore from Qt 6: an answer streams into a window, and a button stops it. Without a screen:
// QT_QPA_PLATFORM=offscreen.
#include <agentcore/adapters/qt.hpp>
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QTimer>
#include <QVBoxLayout>
#include <QWidget>
#include <chrono>
#include <cstdio>

namespace {

// An answer that goes on, one word each 5 ms.
agentcore::testing::ScriptedReply long_answer(const agentcore::ChatRequest&) {
  agentcore::testing::ScriptedReply reply;
  reply.deltas.assign(10'000, "word ");
  reply.interval = std::chrono::milliseconds(5);
  return reply;
}

}  // namespace

int main(int argc, char** argv) {
  // [snippet: loop]
  QApplication application(argc, argv);
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::adapters::QtLoop attached{runtime};  // application.exec() drives the agents, too
  // [/snippet]
  QWidget window;
  QVBoxLayout layout(&window);
  QLabel answer(&window);
  QPushButton button(QStringLiteral("Stop"), &window);
  layout.addWidget(&answer);
  layout.addWidget(&button);

  agentcore::testing::ScriptedClient llm{runtime, long_answer};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  agentcore::Agent agent = tree.create().value();
  if (!agent.send("Tell me everything.")) return 1;
  bool stopped = false;
  auto settled = agent.on<agentcore::Settled>([&](const agentcore::Settled&) {
    stopped = true;
    QApplication::quit();
  });
  auto deltas = agent.on<agentcore::DeltaReceived>([&](const agentcore::DeltaReceived& delta) {
    const auto length = static_cast<qsizetype>(delta.text.size());
    answer.setText(answer.text() + QString::fromUtf8(delta.text.data(), length));
  });
  QObject::connect(&button, &QPushButton::clicked, [&] { static_cast<void>(agent.stop()); });
  window.show();
  QTimer::singleShot(30, &button, &QPushButton::click);  // in place of a person
  QApplication::exec();
  std::printf("%s\n", stopped ? "stopped" : "not stopped");
  return stopped ? 0 : 1;
}
