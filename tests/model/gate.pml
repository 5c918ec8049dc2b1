/* The gate protocol, searched exhaustively by spin. Why it is built this way: docs/design/gate-protocol.md. Run it
   with scripts/check-model, which knows the configurations (-DCONF_...) and the mutants (-DM_...).

   Rules of the mirror. Each step names the C++ function that it stands for. A statement or an `atomic` block makes
   at most one access to memory that threads share; what rides along in it is private to its thread, or ghost: kept
   for the assertions only. Everything in d_step or in `check_...` is ghost. Letting go of a lock is no step of its
   own: only who waits for it can tell. Memory is sequentially consistent. */

/* ---- Agents: slots P and Q are roots, slot C lies below one of them and is recycled. ---------------------------- */
#define P 0
#define Q 1
#define C 2
#define NONE 3
#define ROOM 2 /* AgentSpec::mailbox_limit */

/* core::Word: state 3 bits, gate 2, epoch 4, generation the rest. */
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
#define EPOCH(w) (((w) >> 5) & 15)
#define GEN(w) ((w) >> 9)
#define WORD(gen, epoch, gate, state) (((gen) << 9) | ((epoch) << 5) | ((gate) << 3) | (state))
#define WITH(w, gate, state) WORD(GEN(w), EPOCH(w), gate, state)
#define NEXT(w, gate, state) WORD(GEN(w), EPOCH(w) + 1, gate, state) /* with next_epoch() */
#define CAN(s) ((s) <= PROCESSING)                                   /* can_process() */
#define CLOSES(w) (GATE(w) >= STOP_TREE)                             /* closes_subtree() */
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* mailbox::Door: the count of waiting messages, or the ticket; a closed bit; the generation. */
#define D_OPEN(gen) ((gen) << 6)
#define D_CLOSED(gen, ticket) (((gen) << 6) | 32 | (ticket))
#define D_GEN(d) ((d) >> 6)
#define D_SHUT(d) (((d) & 32) != 0)
#define D_LOW(d) ((d) & 31)
#define SETTLED_DOOR(x, w) (door[x] == D_CLOSED(GEN(w), EPOCH(w))) /* mailbox::is_closed() */

short word[3];
byte parent[3];
short door[3];
byte stepping = NONE; /* AgentTable::stepping */

/* turn::Flights: calls that are open, two slots, and the mutex. */
bool lock;
byte f_node[2] = NONE;
byte f_gen[2];
byte f_epoch[2];
byte f_serial[2];
byte serials;

bool closing; /* TreeCore::closing_ */

/* ControlQueue: what the verbs leave for the loop. */
mtype = { stop_op, terminate_op, resume_op, abort_op };
chan control = [6] of { mtype, byte, byte, byte }; /* verb, slot, generation; abort: epoch after it, else: cascade */

/* Ghost. */
byte life[3];       /* which agent really lies in the slot */
byte mother[4];     /* of the agent with that life in slot C */
byte resumes[3];    /* how often it was resumed */
byte stops[3];      /* stops that executed since then */
bool returned[3];   /* a stop or delete of it returned, nobody resumed it since */
bool quiet[3];      /* the same, and it said `quiet` */
bool watched;       /* somebody observes states: hub_.wants_states() */
byte accepted, handled, dropped;
byte users; /* foreign threads still at work */

#define ALIVE(x) (STATE(word[x]) != FREE)
#define ABOVE(x) ((parent[x]) == NONE -> OPEN : (CLOSES(word[parent[x]]) -> GATE(word[parent[x]]) : OPEN))
#define STATE_ABOVE(x) ((parent[x]) == NONE -> IDLE : STATE(word[parent[x]]))
/* core::look() with seen_below(): own state `s`, below a gate `g` and a state `a`. There is one ancestor at most. */
#define SEEN(s, g, a) ((g) == OPEN || (s) == STOPPING || (s) == TERMINATING -> (s) : \
   ((a) == TERMINATING -> TERMINATING : (CAN(s) -> STOPPING : (s))))
#define SEEN_NOW(x) SEEN(STATE(word[x]), ABOVE(x), STATE_ABOVE(x)) /* by everyone, all in one moment */
/* is_allowed(), but for gone. */
#define ALLOWED(from, to) ((from) == (to) || (CAN(from) && (to) != STOPPED) || \
   ((from) == STOPPING && (to) == STOPPED) || ((from) == STOPPED && ((to) == IDLE || (to) == TERMINATING)))

/* Locals of every thread that looks. */
#define LOCALS short own, w, after; byte up, above, seen, seen_life, now; \
   bool valid, ok, done, is_quiet; own = 0

#define FORGET own = 0; w = 0; above = 0; seen = 0; valid = false

/* Node::replace(): the compare-and-set. Every change follows the table of states (B13), but that what lies below a
   closed gate need not be written `stopping` first: it is seen so already. */
inline store(x, desired) {
  atomic {
    assert(ALLOWED(STATE(word[x]), STATE(desired)) ||
           (ABOVE(x) != OPEN && CAN(STATE(word[x])) && STATE(desired) == STOPPED));
    word[x] = desired
  }
}
inline replace(x, expected, desired) {
  atomic {
    done = (word[x] == (expected));
    if :: done -> store(x, desired) :: else fi
  }
}

/* core::look() and, with the epoch compared by the caller, core::admits(). */
inline look(x, gen) {
  atomic { own = word[x]; seen_life = life[x]; valid = false; above = OPEN; seen = STATE(own) };
  if
  :: GEN(own) == (gen) && STATE(own) != FREE ->
#ifndef M_NO_ANCESTORS
     if
     :: x == C ->
        up = parent[x];
        atomic { w = word[up]; if :: CLOSES(w) -> above = GATE(w); seen = SEEN(seen, above, STATE(w)) :: else fi }
     :: else /* a root: its parent is the trunk, for good, and the trunk is not modelled */
     fi;
#endif
     atomic {
#ifdef M_NO_FINAL_CHECK
       valid = true;
#else
       valid = (GEN(word[x]) == (gen));
#endif
#ifndef M_NO_ANCESTORS
       if :: valid && x == C -> assert(up == mother[seen_life]) :: else fi; /* it saw its own ancestors, alive */
#endif
       w = 0; up = 0; seen_life = 0
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
inline open_door(x, gen, ticket) {
  atomic {
    if
#ifdef M_OPEN_WITHOUT_TICKET
    :: D_SHUT(door[x]) && D_GEN(door[x]) == (gen) ->
#else
    :: door[x] == D_CLOSED(gen, ticket) ->
#endif
       door[x] = D_OPEN(gen);
       assert(ALIVE(x) && GEN(word[x]) == (gen) && STATE(word[x]) != STOPPED) /* never one that a later stop closed */
    :: else
    fi
  }
}

/* mailbox::close(): an exchange; what it got out is dropped. */
inline close_door(x, ticket) {
  atomic {
    if :: !D_SHUT(door[x]) -> dropped = dropped + D_LOW(door[x]) :: else fi;
    door[x] = D_CLOSED(GEN(word[x]), ticket)
  }
}

#define PUT(x) accepted++; assert(life[x] == mine && ALIVE(x)) /* never to an agent that lies there later */

#ifdef M_DOOR_WITHOUT_GENERATION
#define OTHERS(d, gen) false
#else
#define OTHERS(d, gen) (D_GEN(d) != (gen)) /* !belongs_to() */
#endif

/* TreeCore::send() with mailbox::push() */
inline send(x, gen, mine) {
  skip;
again:
  look(x, gen);
  if
  :: OPEN_VIEW ->
     d = door[x];
     do
     :: OTHERS(d, gen) -> break /* gone */
     :: !OTHERS(d, gen) && D_SHUT(d) && D_LOW(d) >= EPOCH(own) -> FORGET; goto again /* closed */
     :: !OTHERS(d, gen) && D_SHUT(d) && D_LOW(d) < EPOCH(own) ->
        open_door(x, gen, D_LOW(d)); d = door[x] /* a resume, whose thread has not opened the door yet */
     :: !OTHERS(d, gen) && !D_SHUT(d) ->
        if
        :: D_LOW(d) >= ROOM -> break /* full */
        :: else ->
#ifdef M_PUSH_IGNORES_DOOR
           atomic { PUT(x); if :: !D_SHUT(door[x]) -> door[x] = door[x] + 1 :: else fi; break }
#else
           atomic { if :: door[x] == d -> door[x] = d + 1; PUT(x); break :: else -> d = door[x] fi }
#endif
        fi
     od
  :: else
  fi;
  FORGET; d = 0
}

/* ---- Verbs, first halves: tree/verbs.cpp -------------------------------------------------------------------------- */

/* Stop, resume and terminate: one at a time, from the first look to the operation that is left for the loop. */
inline enter() {
#ifdef M_STEPPING_READ_FIRST
  now = stepping;
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

/* TreeCore::is_quiet(): read after the gate was closed. */
inline read_stepping() {
#ifdef M_QUIET_ALWAYS
  is_quiet = true
#else
#ifndef M_STEPPING_READ_FIRST
  now = stepping;
#endif
  if
  :: now == NONE -> is_quiet = true
  :: else -> is_quiet = (now != x && parent[now] != x) /* is_within() */
  fi
#endif
}

/* A stop never ends a call that was started after it, by an agent that is open again. */
#define LIVE_CALL(s) (f_node[s] != NONE && GATE(word[f_node[s]]) == OPEN && ABOVE(f_node[s]) == OPEN && \
   EPOCH(word[f_node[s]]) == f_epoch[s])
inline check_cut(serial) {
  d_step {
    assert(!(f_serial[0] == serial && LIVE_CALL(0)));
    assert(!(f_serial[1] == serial && LIVE_CALL(1)))
  }
}

/* Flights::cut_closed_below(): looks under the lock, triggers outside. */
inline cut_below(x) {
  byte slot, caught; bool within;
  atomic { !lock -> lock = true };
  slot = 0; caught = 0;
  do
  :: slot < 2 && caught == 0 ->
     if
     :: f_node[slot] != NONE ->
        within = (f_node[slot] == x || parent[f_node[slot]] == x);
        if
        :: within ->
           look(f_node[slot], f_gen[slot]);
#ifdef M_CUT_UNASKED
           caught = f_serial[slot]
#else
           if :: !OPEN_VIEW -> caught = f_serial[slot] :: else fi /* is_closed() */
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

/* A stop or delete returns: after leave(), with what it says of the stepping loop. */
inline returns(subtree) {
  if
  :: done ->
     read_stepping();
#ifdef CONF_CUT
     cut_below(x); /* only there can the agent be open again before the cut */
#endif
     atomic {
       users--;
       if
       :: life[x] == mine && resumes[x] == since && subtree -> returned[x] = true; quiet[x] = quiet[x] || is_quiet
       :: else
       fi
     }
  :: else -> users--
  fi
}

/* TreeCore::stop() and close_for_stop() */
proctype Stopper(byte x; byte gen; bool cascade) {
  LOCALS;
  byte since, mine;
  bool widens; /* a stop of the whole subtree of what was stopped without it */
  mine = 1;
  enter();
  do
  :: look(x, gen);
     widens = (valid && cascade && GATE(own) == STOP_SELF && STATE(own) == STOPPED && above == OPEN);
     if
     :: OPEN_VIEW || widens ->
        atomic {
          after = NEXT(own, (cascade -> STOP_TREE : STOP_SELF), (widens -> STOPPED : STOPPING));
#ifdef M_STOP_BY_STORE
          done = true; word[x] = after; /* and without the lock */
#else
          replace(x, own, after);
#endif
          if
          :: done ->
             stops[x] = (widens -> 1 : stops[x] + 1);
             assert(stops[x] == 1 && life[x] == mine); /* C12, and never the agent that lies there later */
             since = resumes[x]
          :: else
          fi
        };
        if :: done -> break :: else fi
     :: else -> done = false; break /* join() */
     fi
  od;
  leave(stop_op, cascade);
  returns(cascade)
}

/* TreeCore::terminate() and close_for_delete() */
proctype Terminator(byte x; byte gen) {
  LOCALS;
  byte since, mine;
  mine = 1;
  enter();
  do
  :: look(x, gen);
     if
     :: !valid || GATE(own) == TERMINATE || above == TERMINATE -> done = false; break
     :: else ->
        ok = SETTLED_DOOR(x, own);
        atomic {
          if
          :: CAN(STATE(own)) && above != OPEN -> after = NEXT(own, TERMINATE, STOPPING) /* the stop goes first (X13) */
          :: CAN(STATE(own)) && above == OPEN -> after = NEXT(own, TERMINATE, TERMINATING)
          :: STATE(own) == STOPPED && ok && (GATE(own) != STOP_SELF || above == OPEN) ->
             after = WITH(own, TERMINATE, TERMINATING)
          :: STATE(own) == STOPPED && !(ok && (GATE(own) != STOP_SELF || above == OPEN)) ->
             after = WITH(own, TERMINATE, STOPPED) /* what lies below may be stopping */
#ifdef M_DELETE_OVERTAKES_STOP
          :: STATE(own) == STOPPING -> after = WITH(own, TERMINATE, TERMINATING)
#else
          :: STATE(own) == STOPPING -> after = WITH(own, TERMINATE, STOPPING)
#endif
          fi;
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

/* TreeCore::resume() and open_for_resume() */
inline resumed(x) {
  resumes[x]++; stops[x] = 0; returned[x] = false; quiet[x] = false
}
proctype Resumer(byte x; byte gen) {
  LOCALS;
  bool cascade;
#ifdef CONF_CUT
  STATE(word[x]) == STOPPED; /* sooner it would be refused, and change nothing */
#endif
  enter();
  do
  :: look(x, gen);
     if
     :: valid && STATE(own) == STOPPED && GATE(own) != TERMINATE && above == OPEN ->
#ifndef M_RESUME_WIDENED
        if :: SETTLED_DOOR(x, own) -> skip :: else -> done = false; break fi; /* widened, and not settled again yet */
#endif
        atomic {
          after = NEXT(own, OPEN, IDLE);
          replace(x, own, after);
          if :: done -> resumed(x); cascade = (GATE(own) == STOP_TREE) :: else fi
        };
        if :: done -> break :: else fi
     :: else -> done = false; break
     fi
  od;
  if :: done -> open_door(x, gen, EPOCH(own)) :: else fi;
  leave(resume_op, cascade);
  users--
}

/* TreeCore::abort(): its compare-and-set and its operation are two steps, and no lock is around them. */
proctype Aborter(byte x; byte gen) {
  LOCALS;
  byte mine;
  mine = 1;
  do
  :: look(x, gen);
     if
     :: OPEN_VIEW && STATE(own) == WAITING ->
        atomic {
          after = NEXT(own, OPEN, IDLE);
          replace(x, own, after);
          if :: done -> assert(life[x] == mine) :: else fi
        };
        if :: done -> break :: else fi
     :: else -> done = false; break
     fi
  od;
  atomic { users--; if :: done -> control!abort_op(x, gen, EPOCH(after)) :: else fi }
}

proctype Sender(byte x; byte gen) {
  LOCALS;
  short d;
  byte mine;
  mine = 1;
  send(x, gen, mine);
  users--
}

#if defined(CONF_CREATE) || defined(CONF_RECYCLE) || defined(CONF_RECYCLE_BUSY)
#define BIRTHS 1 /* how often the host creates an agent in slot C */
#else
#define BIRTHS 0
#endif

#include "loop.pml"
#include "configurations.pml"
