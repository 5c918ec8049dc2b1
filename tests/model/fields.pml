/* core::PackedState with the fields for pause, hold and stop grade, and two agents: C lies below P. For pause.pml,
   later_stop.pml and interrupt.pml. A turn has one state here, waiting_llm: no verb of these models distinguishes it from
   `processing`. The rules of the mirror are those of gate.pml. */

#define P 0
#define C 1
#define NONE 2

/* State 3 bits, gate 2, grade 2, pause, hold; the epoch is the rest, and does not wrap. */
#define IDLE 0
#define WAITING 1
#define STOPPING 3
#define STOPPED 4
#define TERMINATING 5
#define OPEN 0
#define STOP_SELF 1
#define STOP_TREE 2
#define TERMINATE 3
#define AFTER_TURN 1 /* core::Grade */
#define AFTER_STEP_GRADE 2
#define PAUSE 128
#define HOLD 256
#define STATE(w) ((w) & 7)
#define GATE(w) (((w) >> 3) & 3)
#define GRADE(w) (((w) >> 5) & 3)
#define PAUSED(w) (((w) & PAUSE) != 0)
#define HELD(w) (((w) & HOLD) != 0)
#define EPOCH(w) ((w) >> 9)
#define FIELDS(w) ((w) & (PAUSE | HOLD | 96))
#define PACKED(epoch, fields, gate, state) (((epoch) << 9) | (fields) | ((gate) << 3) | (state))
#define WITH(w, gate, state) PACKED(EPOCH(w), FIELDS(w), gate, state)
#define NEXT(w, gate, state) PACKED(EPOCH(w) + 1, FIELDS(w), gate, state)
#define WIDENED(w) NEXT(w, STOP_TREE, STOPPED)
#define UNGRADED(w) ((w) & ~96)
#define CAN(s) ((s) <= WAITING)
#define CLOSES(w) (GATE(w) >= STOP_TREE)
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* core::Withheld */
#define NOTHING 0
#define TURNS 1
#define STEPS 2
#define ALL 3
#define WITHHELD_BY(w) (PAUSED(w) -> ALL : GRADE(w)) /* withheld_by() */
#define MAY_TAKE(w) (!HELD(w) && WITHHELD_BY(w) == NOTHING)

#define HAS_FIELDS
#include "transitions.pml"

short packed[2];
byte active_agent = NONE; /* AgentTable::active_agent */
bool closing;             /* TreeShared::closing */
bool changing;            /* TreeShared::pausing, or AgentTable::erasing() */
byte users;               /* other threads still at work */

inline lock(mutex) { atomic { !mutex -> mutex = true } }

/* Node::replace() */
inline replace(x, expected, desired) {
  atomic {
    done = (packed[x] == (expected));
    if :: done -> packed[x] = desired :: else fi
  }
}

/* core::look() */
inline look(x) {
  own = packed[x];
  if
  :: x == C -> atomic { w = packed[P]; above = (CLOSES(w) -> GATE(w) : OPEN); w = 0 }
  :: else -> above = OPEN
  fi
}
#define OPEN_VIEW (GATE(own) == OPEN && above == OPEN)

/* TreeShared::is_quiet(), read after the verb took effect. */
#define IS_QUIET(x) (active_agent != x && (x == C || active_agent == NONE))
