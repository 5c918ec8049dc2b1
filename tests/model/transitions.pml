/* core/transitions.hpp: every change of a packed state, as macros with the names of the C++ functions. Before it is
   included, a model defines the states and gates, STATE, GATE, EPOCH, CAN, MAX, WITH (keeps the epoch), NEXT (a new epoch)
   and WIDENED (a new epoch that is told from the old one). ..._ALLOWED is false where the C++ function refuses.

   The fields for pause, hold and stop grade are in the models that include fields.pml. */

#ifndef HAS_FIELDS
#define UNGRADED(w) (w)
#define MAY_TAKE(w) true
#endif

#define STOP_GATE(cascade) ((cascade) -> STOP_TREE : STOP_SELF)
#ifdef M_WIDENS_ONLY_THE_STOPPED
#define IS_STOP(s) ((s) == STOPPED)
#else
#define IS_STOP(s) ((s) == STOPPING || (s) == STOPPED)
#endif
#define STOP_WIDENS(w, cascade) (GATE(w) == STOP_SELF && IS_STOP(STATE(w)) && (cascade))
#define STOP_ALLOWED(w, cascade) ((GATE(w) == OPEN && CAN(STATE(w))) || STOP_WIDENS(w, cascade))
#define AFTER_STOP(w, cascade) (STATE(w) == STOPPED -> WIDENED(w) : \
   (STATE(w) == STOPPING -> WITH(w, STOP_TREE, STOPPING) : NEXT(UNGRADED(w), STOP_GATE(cascade), STOPPING)))

#define RESUME_ALLOWED(w, is_settled) (STATE(w) == STOPPED && GATE(w) != TERMINATE && (is_settled))
#define AFTER_RESUME(w) NEXT(w, OPEN, IDLE)

#define TERMINATE_ALLOWED(w) (GATE(w) != TERMINATE)
#ifdef M_DELETE_OVER_STOP_BELOW
#define STOPS_BELOW(w, below_closed) false
#else /* if it was stopped alone, what lies below may be stopping because of an ancestor */
#define STOPS_BELOW(w, below_closed) (GATE(w) == STOP_SELF && (below_closed))
#endif
#ifdef M_DELETE_OVERTAKES_STOP
#define WAITING_DELETE(w) WITH(w, TERMINATE, (STATE(w) == STOPPING -> TERMINATING : STATE(w)))
#else
#define WAITING_DELETE(w) WITH(UNGRADED(w), TERMINATE, STATE(w)) /* a stop that is under way goes first (X13) */
#endif
#define AFTER_TERMINATE(w, below_closed, is_settled) \
   (CAN(STATE(w)) -> NEXT(UNGRADED(w), TERMINATE, ((below_closed) -> STOPPING : TERMINATING)) : \
   (STATE(w) == STOPPED && (is_settled) && !STOPS_BELOW(w, below_closed) -> WITH(UNGRADED(w), TERMINATE, TERMINATING) : \
   WAITING_DELETE(w)))

#define ABORT_ALLOWED(w) (GATE(w) == OPEN && STATE(w) == WAITING)
#define AFTER_ABORT(w) NEXT(w, OPEN, IDLE)

/* passes_hold is false here: interrupt_loop.pml alone has delegated turns. */
#define BEGIN_ALLOWED(w, epoch) (EPOCH(w) == (epoch) && GATE(w) == OPEN && STATE(w) == IDLE && MAY_TAKE(w))
#define AFTER_BEGIN(w) NEXT(w, OPEN, WAITING) /* each turn has an epoch of its own */

#define STEP_ALLOWED(w, epoch, from) (EPOCH(w) == (epoch) && GATE(w) == OPEN && STATE(w) == (from))
#define AFTER_STEP(w, to) WITH(w, OPEN, to)

#ifdef M_MARKED_TOO_SOON
#define IMPOSES_DELETE(w, is_settled) (STATE(w) == STOPPED)
#else /* what lies below has stopped, too, or an ancestor imposes the same delete on it */
#define IMPOSES_DELETE(w, is_settled) (STATE(w) == STOPPED && GATE(w) != TERMINATE && (is_settled))
#endif
#define IMPOSE_ALLOWED(w, to, is_settled) (CAN(STATE(w)) || ((to) == TERMINATING && IMPOSES_DELETE(w, is_settled)))
#define AFTER_IMPOSED(w, to) NEXT(UNGRADED(w), MAX(GATE(w), ((to) == TERMINATING -> TERMINATE : STOP_TREE)), to)

#define AFTER_SETTLE(w) NEXT(UNGRADED(w), (GATE(w) == OPEN -> STOP_TREE : GATE(w)), STOPPED)
#define AFTER_REMOVE(w) WITH(w, TERMINATE, TERMINATING)

#ifdef HAS_FIELDS
#define INTERRUPT_ALLOWED(w) (GATE(w) == OPEN && CAN(STATE(w)) && STATE(w) != IDLE)
#ifdef M_SAME_EPOCH
#define AFTER_INTERRUPT(w, hold) (WITH(w, OPEN, IDLE) | ((hold) -> HOLD : 0))
#else
#define AFTER_INTERRUPT(w, hold) (NEXT(w, OPEN, IDLE) | ((hold) -> HOLD : 0))
#endif

#define HOLD_ALLOWED(w, hold) (HELD(w) != (hold))
#define AFTER_HOLD(w, hold) ((hold) -> (w) | HOLD : (w) & ~HOLD)

#define PAUSE_ALLOWED(w, pause) (PAUSED(w) != (pause))
#define AFTER_PAUSE(w, pause) ((pause) -> (w) | PAUSE : (w) & ~PAUSE)

#ifdef M_SOFTENED
#define STRICTER(grade, w) ((grade) != GRADE(w))
#else
#define STRICTER(grade, w) ((grade) > GRADE(w))
#endif
#define STOP_REQUEST_ALLOWED(w, grade) (GATE(w) == OPEN && CAN(STATE(w)) && STRICTER(grade, w))
#define AFTER_STOP_REQUEST(w, grade) (UNGRADED(w) | ((grade) << 5))

#define WITHDRAW_ALLOWED(w) (GRADE(w) != 0)
#define AFTER_WITHDRAW(w) UNGRADED(w)
#endif
