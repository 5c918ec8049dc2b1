/* Pauses of a subtree, searched exhaustively by spin: threads that pause and unpause P or C, one that stops, deletes, resumes
   or interrupts through the pause, and the loop thread that runs the turns. Why: docs/design/gate-protocol.md. Run it with
   scripts/check-model, which knows the configurations (-DCONF_...) and the mutants (-DM_...).

   What must hold: nothing begins in the subtree from the end of the pause (if it was not quiet, from the end of the action
   that it met) to the unpause; what was withheld begins once after it, and each result is taken once; a stop, a delete and
   an interrupt take effect through the pause; what observers are reported last is so. */

#include "fields.pml"

#define VERBS pause_op, unpause_op, interrupt_op

/* Ghost. */
byte pauses[2];       /* unpauses of it so far: a pause holds until the next one */
bool is_still[2];     /* a pause of it has returned, and no unpause of it since */
bool soon_still[2];   /* the same, when the action that it met is over */
bool closed[2];       /* a stop or delete of it has returned, and no resume since */
bool soon_closed[2];
byte ended_epoch[2];  /* an interrupt ended the turns up to this epoch */
byte soon_ended[2];
bool interrupted;
bool told[2];         /* what observers were told last */
byte sent;            /* messages */
byte observers;       /* how often an observer pauses P within a step */

#define BEGINS(y, kind) assert(!is_still[y] && !closed[y] && !gone[y])
inline check_begin(x, kind) {
  BEGINS(x, kind);
  BEGINS(P, kind);
  assert(turn_epoch[x] > ended_epoch[x])
}
inline action_over() {
  is_still[P] = is_still[P] || soon_still[P]; soon_still[P] = false;
  is_still[C] = is_still[C] || soon_still[C]; soon_still[C] = false;
  closed[P] = closed[P] || soon_closed[P]; soon_closed[P] = false;
  closed[C] = closed[C] || soon_closed[C]; soon_closed[C] = false;
  ended_epoch[C] = MAX(ended_epoch[C], soon_ended[C])
}

#define DUE false
inline harden_next() { skip }

/* An observer of a change within a step pauses P on the loop thread: that is quiet always. */
inline observe() {
  if
  :: observers > 0 && !PAUSED(packed[P]) ->
     observers--;
     lock(changing);
     atomic { packed[P] = AFTER_PAUSE(packed[P], true); control!pause_op(P, 0); changing = false; is_still[P] = true }
  :: true
  fi
}

/* Pauses::finish(), Scheduler::finish_end_of_turn() with Turns::interrupt_before(), Settler::start() */
inline read_op() {
  if
  :: verb == pause_op || verb == unpause_op ->
     told[x] = (verb == pause_op);
#ifdef M_UNVISITED
     if :: verb == pause_op -> visit = P :: else fi
#else
     visit = P /* visit_agents() */
#endif
  :: verb == interrupt_op ->
     if :: turn[x] && turn_epoch[x] < arg -> end_turn(x) :: else fi;
     schedule(x)
  :: verb == stop_op ->
#ifdef M_STOP_WAITS_FOR_PAUSE
     if :: parked[C] -> skip :: else -> settle_down(x) fi
#else
     settle_down(x)
#endif
  :: verb == resume_op -> resume_down(x); schedule(C); schedule(P)
  :: else
  fi
}

#if defined(CONF_PAUSE_STOP)
#define END_STATE STOPPED
#elif defined(CONF_PAUSE_DELETE)
#define END_STATE TERMINATING
#elif defined(CONF_PAUSE_RESUME)
#define END_STATE IDLE
#endif

/* Nothing is left to do. */
inline check_end() {
  atomic {
    assert(!turn[P] && !turn[C]); /* no step was lost */
    assert(gone[C] || (told[P] == PAUSED(packed[P]) && told[C] == PAUSED(packed[C])));
#ifdef END_STATE
    assert(STATE(packed[P]) == END_STATE && STATE(packed[C]) == END_STATE && mail[C] == 0)
#else
    assert(mail[P] == 0 && mail[C] == 0 && turns_over[P] + turns_over[C] == sent - (interrupted -> 1 : 0))
#endif
  }
}

#include "turns.pml"

/* change() of pauses.cpp */
inline change(pause) {
#ifndef M_CHANGED_UNLOCKED
  lock(changing);
#endif
#ifdef M_PUSHED_FIRST
  if :: pause -> control!pause_op(x, 0) :: else -> control!unpause_op(x, 0) fi;
#endif
  do
  :: own = packed[x];
     if
     :: PAUSE_ALLOWED(own, pause) ->
        atomic {
          if :: !pause -> is_still[x] = false; soon_still[x] = false; pauses[x]++ :: else fi; /* from here on it may begin */
          w = AFTER_PAUSE(own, pause); replace(x, own, w);
          if :: done -> since = pauses[x]; break :: else fi
        }
     :: else -> break
     fi
  od;
#ifdef M_PUSHED_FIRST
  changing = false
#else
  atomic {
    if :: done && pause -> control!pause_op(x, 0) :: done && !pause -> control!unpause_op(x, 0) :: else fi;
    changing = false
  }
#endif
}

/* tree::pause() and unpause() */
proctype Pauser(byte x) {
  LOCALS;
  byte since;
#ifdef M_ACTIVE_READ_FIRST
  ok = IS_QUIET(x);
#endif
  change(true);
  if
  :: done ->
#if defined(M_QUIET_ALWAYS)
     ok = true;
#endif
     atomic {
#if !defined(M_QUIET_ALWAYS) && !defined(M_ACTIVE_READ_FIRST)
       ok = IS_QUIET(x);
#endif
       if
       :: since == pauses[x] -> if :: ok -> is_still[x] = true :: else -> soon_still[x] = true fi
       :: else
       fi;
       FORGET
     }
  :: else
  fi;
  change(false);
  atomic { users--; since = 0; FORGET }
}

/* tree::stop() or terminate() of x with its subtree, then perhaps tree::resume(). */
proctype Closer(byte x; bool deletes; bool resumes) {
  LOCALS;
  lock(closing);
  do
  :: look(x);
     if
     :: deletes -> w = AFTER_TERMINATE(own, above != OPEN, true); replace(x, own, w)
     :: else -> w = AFTER_STOP(own, true); replace(x, own, w)
     fi;
     if :: done -> break :: else fi
  od;
  atomic { control!stop_op(x, deletes); closing = false };
  atomic { if :: IS_QUIET(x) -> closed[x] = true :: else -> soon_closed[x] = true fi; FORGET };
  if
  :: resumes ->
     STATE(packed[x]) == STOPPED; /* sooner it would be refused, and change nothing */
     lock(closing);
     do
     :: own = packed[x];
        atomic {
          w = AFTER_RESUME(own); replace(x, own, w);
          if :: done -> closed[x] = false; soon_closed[x] = false; control!resume_op(x, 0); closing = false; break :: else fi
        }
     od
  :: else
  fi;
  atomic { users--; FORGET }
}

/* Unpauses what the observer has paused. */
proctype Unpauser(byte x) {
  LOCALS;
  byte since;
  if
  :: PAUSED(packed[x])
  :: turns_over[C] == 1
  fi;
  change(false);
  atomic { users--; since = 0; FORGET }
}

/* interrupt_turn() */
proctype Interrupter(byte x) {
  LOCALS;
  do
  :: look(x);
     if
     :: OPEN_VIEW && INTERRUPT_ALLOWED(own) -> w = AFTER_INTERRUPT(own, false); replace(x, own, w); if :: done -> break :: else fi
     :: else -> break
     fi
  od;
  if
  :: done ->
     atomic {
       interrupted = true;
       if :: active_agent != x -> ended_epoch[x] = EPOCH(own) :: else -> soon_ended[x] = EPOCH(own) fi
     };
     control!interrupt_op(x, EPOCH(own) + 1)
  :: else
  fi;
  atomic { users--; FORGET }
}

#define MAIL(x, n) mail[x] = n; ready[x] = true; sent = sent + n

init {
  atomic {
    packed[P] = PACKED(0, 0, OPEN, IDLE);
    packed[C] = PACKED(0, 0, OPEN, IDLE);
#ifdef CONF_PAUSE /* the parent and the child are paused and unpaused */
    MAIL(C, 1); users = 2;
    run Pauser(P); run Pauser(C);
#endif
#ifdef CONF_PAUSES /* two pauses and unpauses of one agent */
    MAIL(P, 1); users = 2;
    run Pauser(P); run Pauser(P);
#endif
#ifdef CONF_PAUSE_OBSERVER /* a pause by an observer, within a step */
    MAIL(C, 1); users = 1; observers = 1;
    run Unpauser(P);
#endif
#ifdef CONF_PAUSE_INTERRUPT /* an interrupt through a pause */
    MAIL(C, 2); users = 2;
    run Pauser(P); run Interrupter(C);
#endif
#ifdef CONF_PAUSE_STOP /* a stop through a pause */
    MAIL(C, 1); users = 2;
    run Pauser(P); run Closer(P, false, false);
#endif
#ifdef CONF_PAUSE_DELETE /* a delete through a pause */
    MAIL(C, 1); users = 2;
    run Pauser(P); run Closer(P, true, false);
#endif
#ifdef CONF_PAUSE_RESUME /* a stop and a resume of the parent, while the child is paused and unpaused */
    MAIL(C, 1); users = 2;
    run Pauser(C); run Closer(P, false, true);
#endif
    run Loop()
  }
}
