/* The gate protocol, searched exhaustively by spin. Why it is built this way: docs/design/gate-protocol.md. Run it
   with scripts/check-model, which knows the configurations (-DCONF_...) and the mutants (-DM_...).

   Rules of the mirror. Each step names the C++ function that it stands for. A statement or an `atomic` block makes
   at most one access to memory that threads share; what rides along in it is private to its thread, or ghost: kept
   for the assertions only. Everything in d_step or in `check_...` is ghost. To release a lock is no step of its own: only
   a thread that waits for it notices. Memory is sequentially consistent. */

/* ---- Agents: slots P and Q are roots, slot C lies below one of them and is recycled. ---------------------------- */
#define P 0
#define Q 1
#define C 2
#define NONE 3
#define ROOM 2 /* AgentLimits::mailbox */

/* core::PackedState: state 3 bits, gate 2, epoch 4, generation the rest. EPOCH_MASK below 15 makes the epoch wrap. */
#ifdef CONF_HEAD_WRAP
#define EPOCH_MASK 7
#else
#define EPOCH_MASK 15
#endif
#define IDLE 0
#define WAITING 1
#define PROCESSING 2
#define STOPPING 3
#define STOPPED 4
#define TERMINATING 5
#define FREE 7
#define OPEN 0
#define STOP_SELF 1
#define STOP_TREE 2
#define TERMINATE 3
#define STATE(w) ((w) & 7)
#define GATE(w) (((w) >> 3) & 3)
#define EPOCH(w) (((w) >> 5) & EPOCH_MASK)
#define GEN(w) ((w) >> 9)
#define PACKED(gen, epoch, gate, state) (((gen) << 9) | ((epoch) << 5) | ((gate) << 3) | (state))
#define WITH(w, gate, state) PACKED(GEN(w), EPOCH(w), gate, state)
#define NEXT(w, gate, state) PACKED(GEN(w), (EPOCH(w) + 1) & EPOCH_MASK, gate, state) /* with next_epoch() */
#define WIDENED(w) NEXT(w, STOP_TREE, STOPPED)
#define CAN(s) ((s) <= PROCESSING)                                   /* can_process() */
#define CLOSES(w) (GATE(w) >= STOP_TREE)                             /* closes_subtree() */
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#include "transitions.pml"

/* mailbox::Head: the count of waiting messages, or the ticket; a closed bit; the generation. */
#define HEAD_OPEN(gen) ((gen) << 6)
#define HEAD_CLOSED(gen, ticket) (((gen) << 6) | 32 | (ticket))
#define HEAD_GEN(d) ((d) >> 6)
#define HEAD_IS_CLOSED(d) (((d) & 32) != 0)
#define HEAD_LOW(d) ((d) & 31)
#define IS_SETTLED(x, w) (head[x] == HEAD_CLOSED(GEN(w), EPOCH(w))) /* mailbox::is_closed() */

short packed[3];
#ifdef CONF_CLOSE
short sentinel = PACKED(1, 0, OPEN, IDLE); /* AgentTable::root_sentinel(), the parent of the roots */
#endif
byte parent[3];
short head[3]; /* Node::mailbox_head */
byte active_agent = NONE; /* AgentTable::active_agent */

/* turn::Flights: model calls in flight, two slots, and the mutex. */
bool lock;
byte op_node[2] = NONE;
byte op_gen[2];
byte op_epoch[2];
byte op_serial[2];
byte serials;

bool closing; /* TreeShared::closing */

/* ControlQueue: what the verbs leave for the loop. */
mtype = { stop_op, terminate_op, resume_op, abort_op };
chan control = [6] of { mtype, byte, byte, byte }; /* verb, slot, generation; abort: epoch after it, else: cascade */

/* Ghost. */
byte life[3];       /* which agent really lies in the slot */
byte true_parent[4];     /* of the agent with that life in slot C */
byte resumes[3];    /* how often it was resumed */
byte stops[3];      /* stops that executed since then */
bool returned[3];   /* a stop or delete of it returned, and no resume of it since */
bool quiet[3];      /* the same, and it said `quiet` */
bool watched;       /* the host observes states: hub_.wants_states() */
#ifdef CONF_CLOSE
bool closed;        /* TreeCore::close() has returned */
#define CLOSED closed
#define SENTINEL_GATE GATE(sentinel)
#else
#define CLOSED false
#define SENTINEL_GATE OPEN
#endif
byte accepted, handled, dropped;
byte users; /* foreign threads still at work */

#define ALIVE(x) (STATE(packed[x]) != FREE)
#define PARENT_GATE(x) ((parent[x]) == NONE -> OPEN : (CLOSES(packed[parent[x]]) -> GATE(packed[parent[x]]) : OPEN))
#define ABOVE(x) (SENTINEL_GATE == TERMINATE -> TERMINATE : PARENT_GATE(x))
#define STATE_ABOVE(x) ((parent[x]) == NONE -> IDLE : STATE(packed[parent[x]]))
/* core::look() with effective_below(): own state `s`, below a gate `g` and a state `a` of the one ancestor. What the
   closed sentinel imposes is left out: nothing asks for a state of a closed tree. */
#define EFFECTIVE(s, g, a) ((g) == OPEN || (s) == STOPPING || (s) == TERMINATING -> (s) : \
   ((a) == TERMINATING -> TERMINATING : (CAN(s) -> STOPPING : (s))))
#define EFFECTIVE_NOW(x) EFFECTIVE(STATE(packed[x]), PARENT_GATE(x), STATE_ABOVE(x)) /* all read in one moment */
/* is_allowed(), but for gone. */
#define ALLOWED(from, to) ((from) == (to) || (CAN(from) && (to) != STOPPED) || \
   ((from) == STOPPING && (to) == STOPPED) || ((from) == STOPPED && ((to) == IDLE || (to) == TERMINATING)))

/* Locals of every thread that looks. */
#define LOCALS short own, w, after; byte up, above, effective, life_then, now; \
   bool valid, ok, done, is_quiet, after_close; own = 0; after_close = CLOSED

#define FORGET own = 0; w = 0; above = 0; effective = 0; valid = false
/* A thread ends. What is left in its locals would tell apart states that are the same. */
#define END users--; FORGET; after = 0; now = 0; ok = false; done = false; is_quiet = false; after_close = false

/* Node::replace(): the compare-and-set. Every change follows the state table (B13), except that an agent below a
   closed gate need not be written `stopping` first: that is its effective state already. */
inline store(x, desired) {
  atomic {
    assert(ALLOWED(STATE(packed[x]), STATE(desired)) ||
           (ABOVE(x) != OPEN && CAN(STATE(packed[x])) && STATE(desired) == STOPPED));
    packed[x] = desired
  }
}
inline replace(x, expected, desired) {
  atomic {
    done = (packed[x] == (expected));
    if :: done -> store(x, desired) :: else fi
  }
}

/* core::look() and, with the epoch compared by the caller, core::admits(). */
inline look(x, gen) {
  atomic { own = packed[x]; life_then = life[x]; valid = false; above = OPEN; effective = STATE(own) };
  if
  :: GEN(own) == (gen) && STATE(own) != FREE ->
#ifndef M_NO_ANCESTORS
     if
     :: x == C ->
        up = parent[x];
        atomic { w = packed[up]; if :: CLOSES(w) -> above = GATE(w); effective = EFFECTIVE(effective, above, STATE(w)) :: else fi }
     :: else /* a root: its parent is the sentinel, for good */
     fi;
#if defined(CONF_CLOSE) && !defined(M_CLOSE_UNREAD)
     atomic { w = sentinel; if :: CLOSES(w) -> above = MAX(above, GATE(w)) :: else fi };
#endif
#endif
     atomic {
#ifdef M_NO_FINAL_CHECK
       valid = true;
#else
       valid = (GEN(packed[x]) == (gen));
#endif
#ifndef M_NO_ANCESTORS
       if :: valid && x == C -> assert(up == true_parent[life_then]) :: else fi; /* it saw its own ancestors, alive */
#endif
       w = 0; up = 0; life_then = 0
     }
  :: else
  fi
}
#define OPEN_VIEW (valid && GATE(own) == OPEN && above == OPEN)

inline admits(x, gen, epoch) {
  look(x, gen);
#ifdef M_NO_EPOCH
  ok = OPEN_VIEW
#else
  ok = (OPEN_VIEW && EPOCH(own) == (epoch))
#endif
}

/* ---- Mailbox ---------------------------------------------------------------------------------------------------- */

/* mailbox::open() */
inline open_head(x, gen, ticket) {
  atomic {
    if
#ifdef M_OPEN_WITHOUT_TICKET
    :: HEAD_IS_CLOSED(head[x]) && HEAD_GEN(head[x]) == (gen) ->
#else
    :: head[x] == HEAD_CLOSED(gen, ticket) ->
#endif
       head[x] = HEAD_OPEN(gen);
       assert(ALIVE(x) && GEN(packed[x]) == (gen) && STATE(packed[x]) != STOPPED) /* never one that a later stop closed */
    :: else
    fi
  }
}

/* mailbox::close(): an exchange; what it got out is dropped. */
inline close_head(x, ticket) {
  atomic {
    if :: !HEAD_IS_CLOSED(head[x]) -> dropped = dropped + HEAD_LOW(head[x]) :: else fi;
    head[x] = HEAD_CLOSED(GEN(packed[x]), ticket)
  }
}

#define PUT(x) accepted++; assert(life[x] == mine && ALIVE(x) && !after_close) /* never to a later agent of the slot */

/* How mailbox::push() tells an older ticket from a newer one. */
#define IS_OLDER(ticket, epoch) (((epoch) - (ticket)) & EPOCH_MASK) <= EPOCH_MASK / 2

#ifdef M_HEAD_WITHOUT_GENERATION
#define OTHERS(d, gen) false
#else
#define OTHERS(d, gen) (HEAD_GEN(d) != (gen)) /* !belongs_to() */
#endif

/* tree::send() with mailbox::push() */
inline send(x, gen, mine) {
  skip;
again:
  look(x, gen);
  if
  :: OPEN_VIEW ->
     d = head[x];
     do
     :: OTHERS(d, gen) -> break /* gone */
     :: !OTHERS(d, gen) && HEAD_IS_CLOSED(d) ->
        ok = (HEAD_LOW(d) != EPOCH(own) && IS_OLDER(HEAD_LOW(d), EPOCH(own)));
#ifndef M_TICKET_BY_AGE
        if :: ok -> ok = (GATE(packed[x]) == OPEN && EPOCH(packed[x]) == EPOCH(own)) :: else fi; /* is_open_in() */
#endif
        if
        :: ok -> open_head(x, gen, HEAD_LOW(d)); d = head[x]; ok = false /* of a resume that has not opened it yet */
        :: else -> FORGET; goto again /* closed */
        fi
     :: !OTHERS(d, gen) && !HEAD_IS_CLOSED(d) ->
        if
        :: HEAD_LOW(d) >= ROOM -> break /* full */
        :: else ->
#ifdef M_PUSH_IGNORES_CLOSE
           atomic { PUT(x); if :: !HEAD_IS_CLOSED(head[x]) -> head[x] = head[x] + 1 :: else fi; break }
#else
           atomic { if :: head[x] == d -> head[x] = d + 1; PUT(x); break :: else -> d = head[x] fi }
#endif
        fi
     od
  :: else
  fi;
  FORGET; d = 0
}

/* ---- Verbs, first halves: tree/stop.cpp ------------------------------------------------------------------------- */
/* Those that the configuration does not run are left out: they would take time to compile. */

/* Stop, resume and terminate: one at a time, from the first look to the operation that is left for the loop. */
inline enter() {
  after_close = CLOSED; /* G1: a verb that begins after a close has no effect */
#ifdef M_ACTIVE_READ_FIRST
  now = active_agent;
#endif
#if defined(M_VERBS_UNLOCKED) || defined(M_STOP_BY_STORE)
  skip
#else
  atomic { !closing -> closing = true }
#endif
}
inline leave(op, cascade) {
#ifdef M_PUSHED_LATE
  closing = false;
  if :: done -> control!op(x, gen, cascade) :: else fi
#else
  atomic { if :: done -> control!op(x, gen, cascade) :: else fi; closing = false }
#endif
}

/* TreeShared::is_quiet(): read after the gate was closed. */
inline read_active_agent() {
#ifdef M_QUIET_ALWAYS
  is_quiet = true
#else
#ifndef M_ACTIVE_READ_FIRST
  now = active_agent;
#endif
  if
  :: now == NONE -> is_quiet = true
  :: else -> is_quiet = (now != x && parent[now] != x) /* is_within() */
  fi
#endif
}

/* A stop never ends a call that was started after it, by an agent that is open again. */
#define LIVE_CALL(s) (op_node[s] != NONE && GATE(packed[op_node[s]]) == OPEN && ABOVE(op_node[s]) == OPEN && \
   EPOCH(packed[op_node[s]]) == op_epoch[s])
inline check_cut(serial) {
  d_step {
    assert(!(op_serial[0] == serial && LIVE_CALL(0)));
    assert(!(op_serial[1] == serial && LIVE_CALL(1)))
  }
}

/* Operations::cut_closed_below(): looks under the lock, triggers outside. */
inline cut_below(x) {
  byte slot, caught; bool within;
  atomic { !lock -> lock = true };
  slot = 0; caught = 0;
  do
  :: slot < 2 && caught == 0 ->
     if
     :: op_node[slot] != NONE ->
        within = (op_node[slot] == x || parent[op_node[slot]] == x);
        if
        :: within ->
           look(op_node[slot], op_gen[slot]);
#ifdef M_CUT_UNASKED
           caught = op_serial[slot]
#else
           if :: !OPEN_VIEW -> caught = op_serial[slot] :: else fi /* is_closed() */
#endif
        :: else
        fi
     :: else
     fi;
     slot++
  :: else -> break
  od;
  lock = false;
  if :: caught != 0 -> check_cut(caught) :: else fi; /* request_stop() */
  atomic { slot = 0; caught = 0; within = false }
}

/* A stop or delete returns: after leave(), with what it says of the active_agent loop. */
inline returns(subtree) {
  if
  :: done ->
     read_active_agent();
#ifdef CONF_CUT
     cut_below(x); /* only there can the agent be open again before the cut */
#endif
     atomic {
       if
       :: life[x] == mine && resumes[x] == since && subtree -> returned[x] = true; quiet[x] = quiet[x] || is_quiet
       :: else
       fi;
       END; since = 0; mine = 0
     }
  :: else -> atomic { END; mine = 0 }
  fi
}

#ifdef CONF_WIDEN /* the verbs in one order: others are in SELF and EFFECTIVE_ALONE */
#define AFTER_A_STOP(x, gate) GATE(packed[x]) == gate
#else
#define AFTER_A_STOP(x, gate) skip
#endif

/* tree::stop() and close_for_stop() */
proctype Stopper(byte x; byte gen; bool cascade) {
  LOCALS;
  byte since, mine;
  bool widens; /* a stop of the whole subtree of what was stopped, or is stopping, without it */
  mine = 1;
  if :: cascade -> AFTER_A_STOP(x, STOP_SELF) :: else fi;
  enter();
  do
  :: look(x, gen);
     widens = STOP_WIDENS(own, cascade);
     if
     :: valid && above == OPEN && STOP_ALLOWED(own, cascade) ->
        atomic {
          after = AFTER_STOP(own, cascade);
#ifdef M_STOP_BY_STORE
          done = true; packed[x] = after; /* and without the lock */
#else
          replace(x, own, after);
#endif
          if
          :: done ->
             stops[x] = (widens -> stops[x] : stops[x] + 1);
             assert(stops[x] == 1 && life[x] == mine); /* C12, and never a later agent of the slot */
             assert(!CLOSED); /* after a close no stop has an effect */
             since = resumes[x]
          :: else
          fi
        };
        if :: done -> break :: else fi
     :: else ->
        atomic {
          /* With its subtree, it finds it closed. So the same holds from here on as after a stop that was quiet. */
          if :: cascade && valid && above == OPEN && active_agent == NONE -> quiet[x] = true :: else fi;
          done = false; break /* wait_for_other() */
        }
     fi
  od;
  widens = false;
  leave(stop_op, cascade);
  returns(cascade)
}

#if defined(CONF_DELETE) || defined(CONF_DELETE_BUSY) || defined(CONF_DELETE_RESUME) || defined(CONF_WIDEN) || \
   defined(CONF_RECYCLE) || defined(CONF_RECYCLE_BUSY)
/* tree::terminate() and close_for_delete() */
proctype Terminator(byte x; byte gen) {
  LOCALS;
  byte since, mine;
  mine = 1;
  AFTER_A_STOP(x, STOP_TREE);
  enter();
  do
  :: look(x, gen);
     if
     :: !valid || !TERMINATE_ALLOWED(own) || above == TERMINATE -> done = false; break
     :: else ->
        ok = IS_SETTLED(x, own);
        atomic {
          after = AFTER_TERMINATE(own, above != OPEN, ok);
#ifdef M_DELETE_BY_STORE
          done = true; store(x, after);
#else
          replace(x, own, after);
#endif
          if :: done -> assert(life[x] == mine); since = resumes[x] :: else fi
        };
        if :: done -> break :: else fi
     fi
  od;
  leave(terminate_op, true);
  returns(true)
}
#endif

/* tree::resume() and open_for_resume() */
inline resumed(x) {
  resumes[x]++; stops[x] = 0; returned[x] = false; quiet[x] = false
}
proctype Resumer(byte x; byte gen) {
  LOCALS;
  bool cascade;
#if defined(CONF_CUT) || defined(CONF_SELF)
  STATE(packed[x]) == STOPPED; /* sooner it would be refused, and change nothing */
#endif
  enter();
  do
  :: look(x, gen);
     if
     :: valid && RESUME_ALLOWED(own, true) && above == OPEN ->
#ifndef M_RESUME_WIDENED
        if :: IS_SETTLED(x, own) -> skip :: else -> done = false; break fi; /* widened, and not settled again yet */
#endif
        atomic {
          after = AFTER_RESUME(own);
          replace(x, own, after);
          if :: done -> resumed(x); cascade = (GATE(own) == STOP_TREE) :: else fi
        };
        if :: done -> break :: else fi
     :: else -> done = false; break
     fi
  od;
  if :: done -> open_head(x, gen, EPOCH(own)) :: else fi;
  leave(resume_op, cascade);
  atomic { END; cascade = false }
}

#if defined(CONF_LATE_ANSWER) || defined(CONF_OLD_CALL)
/* tree::abort(): its compare-and-set and its operation are two steps, and no lock is around them. */
proctype Aborter(byte x; byte gen) {
  LOCALS;
  byte mine;
  mine = 1;
  do
  :: look(x, gen);
     if
     :: valid && above == OPEN && ABORT_ALLOWED(own) ->
        atomic {
          after = AFTER_ABORT(own);
          replace(x, own, after);
          if :: done -> assert(life[x] == mine) :: else fi
        };
        if :: done -> break :: else fi
     :: else -> done = false; break
     fi
  od;
  atomic { if :: done -> control!abort_op(x, gen, EPOCH(after)) :: else fi; END; mine = 0 }
}
#endif

#if defined(CONF_MAIL) || defined(CONF_HEAD) || defined(CONF_HEAD_WRAP) || defined(CONF_CHILD_MAIL) || \
   defined(CONF_RECYCLE) || defined(CONF_CLOSE)
proctype Sender(byte x; byte gen) {
  LOCALS;
  short d;
  byte mine;
  mine = 1;
  after_close = CLOSED;
  send(x, gen, mine);
  atomic { END; mine = 0 }
}
#endif

#if defined(CONF_CREATE) || defined(CONF_RECYCLE) || defined(CONF_RECYCLE_BUSY)
#define BIRTHS 1 /* how often the host creates an agent in slot C */
#else
#define BIRTHS 0
#endif

#include "loop.pml"
#include "configurations.pml"
