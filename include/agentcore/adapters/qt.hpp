// QtLoop: drives a Runtime from Qt's event loop (Qt 6, on Unix).
#pragma once

#include <agentcore/adapters/failures.hpp>
#include <agentcore/error.hpp>
#include <agentcore/loop_attachment.hpp>

#include <QAbstractEventDispatcher>
#include <QObject>
#include <QSocketNotifier>
#include <memory>
#include <utility>

namespace agentcore::adapters {

/// Drives a Runtime from the event loop of the thread that creates the adapter: the main thread, after its
/// QCoreApplication was created, or a QThread. Needs Qt Core alone, and no moc.
///
///     QApplication application(argc, argv);
///     agentcore::Runtime runtime;
///     agentcore::adapters::QtLoop attached{runtime};
///     application.exec();
///
/// Threads. The thread of the adapter is the loop thread.
///
/// Dialogs. The loop of a dialog drives the agents as the main loop does, unless the dialog was opened in a
/// callback of agentcore: then the agents wait until it is closed, see Runtime. Open it by
/// QMetaObject::invokeMethod() with Qt::QueuedConnection.
///
/// Lifetime. The destructor ends the adapter. It may be called in any callback, before and after the end of
/// the Runtime, and before and after the end of the QCoreApplication.
///
/// If there is more work than RuntimeOptions::poll_budget allows, the adapter continues in the next turn of
/// the event loop, after other events.
///
/// @loop_thread
class QtLoop {
 public:
  /// Attaches `runtime` to the event loop of this thread. Throws std::system_error for the reasons that
  /// LoopAttachment::open_descriptor() names, and std::runtime_error if the thread has no event dispatcher
  /// yet.
  explicit QtLoop(Runtime& runtime) {
    if (QAbstractEventDispatcher::instance() == nullptr) detail::throw_runtime_error(problem);
    watch_ = std::make_shared<Watch>(runtime);
    watch_->start(watch_->attachment.open_descriptor());
  }
  /// As the constructor, for hosts without exceptions. Errors: those of
  /// LoopAttachment::try_open_descriptor(); invalid_config if the thread has no event dispatcher yet.
  static Result<std::unique_ptr<QtLoop>> make(Runtime& runtime) {
    if (QAbstractEventDispatcher::instance() == nullptr) return Error{Errc::invalid_config, problem};
    auto watch = std::make_shared<Watch>(runtime);
    const Result<int> descriptor = watch->attachment.try_open_descriptor();
    if (!descriptor) return descriptor.error();
    watch->start(*descriptor);
    return std::unique_ptr<QtLoop>(new QtLoop(std::move(watch)));
  }
  /// Detaches. No poll() follows.
  ~QtLoop() = default;
  QtLoop(const QtLoop&) = delete;
  QtLoop& operator=(const QtLoop&) = delete;

 private:
  static constexpr const char* problem =
      "QtLoop: this thread has no event dispatcher: create the QCoreApplication before";

  struct Watch : std::enable_shared_from_this<Watch> {
    explicit Watch(Runtime& runtime) : attachment(runtime) {}
    ~Watch() {
      if (notifier == nullptr) return;  // it was not started
      notifier->setEnabled(false);
      if (is_notified)
        notifier->deleteLater();  // its signal is on the stack
      else
        delete notifier;
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    void start(int descriptor) {
      notifier = new QSocketNotifier(descriptor, QSocketNotifier::Read);
      QObject::connect(notifier, &QSocketNotifier::activated, [this] { poll(); });
    }
    void poll() {
      const auto self = this->shared_from_this();  // a callback may destroy the adapter
      const bool outer = is_notified;
      is_notified = true;
      attachment.poll();
      if (!attachment.is_attached()) notifier->setEnabled(false);
      if (self.use_count() > 1)
        is_notified = outer;  // else the adapter is gone, and `self` is the last owner
    }

    LoopAttachment attachment;
    QSocketNotifier* notifier = nullptr;
    bool is_notified = false;
  };

  explicit QtLoop(std::shared_ptr<Watch> watch) noexcept : watch_(std::move(watch)) {}

  std::shared_ptr<Watch> watch_;
};

}  // namespace agentcore::adapters
