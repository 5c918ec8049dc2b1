/* What is seen, searched exhaustively by spin: a chain of three agents, verbs from any thread on any of them, the loop
   thread that settles them, and an observer. Why: docs/design/gate-protocol.md. Run it with scripts/check-model, which
   knows the configurations (-DCONF_...) and the mutants (-DM_...). The rules of the mirror are those of gate.pml, which
   has the messages, the calls and the slots that are used again.

   What must hold: what everyone sees, all in one moment, changes along the edges of the state table; and an observer,
   who reads one word after the other, is told what was so at some moment while it looked. Without a resume the states
   only rise along the table. So no two looks, one after the other, whosesoever they are, tell of a step back. */

#define ROOT 0
#define CHILD 1
#define LEAF 2
#define NONE 7

/* core::Word: state, gate, and an epoch of one bit, which tells a stop that was widened from the one before. */
#define IDLE 0 /* or waiting or processing: who can process */
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
#define WORD(epoch, gate, state) (((epoch) << 5) | ((gate) << 3) | (state))
#define WITH(w, gate, state) WORD(EPOCH(w), gate, state)
#define CLOSES(w) (GATE(w) >= STOP_TREE)
#define MAX(a, b) ((a) > (b) -> (a) : (b))

byte word[3];
byte door[3] = NONE; /* its ticket; NONE: open */
bool closing;        /* TreeCore::closing_ */
mtype = { stop_op, terminate_op, resume_op };
chan control = [4] of { mtype, byte, bool }; /* ControlQueue: verb, agent, cascade */
chan jobs = [4] of { mtype, byte, bool };    /* Settler::queue_ */
byte users;                                  /* foreign threads still at work */

/* ---- What is seen: core/gates.hpp -------------------------------------------------------------------------------- */

/* seen_below(), folded upward over the ancestors: NONE is not decided yet. */
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

/* Ghost: what everyone sees, all in one moment. */
byte all[3];
byte watched = NONE; /* whom the observer looks at */
byte moments;        /* a bit for each state that this one was in since the look began */
hidden byte n, s, v;

#define EDGE(from, to) ((from) == (to) || ((from) == IDLE && (to) != STOPPED && (to) != GONE) || \
   ((from) == STOPPING && (to) == STOPPED) || ((from) == STOPPED && ((to) == IDLE || (to) == TERMINATING)) || \
   ((from) == TERMINATING && (to) == GONE))

/* The word of x has just been replaced. Below a closed gate that may be two edges in one: its own, and what the gate
   makes of its new state. Who stops below a delete, say, is seen to go from stopping to terminating. */
inline check_seen(x) {
  n = 0;
  do
  :: n < 3 ->
     s = STATE(word[n]);
     v = OWN(s);
     if :: n == LEAF -> v = BELOW(v, word[CHILD], s) :: else fi;
     if :: n != ROOT -> v = BELOW(v, word[ROOT], s) :: else fi;
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
    done = (word[x] == (expected));
    if :: done -> word[x] = desired; check_seen(x) :: else fi
  }
}

/* core::look(): from the agent upward, one word at a time. */
#define LOCALS byte own, w, after, up, above, seen; bool valid, done
inline look(x) {
  atomic { own = word[x]; seen = OWN(STATE(own)); above = OPEN; up = x };
  do
  :: up > ROOT && STATE(own) != GONE ->
     atomic {
       up--;
       w = word[up];
       if :: CLOSES(w) -> above = MAX(above, GATE(w)); seen = BELOW(seen, w, STATE(own)) :: else fi;
       w = 0
     }
  :: else -> break
  od;
  atomic { valid = (STATE(word[x]) != GONE); seen = (valid -> DECIDED(seen, STATE(own)) : GONE); up = 0 }
}
#define OPEN_VIEW (valid && GATE(own) == OPEN && above == OPEN)

/* look_again(): when an ancestor had a say, a second walk decides. */
#ifdef M_ONE_LOOK
#define AGAIN(own, seen) false
#else
#ifdef M_STOP_SEEN_AGAIN /* only when the first one says that a stop is under way */
#define AGAIN(own, seen) ((seen) == STOPPING && (own) == IDLE)
#else
#define AGAIN(own, seen) ((seen) != (own) && (seen) != GONE)
#endif
#endif
inline look_again(x) {
  look(x);
  if :: AGAIN(STATE(own), seen) -> look(x) :: else fi
}

/* TreeCore::state(). It asks for no gate: once it is decided what is seen, nothing further up matters. */
inline see() {
  atomic { own = STATE(word[who]); seen = OWN(own); up = who };
  do
  :: up > ROOT && seen == NONE -> atomic { up--; seen = BELOW(seen, word[up], own) }
  :: else -> break
  od;
  atomic { seen = (STATE(word[who]) == GONE -> GONE : DECIDED(seen, own)); up = 0 }
}
proctype Observer(byte who) {
  byte own, seen, up;
  atomic { watched = who; moments = 1 << all[who] };
  see();
  if :: AGAIN(own, seen) -> see() :: else fi;
  atomic { assert(moments & (1 << seen)); watched = NONE; moments = 0; own = 0; seen = 0 }
}

/* ---- Verbs: tree/verbs.cpp --------------------------------------------------------------------------------------- */

inline leave(op, cascade) {
  atomic { if :: done -> control!op(x, cascade) :: else fi; closing = false; users-- }
}

/* close_for_stop() */
inline stop(x) {
  do
  :: look(x);
     if
     :: valid && cascade && GATE(own) == STOP_SELF && STATE(own) == STOPPED && above == OPEN -> /* widens */
        replace(x, own, WORD(1 - EPOCH(own), STOP_TREE, STOPPED))
     :: OPEN_VIEW -> replace(x, own, WITH(own, (cascade -> STOP_TREE : STOP_SELF), STOPPING))
     :: else -> done = false; break
     fi;
     if :: done -> break :: else fi
  od;
  leave(stop_op, cascade)
}

/* close_for_delete() */
inline terminate(x) {
  do
  :: look(x);
     if
     :: !valid || GATE(own) == TERMINATE || above == TERMINATE -> done = false; break
     :: else ->
        ok = (door[x] == EPOCH(own)); /* mailbox::is_closed() */
        if
        :: STATE(own) == IDLE && above != OPEN -> replace(x, own, WITH(own, TERMINATE, STOPPING)) /* X13 */
        :: STATE(own) == IDLE && above == OPEN -> replace(x, own, WITH(own, TERMINATE, TERMINATING))
#ifdef M_DELETE_OVER_STOP_BELOW
        :: STATE(own) == STOPPED && ok -> replace(x, own, WITH(own, TERMINATE, TERMINATING))
#else /* if it was stopped alone, what lies below may be stopping because of one above */
        :: STATE(own) == STOPPED && ok && !(GATE(own) == STOP_SELF && above != OPEN) ->
           replace(x, own, WITH(own, TERMINATE, TERMINATING))
#endif
        :: else -> replace(x, own, WITH(own, TERMINATE, STATE(own)))
        fi;
        if :: done -> break :: else fi
     fi
  od;
  leave(terminate_op, true)
}

/* open_for_resume() */
inline resume(x) {
  do
  :: look(x);
     if
     :: valid && STATE(own) == STOPPED && GATE(own) != TERMINATE && above == OPEN ->
        ok = (door[x] == EPOCH(own));
        if :: ok -> replace(x, own, WITH(own, OPEN, IDLE)) :: else -> done = false; break fi;
        if :: done -> cascade = (GATE(own) == STOP_TREE); door[x] = NONE; break :: else fi
     :: else -> done = false; break
     fi
  od;
  leave(resume_op, cascade)
}

/* A verb on an agent: one that the configuration asks for, or (0) whichever. As those may do anything, it does not
   matter who gets the lock first: `later` of them come later. */
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
#ifdef CONF_SEEN_RESUMED
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

/* ---- The loop thread: tree/settler_walk.cpp, tree/settler_finish.cpp --------------------------------------------- */

#define HAS_CHILD(x) (x < LEAF && STATE(word[x + 1]) != GONE)
#define UNSETTLED(x) (x < LEAF && counted[x + 1])
#define SETTLED(x) (walked[x] && busy != x && !UNSETTLED(x))

/* Settler::is_deleted_above() */
#define DELETED_ABOVE(x) ((x != ROOT && deleting[ROOT]) || (x == LEAF && deleting[CHILD]))

/* Settler::skips() */
inline look_for_skip(x) {
  atomic {
    w = word[x];
    if
    :: x == root -> skips = !cascade
    :: x != root && (verb == terminate_op || GATE(w) == TERMINATE) -> skips = (walked[x] && delete_walked[x])
    :: else -> skips = (CLOSES(w) && (walked[x] || STATE(w) == STOPPED))
    fi;
    w = 0
  }
}

/* What lies below has stopped, too, or sees the same delete further up. If not, it still has to be seen to stop. */
#ifdef M_MARKED_TOO_SOON
#define ALL_STOPPED(x, w) (STATE(w) == STOPPED)
#else
#define ALL_STOPPED(x, w) (STATE(w) == STOPPED && GATE(w) != TERMINATE && door[x] == EPOCH(w))
#endif

/* Settler::walk_down(): one step of it. */
inline mark() {
  x = cursor;
  look_for_skip(x);
  cursor = (!skips && HAS_CHILD(x) -> x + 1 : NONE);
  if
  :: x != root && (walked[x] || skips) -> skip
  :: else ->
     look_again(x);
     if
     :: seen == STOPPING || seen == TERMINATING ->
        w = word[x];
        do
        :: STATE(w) == seen || (STATE(w) != IDLE && !(seen == TERMINATING && ALL_STOPPED(x, w))) -> break
        :: else ->
           after = WITH(w, MAX(GATE(w), (seen == TERMINATING -> TERMINATE : STOP_TREE)), seen);
           replace(x, w, after);
           if :: done -> break :: else -> w = word[x] fi
        od
     :: else
     fi
  fi;
  if :: cursor == NONE -> marking = false; cursor = root; descending = true :: else fi
}

/* Settler::walk_one() and visit(): `next` is who may be settled then. */
inline walk_one() {
  x = cursor;
  look_for_skip(x);
  if
  :: descending && !skips && HAS_CHILD(x) -> cursor = x + 1
  :: else ->
     atomic {
       descending = false;
       cursor = (x == root -> NONE : x - 1);
       w = word[x];
       delete_walked[x] = (delete_walked[x] || verb == terminate_op);
       deleting_above = (verb == terminate_op);
       if
       :: walked[x] && x != root -> counted[x] = true
       :: !walked[x] && x != root && verb == stop_op && STATE(w) == STOPPED ->
          walked[x] = (UNSETTLED(x) || counted[x]);
          counted[x] = walked[x];
          if :: SETTLED(x) -> next = x :: else fi
       :: else ->
          if :: x != root && !direct[x] -> by_parent[x] = (STATE(w) <= STOPPING) :: else fi;
          walked[x] = true;
          if :: SETTLED(x) -> next = x :: x != root && !SETTLED(x) -> counted[x] = true :: else fi
       fi;
       w = 0
     }
  fi
}

/* Settler::write_stopped() */
inline write_stopped(x) {
  do
  :: w = word[x];
     assert(STATE(w) != TERMINATING);
     door[x] = EPOCH(w);
     after = WITH(w, (GATE(w) == OPEN -> STOP_TREE : GATE(w)), STOPPED);
     replace(x, w, after);
     if :: done -> break :: else fi
  od
}

/* Settler::remove() and AgentTable::erase() */
inline remove(x) {
  do
  :: w = word[x]; replace(x, w, WITH(w, TERMINATE, TERMINATING)); if :: done -> break :: else fi
  od;
  atomic {
    word[x] = WORD(0, OPEN, GONE);
    check_seen(x);
    deleting[x] = false; direct[x] = false; by_parent[x] = false;
    if /* step_aside() */
    :: x == cursor ->
       descending = false;
       cursor = (x == root -> NONE : (marking || verb == resume_op -> root : x - 1))
    :: else
    fi
  }
}

/* Settler::finish_upwards() and finish() */
inline finish_upwards() {
  do
  :: next != NONE ->
     x = next;
     atomic { was_counted = counted[x]; counted[x] = false; walked[x] = false; delete_walked[x] = false };
     going = (deleting_above || deleting[x]);
     own_word = word[x];
     look_again(x);
     if
     :: seen == STOPPING -> write_stopped(x)
     :: else -> if :: STATE(own_word) == STOPPED -> door[x] = EPOCH(own_word) :: else fi /* it may have been widened */
     fi;
     if :: going && !HAS_CHILD(x) -> remove(x) :: else -> direct[x] = going fi;
     atomic {
       next = NONE;
       if
       :: going && STATE(word[x]) != GONE -> counted[x] = was_counted
       :: was_counted && !(going && STATE(word[x]) != GONE) && SETTLED((x - 1)) ->
          next = x - 1; deleting_above = (deleting_above && DELETED_ABOVE((x - 1)))
       :: else
       fi;
       own_word = 0; was_counted = false; going = false; w = 0
     }
  :: else -> break
  od
}

/* Settler::resume_down(): one step of it, and resume_one() */
inline resume_down() {
  look(root);
  x = cursor;
  cursor = NONE;
  if
  :: valid && !CLOSES(own) && above == OPEN ->
     w = word[x];
     if
     :: x == root -> by_parent[x] = false; done = true
     :: x != root && !by_parent[x] -> done = !CLOSES(w)
     :: else ->
        if
        :: STATE(w) == STOPPED && GATE(w) != TERMINATE ->
           replace(x, w, WITH(w, OPEN, IDLE));
           if :: done -> by_parent[x] = false; door[x] = NONE :: else fi
        :: else -> done = false
        fi
     fi;
     if :: done && cascade && HAS_CHILD(x) -> cursor = x + 1 :: else fi
  :: else
  fi
}

/* Settler::start() */
inline start() {
  atomic {
    if
    :: STATE(word[x]) != GONE ->
       if
       :: op != resume_op -> by_parent[x] = false; direct[x] = true; deleting[x] = (op == terminate_op)
       :: else
       fi;
       jobs!op(x, all_below)
    :: else
    fi
  }
}

inline check_end(x) {
  assert(STATE(word[x]) == IDLE || STATE(word[x]) == STOPPED || STATE(word[x]) == GONE);
  assert(all[x] == STATE(word[x])); /* nobody open below a closed gate */
  assert(!walked[x] && !counted[x] && !deleting[x])
}

proctype Loop() {
  LOCALS;
  bool walked[3], delete_walked[3], counted[3], deleting[3], direct[3], by_parent[3]; /* of Node */
  byte busy = NONE;   /* has a call that has not let go */
  bool shows;         /* somebody watches states: hub_.wants_states() */
  mtype op, verb;     /* verb, root, cascade, marking, cursor, descending: the job whose walk is under way */
  byte x, root = NONE, cursor = NONE, next = NONE, own_word;
  bool all_below, cascade, marking, descending, skips, deleting_above, was_counted, going;
#if defined(CONF_SEEN_ALONE) || defined(CONF_SEEN_RESUMED)
  if :: busy = LEAF :: skip fi;
#endif
  if :: shows = true :: skip fi;
  do
  :: if
     :: atomic { control?op, x, all_below -> start() }
     :: atomic {
          root == NONE && nempty(jobs) -> jobs?verb, root, cascade;
          if
          :: STATE(word[root]) != GONE -> cursor = root; marking = (shows && verb != resume_op); descending = true
          :: else -> root = NONE /* its jobs went with it */
          fi
        }
     :: cursor != NONE && verb == resume_op -> resume_down()
     :: cursor != NONE && verb != resume_op && marking -> mark()
     :: cursor != NONE && verb != resume_op && !marking -> walk_one()
     :: busy != NONE ->
        atomic { /* let_go() */
          x = busy; busy = NONE; deleting_above = DELETED_ABOVE(x);
          if :: SETTLED(x) -> next = x :: else fi
        }
     :: users == 0 && empty(control) && empty(jobs) && root == NONE && busy == NONE -> break
     fi;
     finish_upwards();
     atomic {
       if :: cursor == NONE -> root = NONE; verb = 0; cascade = false; descending = false; marking = false :: else fi;
       after = 0; x = 0; op = 0; all_below = false; skips = false; deleting_above = false;
       own = 0; w = 0; above = 0; seen = 0; valid = false; done = false
     }
  od;
  atomic { check_end(ROOT); check_end(CHILD); check_end(LEAF) }
}

init {
  atomic {
#ifdef CONF_SEEN /* two verbs, and an observer of the leaf */
    users = 2; run Observer(LEAF);
#endif
#ifdef CONF_SEEN_CHILD /* the same of the child */
    users = 2; run Observer(CHILD);
#endif
#ifdef CONF_SEEN_ALONE /* a stop without the children, and two verbs */
    users = 3; run User(2, stop_op, CHILD, false);
#endif
#ifdef CONF_SEEN_RESUMED /* a stop, and two verbs, of which one may be a resume */
    users = 3; run User(2, stop_op, ROOT, true);
#endif
    run User(1, 0, 0, false); run User(0, 0, 0, false); run Loop()
  }
}
