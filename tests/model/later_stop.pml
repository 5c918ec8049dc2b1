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

/* PendingStops, of the loop thread. */
bool pending[2], due[2]; /* pending_, Pending::is_due */
byte withdrawn;          /* withdrawn_ */
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

/* RestWatches::is_at_rest() and ParkedTurns::is_at_rest(), of y below `root` */
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

/* PendingStops::harden() and tree::harden() */
inline harden(x) {
#ifdef M_KEPT_LATE
  skip;
#else
  kept[x] = true; /* also if it has to wait */
#endif
#ifdef M_COUNTED_BEFORE
  ok = (withdrawn == withdrawals);
#endif
  lock(closing);
#ifndef M_COUNTED_BEFORE
  ok = (withdrawn == withdrawals);
#endif
#ifdef M_UNCOUNTED
  ok = true;
#endif
  pending[x] = false;
  if
  :: ok ->
     done = false;
     do
     :: look(x); /* close_for_stop() */
        if
        :: OPEN_VIEW && STOP_ALLOWED(own, true) ->
           w = AFTER_STOP(own, true);
           atomic {
             replace(x, own, w);
             if
             :: done ->
                assert(asked[x]);                      /* never after a withdrawal */
                assert(escalated || HAS_FINISHED(x));  /* what may finish has finished */
                stops++;
                control!stop_op(x, 0);
                break
             :: else
             fi
           }
        :: else ->
           break /* wait_for_other() */
        fi
     od;
#ifdef M_KEPT_LATE
     if :: !done && GATE(packed[x]) == OPEN -> kept[x] = true :: else fi;
#endif
     due[x] = false
  :: else ->
#ifndef M_DROPPED
     pending[x] = true; due[x] = true
#endif
  fi;
  closing = false
}

#define HARDENS(x) (pending[x] && !due[x] && AT_REST(x))
#define ESCALATES(x) (pending[x] && !due[x] && escalations > 0)
#define DUE (HARDENS(P) || HARDENS(C) || ESCALATES(P))
inline harden_next() {
  if
  :: HARDENS(P) -> harden(P)
  :: HARDENS(C) -> harden(C)
  :: ESCALATES(P) -> escalations--; escalated = true; harden(P)
  :: !(DUE) -> skip /* it has just been withdrawn */
  fi
}

/* PendingStops::harden_closed() */
inline harden_closed(y) {
  if
  :: pending[y] && !due[y] -> look(y); if :: !OPEN_VIEW -> harden(y) :: else fi
  :: else
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

/* SecondHalves::start() */
inline read_op() {
  if
  :: verb == later_op -> /* PendingStops::start() */
     pending[x] = true;
     look(x);
     if :: !OPEN_VIEW -> harden(x) :: else fi
  :: verb == withdraw_op -> /* PendingStops::withdraw() and harden_due() */
     withdrawn = arg;
     if :: x != NONE -> pending[x] = false; due[x] = false; kept[x] = false :: else fi; /* NONE: an agent that is not in the model */
#ifndef M_UNVISITED
     visit = P;
#endif
     if :: due[P] -> harden(P) :: else fi;
     if :: due[C] -> harden(C) :: else fi
  :: verb == stop_op ->
     harden_closed(P);
     harden_closed(C);
     settle_down(x);
     if :: kept[C] -> by_parent[C] = false; kept[C] = false :: else fi
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
