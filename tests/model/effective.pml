/* The effective states, searched exhaustively by spin: a chain of three agents, verbs from any thread on any of them, the
   loop thread that settles them, and an observer. Why: docs/design/gate-protocol.md. Run it with scripts/check-model,
   which knows the configurations (-DCONF_...) and the mutants (-DM_...). The rules of the mirror are those of gate.pml,
   which has the messages, the calls and the slots that are used again.

   What must hold: the effective states, all read in one moment, change along the edges of the state table; and an
   observer, which reads one packed state after the other, returns a state that was effective at some moment while it
   read. Without a resume the states only rise along the table. So of two reads, one after the other, by whatever threads,
   the second never returns an earlier state than the first. */

#define ROOT 0
#define CHILD 1
#define LEAF 2
#define NONE 7

/* core::PackedState: state, gate, and an epoch of one bit, which differs for a stop that was widened
   after the agent had stopped, or while it did. */
#define IDLE 0 /* or waiting or processing: can_process() */
#define WAITING IDLE
#define STOPPING 1
#define STOPPED 2
#define TERMINATING 3
#define GONE 4
#define OPEN 0
#define STOP_SELF 1
#define STOP_TREE 2
#define TERMINATE 3
#define STATE(w) ((w) & 7)
#define GATE(w) (((w) >> 3) & 3)
#define EPOCH(w) ((w) >> 5)
#define PACKED(epoch, gate, state) (((epoch) << 5) | ((gate) << 3) | (state))
#define WITH(w, gate, state) PACKED(EPOCH(w), gate, state)
#define CLOSES(w) (GATE(w) >= STOP_TREE)
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define CAN(s) ((s) == IDLE)
#define NEXT(w, gate, state) WITH(w, gate, state)
#define WIDENED(w) PACKED(1 - EPOCH(w), STOP_TREE, STOPPED)
#define RETICKETED(w) PACKED(1 - EPOCH(w), GATE(w), STATE(w))
#include "transitions.pml"

byte packed[3];
byte head[3] = NONE; /* Node::mailbox_head: its ticket; NONE: open */
#define IS_SETTLED(x, w) (head[x] == EPOCH(w)) /* mailbox::is_closed() */
bool closing;        /* TreeShared::closing */
mtype = { stop_op, terminate_op, resume_op };
bool stays[3]; /* Node::stays_stopped */
#ifdef CONF_EFFECTIVE_RESUMED
bool kept[3];  /* a stop of it returned, whatever it found, and no resume of this very agent came since */
#define RESUMED(x) kept[x] = false
#define CHECK_REOPENED(x) assert(!kept[x])
#else
#define RESUMED(x) skip
#define CHECK_REOPENED(x) skip
#endif
#ifdef M_KEPT_UNREAD
#define MAY_REOPEN(x) true
#else
#define MAY_REOPEN(x) (!stays[x])
#endif

chan control = [4] of { mtype, byte, bool }; /* ControlQueue: verb, agent, cascade */
chan jobs = [4] of { mtype, byte, bool };    /* Settler::queue_ */
byte users;                                  /* other threads still at work */

/* ---- The effective state: core/gates.hpp --------------------------------------------------------------------------- */

/* effective_below(), folded upward over the ancestors: NONE is not decided yet. */
#define OWN(s) ((s) == IDLE || (s) == STOPPED -> NONE : (s))
#ifdef M_FAR_RULE /* a stop that is under way anywhere above wins over a delete */
#define BELOW(v, w, s) (!CLOSES(w) || OWN(s) != NONE -> (v) : \
   (STATE(w) == STOPPING || (STATE(w) == STOPPED && (s) == IDLE) -> ((s) == IDLE -> STOPPING : (s)) : \
   ((v) == NONE && STATE(w) == TERMINATING -> TERMINATING : (v))))
#else
#define BELOW(v, w, s) ((v) != NONE || !CLOSES(w) -> (v) : \
   (STATE(w) == TERMINATING -> TERMINATING : ((s) == IDLE -> STOPPING : (STATE(w) == STOPPING -> (s) : NONE))))
#endif
#define DECIDED(v, s) ((v) == NONE -> (s) : (v))

/* Ghost: the effective states, all read in one moment. */
byte all[3];
byte watched = NONE; /* the agent that the observer reads */
byte moments;        /* a bit for each state that was effective since the look began */
hidden byte n, s, v;

#define EDGE(from, to) ((from) == (to) || ((from) == IDLE && (to) != STOPPED && (to) != GONE) || \
   ((from) == STOPPING && (to) == STOPPED) || ((from) == STOPPED && ((to) == IDLE || (to) == TERMINATING)) || \
   ((from) == TERMINATING && (to) == GONE))

/* The packed state of x has just been replaced. Below a closed gate that may be two edges in one: its own, and the one
   that the gate imposes on its new state. An agent that stops below a delete, say, goes from stopping to terminating. */
inline check_effective(x) {
  n = 0;
  do
  :: n < 3 ->
     s = STATE(packed[n]);
     v = OWN(s);
     if :: n == LEAF -> v = BELOW(v, packed[CHILD], s) :: else fi;
     if :: n != ROOT -> v = BELOW(v, packed[ROOT], s) :: else fi;
     v = DECIDED(v, s);
     assert(EDGE(all[n], v) || (n == x && EDGE(all[n], s) && EDGE(s, v)));
     all[n] = v;
     if :: n == watched -> moments = moments | (1 << v) :: else fi;
     n++
  :: else -> break
  od
}

/* Node::replace() */
inline replace(x, expected, desired) {
  atomic {
    done = (packed[x] == (expected));
    if :: done -> packed[x] = desired; check_effective(x) :: else fi
  }
}

/* core::look(): from the agent upward, one packed state at a time. */
#define LOCALS byte own, w, after, up, above, effective; bool valid, done
inline look(x) {
  atomic { own = packed[x]; effective = OWN(STATE(own)); above = OPEN; up = x };
  do
  :: up > ROOT && STATE(own) != GONE ->
     atomic {
       up--;
       w = packed[up];
       if :: CLOSES(w) -> above = MAX(above, GATE(w)); effective = BELOW(effective, w, STATE(own)) :: else fi;
       w = 0
     }
  :: else -> break
  od;
  atomic { valid = (STATE(packed[x]) != GONE); effective = (valid -> DECIDED(effective, STATE(own)) : GONE); up = 0 }
}
#define OPEN_VIEW (valid && GATE(own) == OPEN && above == OPEN)

/* look_again(): when an ancestor has imposed the state, a second walk decides. */
#ifdef M_ONE_LOOK
#define AGAIN(own, effective) false
#else
#ifdef M_STOP_LOOKED_AGAIN /* only when the first one says that a stop is under way */
#define AGAIN(own, effective) ((effective) == STOPPING && (own) == IDLE)
#else
#define AGAIN(own, effective) ((effective) != (own) && (effective) != GONE)
#endif
#endif
inline look_again(x) {
  look(x);
  if :: AGAIN(STATE(own), effective) -> look(x) :: else fi
}

/* tree::state_of(). It reads no gate: once the effective state is decided, nothing further up matters. */
inline read_state() {
  atomic { own = STATE(packed[at]); effective = OWN(own); up = at };
  do
  :: up > ROOT && effective == NONE -> atomic { up--; effective = BELOW(effective, packed[up], own) }
  :: else -> break
  od;
  atomic { effective = (STATE(packed[at]) == GONE -> GONE : DECIDED(effective, own)); up = 0 }
}
proctype Observer(byte at) {
  byte own, effective, up;
  atomic { watched = at; moments = 1 << all[at] };
  read_state();
  if :: AGAIN(own, effective) -> read_state() :: else fi;
  atomic { assert(moments & (1 << effective)); watched = NONE; moments = 0; own = 0; effective = 0 }
}

/* ---- Verbs: tree/stop.cpp ---------------------------------------------------------------------------------------- */

/* The thread ends. What is left in its locals would tell apart states that are the same. */
inline leave(op, below) {
  atomic {
    if :: done -> control!op(x, below) :: else fi;
    closing = false; users--;
    own = 0; w = 0; after = 0; above = 0; effective = 0; valid = false; ok = false; done = false;
    later = 0; verb = 0; x = 0; cascade = false
  }
}

/* close_for_stop() */
inline stop(x) {
  do
  :: look(x);
     if
     :: valid && above == OPEN && STOP_ALLOWED(own, cascade) ->
        after = AFTER_STOP(own, cascade);
        replace(x, own, after)
     :: else ->
        done = false;
        if :: valid -> stays[x] = true :: else fi; /* keep_stopped() */
        break
     fi;
     if :: done -> break :: else fi
  od;
#ifdef CONF_EFFECTIVE_RESUMED
  kept[x] = true;
#endif
  leave(stop_op, cascade)
}

/* close_for_delete() */
inline terminate(x) {
  do
  :: look(x);
     if
     :: !valid || !TERMINATE_ALLOWED(own) || above == TERMINATE -> done = false; break
     :: else ->
        ok = IS_SETTLED(x, own);
        after = AFTER_TERMINATE(own, above != OPEN, ok);
        replace(x, own, after);
        if :: done -> break :: else fi
     fi
  od;
  leave(terminate_op, true)
}

#define HAS_ENDED(x) (all[x] != IDLE && all[x] != STOPPING)

/* open_for_resume() */
inline resume(x) {
  do
  :: look(x);
     if
     :: valid && RESUME_ALLOWED(own, true) && above == OPEN ->
        ok = IS_SETTLED(x, own);
        if
        :: ok ->
           atomic {
             ok = (GATE(own) != STOP_TREE || ((x == LEAF || HAS_ENDED(LEAF)) && (x != ROOT || HAS_ENDED(CHILD))));
             replace(x, own, AFTER_RESUME(own));
             assert(ok || !done); /* not before what lies below has settled */
             if :: done -> stays[x] = false; RESUMED(x) :: else fi
           }
        :: else -> done = false; break
        fi;
        if :: done -> cascade = (GATE(own) == STOP_TREE); head[x] = NONE; break :: else fi
     :: else -> done = false; break
     fi
  od;
  leave(resume_op, cascade)
}

/* A verb on an agent: one that the configuration asks for, or (0) whichever. As those may do anything, it does not
   matter which gets the lock first: `later` of them come later. */
proctype User(byte later; mtype verb; byte x; bool cascade) {
  LOCALS;
  bool ok;
  atomic {
#ifndef M_VERBS_UNLOCKED
    !closing && users == later + 1 -> closing = true;
#endif
    if
    :: verb == 0 ->
       if :: x = ROOT :: x = CHILD :: x = LEAF fi;
       if
       :: verb = stop_op; cascade = true
       :: x == CHILD -> verb = stop_op
       :: verb = terminate_op
#ifdef CONF_EFFECTIVE_RESUMED
       :: verb = resume_op
#endif
       fi
    :: else
    fi
  };
  if
  :: verb == stop_op -> stop(x)
  :: verb == terminate_op -> terminate(x)
  :: verb == resume_op -> resume(x)
  fi
}

/* ---- The loop thread: tree/settle_walk.cpp, tree/agent_settler.cpp ------------------------------------------------- */

#define HAS_CHILD(x) (x < LEAF && STATE(packed[x + 1]) != GONE)
#define UNSETTLED(x) (x < LEAF && counted[x + 1])
/* is_widened(): a stop without the children was the last to visit the agent, and was widened since (Settling, 7). */
#define IS_WIDENED(x, w) (alone[x] && (widened[x] || GATE(w) == STOP_TREE))
#define SETTLED(x) (walked[x] && busy != x && !UNSETTLED(x) && !IS_WIDENED(x, packed[x])) /* AgentSettler::is_ready() */

/* is_deleted_above() */
#define DELETED_ABOVE(x) ((x != ROOT && deleting[ROOT]) || (x == LEAF && deleting[CHILD]))

/* SettleWalk::skips() */
inline look_for_skip(x) {
  atomic {
    w = packed[x];
    if
    :: x == root -> skips = !cascade
    :: x != root && (verb == terminate_op || GATE(w) == TERMINATE) -> skips = (walked[x] && delete_walked[x])
    :: else -> skips = (CLOSES(w) && (walked[x] || STATE(w) == STOPPED))
    fi;
    w = 0
  }
}

/* SettleWalk::mark_down(): one step of it. */
inline mark() {
  x = cursor;
  look_for_skip(x);
  cursor = (!skips && HAS_CHILD(x) -> x + 1 : NONE);
  if
  :: x != root && (walked[x] || skips) -> skip
  :: else ->
     look_again(x);
     if
     :: effective == STOPPING || effective == TERMINATING ->
        w = packed[x];
        do
        :: STATE(w) == effective || !IMPOSE_ALLOWED(w, effective, IS_SETTLED(x, w)) -> break
        :: else ->
           after = AFTER_IMPOSED(w, effective);
           replace(x, w, after);
           if :: done -> break :: else -> w = packed[x] fi
        od
     :: else
     fi
  fi;
  if :: cursor == NONE -> marking = false; cursor = root; descending = true :: else fi
}

/* SettleWalk::step() and visit(): `next` is the agent that may be settled then. */
inline walk_one() {
  x = cursor;
  look_for_skip(x);
  if
  :: descending && !skips && HAS_CHILD(x) -> cursor = x + 1
  :: else ->
     atomic {
       descending = false;
       cursor = (x == root -> NONE : x - 1);
       w = packed[x];
       delete_walked[x] = (delete_walked[x] || verb == terminate_op);
       deleting_above = (verb == terminate_op);
       if
       :: walked[x] && x != root -> counted[x] = true; alone[x] = false; widened[x] = false
       :: !walked[x] && x != root && verb == stop_op && STATE(w) == STOPPED ->
          walked[x] = (UNSETTLED(x) || counted[x]);
          counted[x] = walked[x];
          if :: SETTLED(x) -> next = x :: else fi
       :: else ->
          if :: x != root && !direct[x] -> by_parent[x] = (STATE(w) <= STOPPING) :: else fi;
          walked[x] = true;
          alone[x] = (x == root && !cascade);
          widened[x] = (widened[x] && alone[x]);
          if :: SETTLED(x) -> next = x :: x != root && !SETTLED(x) -> counted[x] = true :: else fi
       fi;
       w = 0
     }
  fi
}

/* AgentSettler::write_stopped() */
inline write_stopped(x) {
  do
  :: w = packed[x];
     assert(STATE(w) != TERMINATING);
     head[x] = EPOCH(w);
     after = AFTER_SETTLE(w);
#ifndef M_WIDENED_RESUMES_EARLY
     if :: IS_WIDENED(x, w) -> after = RETICKETED(after) :: else fi; /* a resume waits for the walk that settles it again */
#endif
     replace(x, w, after);
     if :: done -> break :: else fi
  od
}

/* AgentSettler::remove() and AgentTable::erase() */
inline remove(x) {
  do
  :: w = packed[x]; replace(x, w, AFTER_REMOVE(w)); if :: done -> break :: else fi
  od;
  atomic {
    packed[x] = PACKED(0, OPEN, GONE);
    check_effective(x);
    deleting[x] = false; direct[x] = false; by_parent[x] = false; alone[x] = false; widened[x] = false;
    if /* step_past() */
    :: x == cursor ->
       descending = false;
       cursor = (x == root -> NONE : (marking || verb == resume_op -> root : x - 1))
    :: else
    fi
  }
}

/* AgentSettler::settle_upwards() and settle() */
inline settle_upwards() {
  do
  :: next != NONE ->
     x = next;
     atomic { was_counted = counted[x]; counted[x] = false; walked[x] = false; delete_walked[x] = false };
     going = (deleting_above || deleting[x]);
     own_packed = packed[x];
     look_again(x);
     if
     :: effective == STOPPING -> write_stopped(x)
     :: else -> if :: STATE(own_packed) == STOPPED -> head[x] = EPOCH(own_packed) :: else fi /* it may have been widened */
     fi;
     if :: going && !HAS_CHILD(x) -> remove(x) :: else -> direct[x] = going fi;
     atomic {
       next = NONE;
       if
       :: going && STATE(packed[x]) != GONE -> counted[x] = was_counted
       :: was_counted && !(going && STATE(packed[x]) != GONE) && SETTLED((x - 1)) ->
          next = x - 1; deleting_above = (deleting_above && DELETED_ABOVE((x - 1)))
       :: else
       fi;
       own_packed = 0; was_counted = false; going = false; w = 0
     }
  :: else -> break
  od
}

/* SettleWalk::resume_down(): one step of it, and resume() */
inline resume_down() {
  look(root);
  x = cursor;
  cursor = NONE;
  if
  :: valid && !CLOSES(own) && above == OPEN ->
     if
     :: x == root -> by_parent[x] = false; done = true
     :: x != root && !by_parent[x] -> done = !CLOSES(packed[x])
     :: else ->
        atomic { !closing -> closing = true }; /* reopen() */
        w = packed[x];
        if
        :: MAY_REOPEN(x) && RESUME_ALLOWED(w, IS_SETTLED(x, w)) ->
           replace(x, w, AFTER_RESUME(w));
           if :: done -> CHECK_REOPENED(x); by_parent[x] = false; head[x] = NONE :: else fi
        :: else -> done = false
        fi;
        closing = false
     fi;
     if :: done && cascade && HAS_CHILD(x) -> cursor = x + 1 :: else fi
  :: else
  fi
}

/* Settler::start() */
inline start() {
  atomic {
    if
    :: STATE(packed[x]) != GONE ->
       if
       :: op != resume_op ->
          by_parent[x] = false; direct[x] = true; deleting[x] = (op == terminate_op);
          widened[x] = (widened[x] || (op == stop_op && all_below))
       :: else
       fi;
       jobs!op(x, all_below)
    :: else
    fi
  }
}

inline check_end(x) {
  assert(STATE(packed[x]) == IDLE || STATE(packed[x]) == STOPPED || STATE(packed[x]) == GONE);
  assert(all[x] == STATE(packed[x])); /* no agent open below a closed gate */
  assert(!walked[x] && !counted[x] && !deleting[x] && !widened[x])
}

proctype Loop() {
  LOCALS;
  bool walked[3], delete_walked[3], counted[3], deleting[3], direct[3], by_parent[3],
    alone[3], widened[3]; /* core::Settling */
  byte busy = NONE;   /* has a call in flight */
  bool shows;         /* the host observes states: hub_.wants_states() */
  mtype op, verb;     /* verb, root, cascade, marking, cursor, descending: the job whose walk is under way */
  byte x, root = NONE, cursor = NONE, next = NONE, own_packed;
  bool all_below, cascade, marking, descending, skips, deleting_above, was_counted, going;
#ifdef CONF_EFFECTIVE_ALONE
  if :: busy = LEAF :: busy = CHILD :: skip fi;
#endif
#ifdef CONF_EFFECTIVE_RESUMED
  if :: busy = LEAF :: skip fi;
#endif
  if :: shows = true :: skip fi;
  do
  :: if
     :: atomic { control?op, x, all_below -> start() }
     :: atomic {
          root == NONE && nempty(jobs) -> jobs?verb, root, cascade;
          if
          :: STATE(packed[root]) != GONE -> cursor = root; marking = (shows && verb != resume_op); descending = true
          :: else -> root = NONE /* its jobs went with it */
          fi
        }
     :: cursor != NONE && verb == resume_op -> resume_down()
     :: cursor != NONE && verb != resume_op && marking -> mark()
     :: cursor != NONE && verb != resume_op && !marking -> walk_one()
     :: busy != NONE ->
        atomic { /* operation_ended() */
          x = busy; busy = NONE; deleting_above = DELETED_ABOVE(x);
          if :: SETTLED(x) -> next = x :: else fi
        }
     :: users == 0 && empty(control) && empty(jobs) && root == NONE && busy == NONE -> break
     fi;
     settle_upwards();
     atomic {
       if :: cursor == NONE -> root = NONE; verb = 0; cascade = false; descending = false; marking = false :: else fi;
       after = 0; x = 0; op = 0; all_below = false; skips = false; deleting_above = false;
       own = 0; w = 0; above = 0; effective = 0; valid = false; done = false
     }
  od;
  atomic { check_end(ROOT); check_end(CHILD); check_end(LEAF) }
}

init {
  atomic {
#ifdef CONF_EFFECTIVE /* two verbs, and an observer of the leaf */
    users = 2; run Observer(LEAF);
#endif
#ifdef CONF_EFFECTIVE_CHILD /* the same of the child */
    users = 2; run Observer(CHILD);
#endif
#ifdef CONF_EFFECTIVE_ALONE /* a stop without the children, and two verbs */
    users = 3; run User(2, stop_op, CHILD, false);
#endif
#ifdef CONF_EFFECTIVE_RESUMED /* a stop, and two verbs, of which one may be a resume */
    users = 3; run User(2, stop_op, ROOT, true);
#endif
    run User(1, 0, 0, false); run User(0, 0, 0, false); run Loop()
  }
}
