/* Stops that were called for later, searched exhaustively by spin: threads that call for one after the turn or after the
   step, withdraw it by a resume, or stop at once, and the loop thread, which runs the turns and hardens the stops. Why:
   docs/design/gate-protocol.md. Run it with scripts/check-model, which knows the configurations (-DCONF_...) and the mutants
   (-DM_...).

   What must hold: from the end of the call (if it was not quiet, from the end of the action that it met) to a resume,
   nothing begins in the subtree that its grade withholds; the stop hardens when what may finish has finished, and an agent
   that was called to stop is stopped at the end, unless a resume came; a stop that was withdrawn never hardens. */

#include "fields.pml"

#define VERBS later_op, withdraw_op

/* Shared, under TreeShared::closing. */
byte withdrawals; /* TreeShared::withdrawals */

/* Settler and SettleJobs, of the loop thread. */
bool pending[2], due[2]; /* SettleJob::is_pending(); it hardens when the withdrawals are read */
byte withdrawn;          /* withdrawn_ */
bool walks[2];           /* a job that is in the queue */
byte unread;             /* operations that came before a gate was closed in place: run_control() reads them before it settles */
bool kept[2];            /* Settler::keep_own_stop(): a resume of the parent does not resume it */
byte escalations;        /* StopOptions::escalate_after: how often such a timer may fire */

/* Ghost. */
byte may_not[2];    /* Withheld: what a verb of this agent that has returned withholds; more than ALL: everything */
byte soon_not[2];   /* the same, when the action that it met is over */
byte opens[2];      /* withdrawals and resumes so far: a stop holds until the next one */
bool asked[2];      /* it was called to stop, for later, and no resume of it came since */
bool escalated;
byte stops;

inline check_begin(x, kind) { assert(may_not[x] < kind && may_not[P] < kind) }
inline action_over() {
  may_not[P] = MAX(may_not[P], soon_not[P]); soon_not[P] = 0;
  may_not[C] = MAX(may_not[C], soon_not[C]); soon_not[C] = 0
}
inline opened(x) { opens[x]++; asked[x] = false; may_not[x] = 0; soon_not[x] = 0 }
inline returns(x, level, since) {
  atomic {
    if
    :: opens[x] != since -> skip
    :: else -> if :: IS_QUIET(x) -> may_not[x] = MAX(may_not[x], level) :: else -> soon_not[x] = MAX(soon_not[x], level) fi
    fi
  }
}
inline observe() { skip }

/* RestPass::is_at_rest() and ParkedTurns::is_at_rest(), of y below `root` */
#ifdef M_RESTS_AFTER_TURN
#define RESTS(y, root) (!turn[y])
#else
#define RESTS(y, root) (!turn[y] || (GRADE(packed[root]) == AFTER_STEP_GRADE && parked[y] && !op[y]))
#endif
#ifdef M_RESTS_AT_ONCE
#define AT_REST(x) true
#else
#define AT_REST(x) (RESTS(x, x) && RESTS(C, x))
#endif
#define HAS_FINISHED(x) ((!turn[x] || (GRADE(own) == AFTER_STEP_GRADE && !op[x])) && \
   (!turn[C] || (GRADE(own) == AFTER_STEP_GRADE && !op[C])))

/* Settler::harden() and tree::harden(). `closed`: the walk of another verb has come to x; else it asks for withdrawals. */
inline harden(x, closed) {
#ifdef M_COUNTED_BEFORE
  ok = closed || (withdrawn == withdrawals);
#endif
  lock(closing);
#ifndef M_COUNTED_BEFORE
  ok = closed || (withdrawn == withdrawals);
#endif
#ifdef M_UNCOUNTED
  ok = true;
#endif
  if
  :: ok ->
     pending[x] = false; due[x] = false;
     done = false;
     do
     :: look(x); /* close_for_stop() */
        assert(asked[x]); /* never after a withdrawal */
        if
        :: OPEN_VIEW && STOP_ALLOWED(own, true) ->
           assert(!closed);
           w = AFTER_STOP(own, true);
           atomic {
             replace(x, own, w);
             if
             :: done ->
                assert(escalated || HAS_FINISHED(x));  /* what may finish has finished */
                stops++;
                walks[x] = true; unread = len(control);
                break
             :: else
             fi
           }
        :: else ->
           kept[x] = kept[x] || GATE(own) == OPEN; /* wait_for_other() */
           break
        fi
     od
  :: else ->
#ifdef M_DROPPED
     pending[x] = false
#else
     due[x] = true
#endif
  fi;
  closing = false
}

/* SettleWalk::harden_pending() and Settler::harden(), of y below a closed gate, or at it */
inline harden_closed(y) {
  if
  :: pending[y] -> harden(y, true)
  :: else
  fi
}

/* SettleWalk::run() */
inline walk(x) {
  walks[x] = false;
#ifndef M_KEPT_LATE
  if :: x == P -> harden_closed(P) :: else fi;
  harden_closed(C);
#endif
  settle_down(x);
#ifdef M_KEPT_LATE
  if :: x == P -> harden_closed(P) :: else fi;
  harden_closed(C);
#else
  if :: kept[C] -> by_parent[C] = false; kept[C] = false :: else fi
#endif
}

#ifdef M_WALKS_UNREAD
#define WALKS(x) (walks[x])
#else
#define WALKS(x) (walks[x] && unread == 0)
#endif
#define HARDENS(x) (pending[x] && (due[x] -> withdrawn == withdrawals : AT_REST(x)))
#define ESCALATES(x) (pending[x] && !due[x] && escalations > 0)
#define DUE (HARDENS(P) || HARDENS(C) || ESCALATES(P) || WALKS(P) || WALKS(C))
inline harden_next() {
  if
  :: HARDENS(P) -> harden(P, false)
  :: HARDENS(C) -> harden(C, false)
  :: ESCALATES(P) -> escalations--; escalated = true; harden(P, false)
  :: WALKS(P) -> walk(P)
  :: WALKS(C) -> walk(C)
  :: !(DUE) -> skip /* it has just been withdrawn */
  fi
}

inline check_end() {
  atomic {
    assert(!pending[P] && !pending[C] && !due[P] && !due[C]);
    assert(GRADE(packed[P]) == 0 && GRADE(packed[C]) == 0);
    assert(!asked[P] || STATE(packed[P]) == STOPPED); /* no stop is lost */
    assert(!asked[C] || STATE(packed[C]) == STOPPED);
    assert(!turn[P] && !turn[C]);
    assert(stops > 0 || (STATE(packed[P]) == IDLE && STATE(packed[C]) == IDLE && mail[P] == 0 && mail[C] == 0))
  }
}

/* TreeCore::run_second_half() */
inline read_op() {
  if :: unread > 0 -> unread-- :: else fi;
  if
  :: verb == later_op -> pending[x] = true /* Settler::start_pending() */
  :: verb == withdraw_op -> /* Settler::withdraw() */
     withdrawn = arg;
     if :: x != NONE -> pending[x] = false; due[x] = false :: else fi; /* NONE: an agent that is not in the model */
#ifndef M_UNVISITED
     visit = P;
#else
     skip
#endif
  :: verb == stop_op -> walks[x] = true /* Settler::start() */
  :: verb == resume_op -> resume_down(x); schedule(C); schedule(P)
  :: else
  fi
}

#include "turns.pml"

/* tree::stop() with StopOptions::when, close_for_stop(), request() */
proctype Later(byte x; byte grade) {
  LOCALS;
  byte since;
  lock(closing);
  do
  :: look(x);
     if
     :: OPEN_VIEW && STOP_REQUEST_ALLOWED(own, grade) ->
        w = AFTER_STOP_REQUEST(own, grade);
        atomic {
          replace(x, own, w);
          if :: done -> assert(grade > GRADE(own)); asked[x] = true; since = opens[x]; break :: else fi
        }
     :: else -> break /* stop_pending, or closed */
     fi
  od;
  atomic { if :: done -> control!later_op(x, 0) :: else fi; closing = false };
  if :: done -> returns(x, grade, since) :: else fi;
  users--
}

/* tree::stop() */
proctype Stopper(byte x) {
  LOCALS;
  byte since;
  lock(closing);
  do
  :: look(x);
     if
     :: OPEN_VIEW && STOP_ALLOWED(own, true) ->
        w = AFTER_STOP(own, true);
        atomic { replace(x, own, w); if :: done -> stops++; since = opens[x]; break :: else fi }
     :: else -> break
     fi
  od;
  atomic { if :: done -> control!stop_op(x, 0) :: else fi; closing = false };
  if :: done -> returns(x, ALL + 1, since) :: else fi;
  users--
}

/* tree::resume() and open_for_resume(), at any time */
proctype Resumer(byte x) {
  LOCALS;
  lock(closing);
  do
  :: look(x);
     if
     :: OPEN_VIEW && WITHDRAW_ALLOWED(own) ->
        w = AFTER_WITHDRAW(own);
        atomic {
          replace(x, own, w);
          if :: done -> opened(x); withdrawals++; control!withdraw_op(x, withdrawals); break :: else fi
        }
     :: !(OPEN_VIEW && WITHDRAW_ALLOWED(own)) && above == OPEN && RESUME_ALLOWED(own, true) ->
        w = AFTER_RESUME(own);
        atomic { replace(x, own, w); if :: done -> opened(x); control!resume_op(x, 0); break :: else fi }
     :: else -> break
     fi
  od;
  closing = false;
  users--
}

/* A withdrawal of another agent's stop */
proctype Withdrawer() {
  lock(closing);
  atomic { withdrawals++; control!withdraw_op(NONE, withdrawals); closing = false; users-- }
}

#define MAIL(x, n) mail[x] = n; ready[x] = true

init {
  atomic {
    packed[P] = PACKED(0, 0, OPEN, IDLE);
    packed[C] = PACKED(0, 0, OPEN, IDLE);
#if defined(CONF_LATER_BOTH)
    MAIL(C, 1);
#elif !defined(CONF_LATER_CHILD)
    MAIL(C, 2);
#endif
#ifdef CONF_LATER_TURN /* a stop after the turn, and its withdrawal */
    users = 2;
    run Later(P, AFTER_TURN); run Resumer(P);
#endif
#ifdef CONF_LATER_STEP /* a stop after the step, and its withdrawal */
    users = 2;
    run Later(P, AFTER_STEP_GRADE); run Resumer(P);
#endif
#ifdef CONF_LATER_BOTH /* both, and a resume */
    users = 3;
    run Later(P, AFTER_TURN); run Later(P, AFTER_STEP_GRADE); run Resumer(P);
#endif
#ifdef CONF_LATER_NOW /* a stop at once overtakes one for later */
    users = 3;
    run Later(P, AFTER_TURN); run Stopper(P); run Resumer(P);
#endif
#ifdef CONF_LATER_CHILD /* the child is to stop later, the parent is stopped and resumed, another stop is withdrawn */
    users = 4;
    run Later(C, AFTER_TURN); run Stopper(P); run Resumer(P); run Withdrawer();
#endif
#ifdef CONF_LATER_OVERDUE /* a stop that has waited for too long */
    users = 3; escalations = 1;
    run Later(P, AFTER_TURN); run Resumer(P); run Withdrawer();
#endif
    run Loop()
  }
}
