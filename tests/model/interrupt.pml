/* Interrupts and held mailboxes, searched exhaustively by spin: threads that interrupt the turn of an agent, the turn of one
   message, or the turns of a subtree, and that hold and release mailboxes, and the loop thread, which runs the turns. Why:
   docs/design/gate-protocol.md. Run it with scripts/check-model, which knows the configurations (-DCONF_...) and the mutants
   (-DM_...). A turn is one or two model calls; a call that is cut ends at once.

   What must hold: from the end of the call (if it was not quiet, from the end of the action that it met) nothing of the
   turns begins that were in progress when it was called; turns that begin after it are not touched; an interrupt by id
   ends the turn of that message or none, and that message begins no turn; a held mailbox begins no turn until its release,
   and each message ends in one turn, is dropped because it was withdrawn, or waits in a held mailbox. The message of a tool
   call (it is *delegated*) passes the hold, and no other does. */

#include "fields.pml"

#if defined(CONF_INTERRUPT_BOTH) || defined(CONF_HOLD_SUBTREE) || defined(CONF_HOLD_DELEGATED_SUBTREE)
#define STEPS_OF_TURN 1
#else
#define STEPS_OF_TURN 2
#endif
#define MESSAGES 4 /* 1 and 2 were sent to C, 3 to P; 0 is none */
#define CLAIMING 8 /* Node::claiming */
byte message[2];   /* Node::message */
byte turn_mark[2]; /* Node::turn_mark */
byte interrupts[2];/* Node::interrupts */
byte count;        /* the same, of the root sentinel */
bool extends[2];   /* Node::extends: hold_below */

/* mailbox::Cell::id */
#define WAITS 0
#define WITHDRAWN 1
#define BEGUN 2
#define OVER 3
byte cell[MESSAGES];

mtype = { interrupt_op, subtree_op, release_op };
chan control = [4] of { mtype, byte, byte, byte }; /* verb, agent, the epoch after it or 0, the withdrawn message or 0 */

/* Of the loop thread. */
bool turn[2], op[2];
byte steps[2], turn_epoch[2], queue[2]; /* queue: the oldest message; the others follow */
bool visiting;                          /* Scheduler::interrupt_pass_ and agent_pass_ */

/* Ghost. */
byte turn_no[2], current[2];  /* the turn in progress and its message */
byte dead[2], soon_dead[2];   /* nothing may begin of the turns up to this one; when the action is over */
bool dead_message[MESSAGES], soon_dead_message[MESSAGES];
bool held[2], soon_held[2];   /* a hold of it has returned */
bool below;                   /* that of P is one of the subtree */
byte releases[2];
byte calls;                   /* interrupts in progress */
byte newest[2];               /* the turn in progress when the last of them returned, or the action that it met was over */
bool met;                     /* the last of them has met an action, which is not over */
byte fates[MESSAGES];

#define LOCALS short own, w; byte m, mark, number, since, before_p, before_c; bool ok, done, hit, begun
#define FORGET own = 0; w = 0; m = 0; mark = 0; number = 0; since = 0; before_p = 0; before_c = 0; ok = false; done = false; \
   hit = false; begun = false

inline check_begin(x) { assert(turn_no[x] > dead[x] && !dead_message[current[x]]) }
inline action_over() {
  if :: met -> newest[P] = turn_no[P]; newest[C] = turn_no[C]; met = false :: else fi;
  dead[P] = MAX(dead[P], soon_dead[P]); dead[C] = MAX(dead[C], soon_dead[C]);
  dead_message[1] = dead_message[1] || soon_dead_message[1];
  held[P] = held[P] || soon_held[P]; held[C] = held[C] || soon_held[C]; soon_held[P] = false; soon_held[C] = false
}
inline fate(number) { fates[number]++; assert(fates[number] == 1) }

#include "interrupt_loop.pml"

/* ---- Verbs, first halves: tree/turn_verbs.cpp ------------------------------------------------------------------- */
/* Those that the configuration does not run are left out: they would take time to compile. */

inline call() {
  atomic {
    calls++;
    before_p = (STATE(packed[P]) == WAITING -> turn_no[P] : 0);
    before_c = (STATE(packed[C]) == WAITING -> turn_no[C] : 0)
  }
}
inline return_of(x, subtree, holds) {
  atomic {
    if
    :: (subtree -> IS_QUIET(x) : active_agent != x) ->
       if :: subtree || x == P -> dead[P] = MAX(dead[P], before_p) :: else fi;
       if :: subtree || x == C -> dead[C] = MAX(dead[C], before_c) :: else fi;
       if :: holds && since == releases[x] -> held[x] = true :: else fi
    :: else ->
       met = true;
       if :: subtree || x == P -> soon_dead[P] = MAX(soon_dead[P], before_p) :: else fi;
       if :: subtree || x == C -> soon_dead[C] = MAX(soon_dead[C], before_c) :: else fi;
       if :: holds && since == releases[x] -> soon_held[x] = true :: else fi
    fi;
    calls--; users--; newest[P] = turn_no[P]; newest[C] = turn_no[C];
    FORGET
  }
}

/* interrupt_turn() */
proctype Interrupter(byte x; bool holds) {
  LOCALS;
  call();
  do
  :: own = packed[x];
     ok = INTERRUPT_ALLOWED(own);
     if :: ok -> is_interrupted(x); ok = !hit :: else fi;
     if
     :: ok -> w = AFTER_INTERRUPT(own, holds)
     :: !ok && holds && HOLD_ALLOWED(own, true) -> w = AFTER_HOLD(own, true)
     :: else -> w = own
     fi;
     atomic { replace(x, own, w); if :: done -> since = releases[x]; break :: else fi }
  od;
  if :: ok -> control!interrupt_op(x, EPOCH(own) + 1, 0) :: else fi;
  return_of(x, false, holds)
}

#if defined(CONF_INTERRUPT_ID) || defined(CONF_INTERRUPT_BOTH)
/* interrupt_message() of the message 1, and find() */
proctype Canceller() {
  LOCALS;
  atomic { calls++ };
  do
  :: own = packed[C];
     if :: INTERRUPT_ALLOWED(own) -> is_interrupted(C) :: else -> hit = false fi;
     if
     :: cell[1] == OVER -> ok = false; break
     :: else -> m = message[C]
     fi;
#ifdef M_FOUND_BEFORE
look_again:
#endif
     if
     :: (m & 7) == 1 && STATE(own) == WAITING && hit -> ok = false; break /* over, with its subtree */
     :: (m & 7) == 1 && STATE(own) == WAITING && !hit ->
        w = AFTER_INTERRUPT(own, false);
        atomic { replace(C, own, w); if :: done -> assert(current[C] == 1); ok = true; break :: else fi };
#ifdef M_FOUND_BEFORE
        own = packed[C]; /* without find() */
        goto look_again
#endif
     :: m == 1 && STATE(own) != WAITING ->
#ifdef M_READ_ONCE
        ok = false; break
#else
        if
        :: packed[C] == own -> ok = false; break /* another verb has ended it */
        :: else -> skip                          /* it began after the first read */
        fi
#endif
     :: else -> /* queued: MessagePool::withdraw() */
        atomic {
          done = (cell[1] == WAITS);
          if :: done -> cell[1] = WITHDRAWN :: else fi
        };
        if
        :: done -> number = 1; ok = true; break
        :: !done && begun -> ok = false; break
        :: else -> begun = true
        fi
     fi
  od;
  if
  :: ok && number == 0 -> control!interrupt_op(C, EPOCH(own) + 1, 0)
  :: ok && number == 1 -> control!interrupt_op(C, 0, 1)
  :: else
  fi;
  atomic {
    if :: active_agent != C -> dead_message[1] = true :: else -> soon_dead_message[1] = true; met = true fi;
    calls--; users--; newest[C] = turn_no[C];
    FORGET
  }
}
#endif

#if !defined(CONF_INTERRUPT) && !defined(CONF_INTERRUPT_ID) && !defined(CONF_HOLD) && !defined(CONF_HOLD_DELEGATED)
/* interrupt_subtree() of P. As all do the same, it does not matter which gets the lock first: `earlier` of them
   come before this one. */
proctype SubtreeInterrupter(bool holds; byte earlier) {
  LOCALS;
  call();
  atomic { !changing && count >= earlier -> changing = true };
  if
  :: holds ->
     extends[P] = true;
     do
     :: own = packed[P];
        w = AFTER_HOLD(own, true);
        atomic { replace(P, own, w); if :: done -> since = releases[P]; below = true; break :: else fi }
     od
  :: else
  fi;
  number = count + 1;
#ifdef M_UNCOUNTED
  skip;
#else
  count = number;
#endif
  interrupts[P] = number;
  changing = false;
  atomic { control!subtree_op(P, 0, 0) };
  return_of(P, true, holds)
}
#endif

#if defined(CONF_HOLD) || defined(CONF_HOLD_SUBTREE) || defined(CONF_HOLD_DELEGATED) || defined(CONF_HOLD_DELEGATED_SUBTREE)
/* tree::release_queue() */
proctype Releaser(byte x) {
  LOCALS;
#ifndef M_RELEASED_UNLOCKED
  lock(changing);
#endif
  do
  :: own = packed[x];
     if
     :: HOLD_ALLOWED(own, false) ->
        w = AFTER_HOLD(own, false);
        atomic {
          replace(x, own, w);
          if :: done -> held[x] = false; soon_held[x] = false; below = false; releases[x]++; break :: else fi
        }
     :: else -> done = false; break
     fi
  od;
  if :: done -> extends[x] = false :: else fi;
#ifndef M_RELEASED_UNLOCKED
  changing = false;
#endif
  atomic { if :: done -> control!release_op(x, 0, 0) :: else fi; users--; FORGET }
}
#endif

init {
  atomic {
    packed[P] = PACKED(0, 0, OPEN, IDLE);
    packed[C] = PACKED(0, 0, OPEN, IDLE);
    queue[P] = 4; queue[C] = 1;
#ifdef CONF_INTERRUPT /* two interrupts of the turn of one agent */
    users = 2; run Interrupter(C, false); run Interrupter(C, false);
#endif
#ifdef CONF_INTERRUPT_ID /* an interrupt by id, and one of the turn */
    users = 2; run Canceller(); run Interrupter(C, false);
#endif
#ifdef CONF_INTERRUPT_SUBTREE /* interrupts of the subtree and of a turn in it */
    users = 2; run SubtreeInterrupter(false, 0); run Interrupter(C, false);
#endif
#ifdef CONF_INTERRUPT_PARENT /* interrupts of a subtree, whose root has a turn */
    queue[P] = 3; queue[C] = 3;
    users = 2; run SubtreeInterrupter(false, 0); run SubtreeInterrupter(false, 1);
#endif
#ifdef CONF_INTERRUPT_BOTH /* an interrupt by id, and one of the subtree */
    users = 2; run SubtreeInterrupter(false, 0); run Canceller();
#endif
#ifdef CONF_HOLD /* an interrupt that holds the mailbox, and its release */
    users = 2; run Interrupter(C, true); run Releaser(C);
#endif
#ifdef CONF_HOLD_SUBTREE /* two such interrupts of the subtree, and a release */
    queue[C] = 2;
    users = 3; run SubtreeInterrupter(true, 0); run SubtreeInterrupter(true, 1); run Releaser(P);
#endif
#ifdef CONF_HOLD_DELEGATED /* the message of a tool call meets an interrupt that holds its mailbox; the next message waits */
    users = 2; run Interrupter(C, true); run Releaser(C);
#endif
#ifdef CONF_HOLD_DELEGATED_SUBTREE /* the same of an interrupt of the subtree, with no release */
    users = 1; run SubtreeInterrupter(true, 0);
#endif
    run Loop()
  }
}
