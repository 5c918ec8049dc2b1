/* The porch, searched exhaustively by spin: host code is called at one place, from an outbox. The loop thread changes state
   and appends entries; other threads stop, interrupt, pause and steer; and the host's code, which the entries call, does the
   same within its callbacks. Why: docs/design/porch.md. Run it with scripts/check-model, which knows the configurations (-DCONF_...) and the mutants (-DM_...).

   What must hold: each fact is delivered once, in the order of causes, unless the tree was closed. After a stop or an
   interrupt that was quiet, no beginning, no delta and no change to a working state is delivered, and after a pause no
   beginning. Nothing of a turn is delivered before its TurnStarted or after its TurnEnded, and nothing at all after the end
   of the tree. The outbox is empty when the outermost step returns. A stopper finds a call that began before it looked. A
   turn goes on or ends, whatever was refused. */

#include "fields.pml"

mtype = { stop_op, resume_op, interrupt_op, unpause_op };
chan control = [5] of { mtype, byte, byte }; /* ControlQueue: verb, agent, and an epoch */

/* Entries of the outbox: facts, then those that ask for admission when they are drained. The phases of turns wait in a queue
   of their own, and run when the outbox is empty: `go_on` is the next phase, `begin` one that starts a model call or a tool
   call. */
mtype = { turn_started, call_ended, tool_ended, turn_ended, discarded, state_stopping, state_stopped, settled, other_fact,
          steered, delta, state_waiting, state_idle, begin, go_on };
/* Kind, agent, turn; and the number of a fact, or whether a delta has only a view of its text. */
#ifdef CONF_PORCH_THROWN
#define ENTRIES 12
#else
#define ENTRIES 8
#endif
chan outbox = [ENTRIES] of { mtype, byte, byte, byte };
chan phases = [3] of { mtype, byte, byte, byte };
#ifdef M_FRONT_APPENDED /* what a step within a callback appends goes before what waits */
chan front = [6] of { mtype, byte, byte, byte };
#define HAS_DELIVERIES (len(outbox) + len(front) > 0)
#define PUSH(k, x, t, v) if :: kind != 0 && !IS_PHASE(kind) -> front!k(x, t, v) :: else -> outbox!k(x, t, v) fi
#else
#define HAS_DELIVERIES (len(outbox) > 0)
#define PUSH(k, x, t, v) outbox!k(x, t, v)
#endif
#define EMPTY (!HAS_DELIVERIES && len(phases) == 0)
#define IS_PHASE(k) ((k) == begin || (k) == go_on)
#define IS_FACT(k) ((k) != delta && (k) != state_waiting && (k) != state_idle && (k) != begin && (k) != go_on)

/* What the configurations have: threads are in init. */
#if defined(CONF_PORCH_NESTED)
#define ACTS 2
#define ACT_CREATE
#define ACT_OUTCOME
#define ACT_STOP
#elif defined(CONF_PORCH_CLOSE)
#define ACTS 1
#define ACT_CLOSE
#elif defined(CONF_PORCH_PAUSE) || defined(CONF_PORCH_PARKED)
#define ACTS 1
#define ACT_PAUSE
#elif defined(CONF_PORCH_STEER)
#define ACTS 1
#define ACT_STEER
#elif defined(CONF_PORCH_REWIND)
#define ACTS 2
#define ACT_REWIND
#define ACT_INTERRUPT
#elif defined(CONF_PORCH_THROWN)
#define ACTS 1
#define ACT_STOP
#else
#define ACTS 1
#define ACT_STOP
#define ACT_INTERRUPT
#endif

#if defined(CONF_PORCH_NESTED) || defined(CONF_PORCH_THROWN)
#define HAS_CHILD true
#else
#define HAS_CHILD false
#endif

/* Phase of a turn. */
#define ASKED 1
#define CALLING 2
#define ANSWERED 3
#define ACTING 4
#define RUNNING 5
#define DONE 6

#define READ_OP 1
#define VISIT 2
#define BEGIN_TURN 3
#define OUTCOME 4
#define DELTA 5
#define LATE 6
#define SETTLE 7
#define LEFT_OVER 8
#define RELEASE 9

#define OUTSIDE 0 /* no step is on the stack */
#define STEP 1
#define DRAIN 2
#define INSIDE 3  /* the client or the tool of `running` is on the stack */

#define MAY_BEGIN(x) (mail[x] > 0 && !turn[x] && !stopping[x] && STATE(packed[x]) == IDLE && GATE(packed[x]) == OPEN && \
   !PAUSED(packed[x]) && !CLOSES(packed[P]) && !PAUSED(packed[P]))
#define ANSWERS(x) (op[x] && sent[x])
#define STREAMS(x) (deltas > 0 && op[x] && sent[x] && phase[x] == CALLING)
#define SETTLES(x) (stopping[x] && !turn[x] && left[x] == 0)
#define RELEASES (box_used && !box_locked && !turn[P])

#define BOTH 3 /* AgentTable::several_agents() */
#define QUIET(x) (active_agent != x && active_agent != BOTH && (x == C || active_agent == NONE))

/* Of the loop thread. */
bool over;            /* Life: the tree is closed */
bool turn[2], parked[2];
bool op[2], cut[2];   /* Operations: registered, and its stop token */
bool sent[2];         /* its client or tool has begun */
bool told[2];         /* ToolStarted was delivered, and ToolEnded is not appended yet */
bool stopping[2];     /* the operation of a stop was read, and it has not settled */
byte phase[2], turn_no[2], turn_epoch[2], mail[2], left[2];
byte reported[2];     /* Node::reported */
byte visit = NONE;    /* Scheduler::agent_pass_ */
byte mine = NONE;     /* the agent of the outermost step */
byte running = NONE;  /* the agent whose client or tool is on the stack */
byte acts = ACTS;     /* what the host's code still does within callbacks */
byte deltas = 1;      /* that clients still deliver */

/* Ghost. */
bool closed[2], soon_closed[2];      /* a stop of it has returned, and no resume since; soon: when the action is over */
bool is_still[2], soon_still[2];     /* the same of a pause */
byte ended_epoch[2], soon_ended[2];  /* an interrupt ended the turns up to this epoch */
bool passed[2];                      /* a stop has looked for the calls of it */
byte appended, delivered;            /* facts, modulo 4 */
byte first_of[2], last_of[2];        /* the turn whose TurnStarted and TurnEnded was delivered last */
bool tool_open[2], settled_told[2], view_valid, thrown;

#define LOCALS short own, w; byte above; bool ok, done
#define FORGET own = 0; w = 0; above = 0; ok = false; done = false

/* core::admits_turn() */
inline admits(x) {
  look(x);
  ok = (!over && OPEN_VIEW && EPOCH(own) == turn_epoch[x])
}
/* core::withheld() */
inline withheld(x) {
  done = PAUSED(packed[x]);
  if :: x == C && !done -> done = PAUSED(packed[P]) :: else fi
}

/* EventHub::emit(), emit_delta(), emit_working_state(), Porch::append_phase() */
inline append(k, x) {
  if
#ifndef M_CLOSED_APPENDS
  :: over -> skip
#endif
  :: else ->
     if
     :: IS_FACT(k) -> appended = (appended + 1) % 4; PUSH(k, x, turn_no[x], appended)
     :: IS_PHASE(k) -> phases!k(x, turn_no[x], 0)
     :: else -> PUSH(k, x, turn_no[x], 0)
     fi
  fi
}

/* ActiveAgentGuard: `y` within what is published already */
#define ADD(a, b) ((a) == NONE -> (b) : ((b) == NONE || (a) == (b) -> (a) : BOTH))
#define ON_STACK ADD(mine, running)

inline action_over() {
  closed[P] = closed[P] || soon_closed[P]; soon_closed[P] = false;
  closed[C] = closed[C] || soon_closed[C]; soon_closed[C] = false;
  is_still[P] = is_still[P] || soon_still[P]; soon_still[P] = false;
  ended_epoch[P] = MAX(ended_epoch[P], soon_ended[P]);
  ended_epoch[C] = MAX(ended_epoch[C], soon_ended[C])
}

/* What is delivered of a turn. */
#define IN_TURN(x, n) assert(first_of[x] == (n) && last_of[x] != (n))
inline check_open(x, n) {
  assert(!over && !settled_told[x] && !closed[x] && !closed[P]);
  assert(turn_epoch[x] > ended_epoch[x]);
  IN_TURN(x, n)
}

/* EventHub::deliver() */
inline deliver_fact() {
  assert(!over);
  delivered = (delivered + 1) % 4;
  assert(number == delivered); /* once, and in the order of causes */
  assert(!settled_told[x] || kind == other_fact || kind == state_stopping);
  if
  :: kind == turn_started -> assert(first_of[x] == last_of[x]); first_of[x] = n
  :: kind == turn_ended -> IN_TURN(x, n); assert(!tool_open[x]); last_of[x] = n
  :: kind == call_ended -> IN_TURN(x, n)
  :: kind == tool_ended -> IN_TURN(x, n); assert(tool_open[x]); tool_open[x] = false
  :: kind == state_stopping -> /* EventHub::change_between() */
     assert(reported[x] == IDLE || reported[x] == WAITING || reported[x] == STOPPED);
     reported[x] = STOPPING; settled_told[x] = false
  :: kind == state_stopped -> assert(reported[x] == STOPPING); reported[x] = STOPPED
  :: kind == settled -> settled_told[x] = true
  :: else
  fi
}

/* TurnEnds::end(): the turn is taken out, and what is reported of its end is appended. A call that was sent stays registered
   until its outcome, one that was not is closed. */
inline end_turn(x) {
  atomic {
#ifdef M_END_UNPAIRED
    told[x] = false;
#endif
    if :: told[x] -> append(tool_ended, x) :: else fi;
#ifdef M_END_AT_ONCE
    IN_TURN(x, turn_no[x]); last_of[x] = turn_no[x];
#else
    append(turn_ended, x);
#endif
    append(state_idle, x);
    left[x] = left[x] + (op[x] && sent[x]);
    turn[x] = false; op[x] = false; sent[x] = false; cut[x] = false; told[x] = false; parked[x] = false; phase[x] = 0
  }
}

/* ---- Code of the host: an observer, a client, a tool. What it does within a callback is quiet. ---- */

inline observe() {
  if
  :: true
#ifdef ACT_STOP
  :: acts > 0 && !over && STOP_ALLOWED(packed[P], true) ->
     acts--;
     lock(closing); /* Verbs::stop() */
     atomic {
       if
       :: STOP_ALLOWED(packed[P], true) ->
          packed[P] = AFTER_STOP(packed[P], true); control!stop_op(P, 0);
          closed[P] = true; cut[P] = op[P]; cut[C] = op[C]; passed[P] = true; passed[C] = true
       :: else
       fi;
       closing = false
     }
#endif
#ifdef ACT_INTERRUPT
  :: acts > 0 && !over && turn[P] -> /* TurnVerbs::interrupt_turn() */
     acts--;
     atomic {
       if
       :: INTERRUPT_ALLOWED(packed[P]) ->
          control!interrupt_op(P, EPOCH(packed[P]) + 1); ended_epoch[P] = EPOCH(packed[P]);
          packed[P] = AFTER_INTERRUPT(packed[P], false)
       :: else
       fi
     }
#endif
#ifdef ACT_REWIND
  :: acts > 0 && !over && turn[P] -> /* ConversationVerbs::rewind(): ends the turn at once */
     acts--;
     atomic {
       if
       :: INTERRUPT_ALLOWED(packed[P]) -> ended_epoch[P] = EPOCH(packed[P]); packed[P] = AFTER_INTERRUPT(packed[P], false)
       :: else
       fi
     };
     end_turn(P)
#endif
#ifdef ACT_PAUSE
  :: acts > 0 && !over && turn[P] && !PAUSED(packed[P]) -> /* PauseVerbs::pause(); Unpauser() ends it */
     acts--;
     atomic { packed[P] = AFTER_PAUSE(packed[P], true); is_still[P] = true }
#endif
#ifdef ACT_CLOSE
  :: acts > 0 && !over -> /* TreeCore::end() */
     acts--;
     atomic {
       over = true;
#if !defined(M_CLOSED_DRAINS) && !defined(M_CLOSED_KEEPS)
       clear_outbox()
#endif
     }
#endif
#ifdef ACT_CREATE
  :: acts > 0 && !over -> acts--; append(other_fact, P)
#endif
#ifdef ACT_OUTCOME /* a client that delivers the answer of another agent's call within any callback */
  :: acts > 0 && !over && kind != go_on && op[C] && sent[C] -> acts--; event = OUTCOME; y = C
  :: acts > 0 && !over && kind != go_on && STREAMS(C) -> acts--; deltas--; event = DELTA; y = C
#endif
#ifdef ACT_STEER
  :: acts > 0 && !over -> acts--; steer(1)
#endif
  fi
}
inline clear_outbox() {
  do
  :: len(outbox) > 0 -> outbox?_, _, _, _
  :: len(phases) > 0 -> phases?_, _, _, _
  :: else -> break
  od
}

/* ---- Steered messages: as in steer.pml ---- */

#define REFUSED 1
#define TAKEN 2
bool box_locked, in_box[2], box_cuts, box_used; /* mailbox::SteerBox */
bool processing;  /* the state of P within its turn: waiting_llm or processing */
byte current = 1; /* the call that is open, or the next one */
byte verdict[2], fates[2];
bool voided, uncut, call_sent; /* of the current call: see steer.pml */

inline steer(m) {
  lock(box_locked);
  atomic { in_box[m] = true; box_used = true };
  atomic {
    if
    :: STATE(packed[P]) != WAITING || GATE(packed[P]) != OPEN -> verdict[m] = REFUSED; in_box[m] = false
    :: else ->
       verdict[m] = TAKEN;
       if :: !processing -> box_cuts = true; voided = true :: else fi
    fi
  };
  atomic {
    if
    :: verdict[m] == TAKEN && box_cuts ->
       if :: op[P] -> found = current :: else -> uncut = uncut || (voided && !call_sent) fi
    :: else
    fi;
    box_locked = false
  };
  atomic {
    if :: found != 0 && found == current && op[P] -> assert(voided); cut[P] = true :: else fi;
    found = 0
  }
}

/* The fate of every message in the box: ModelCalls::write_steered(), or release_steered() and return_steered(). */
inline take_all(delivers) {
  if
  :: box_used ->
     lock(box_locked);
     atomic {
       if :: in_box[0] -> in_box[0] = false; fates[0]++; append(steered, P) :: else fi;
       if :: in_box[1] -> in_box[1] = false; fates[1]++; append(steered, P) :: else fi;
       box_used = false; box_cuts = false;
       if :: delivers -> voided = false; uncut = false :: else fi;
       box_locked = false
     }
  :: else
  fi
}
#define IS_CUT (box_used && box_cuts)

/* ---- The steps of the loop thread: they change state and append. ---- */

/* Scheduler::step(), TurnRunner::claim() and begin() */
inline begin_turn(x) {
  own = packed[x];
  done = (GATE(own) == OPEN && STATE(own) == IDLE && MAY_TAKE(own));
  if :: x == C && done -> done = (!CLOSES(packed[P]) && !PAUSED(packed[P])) :: else fi;
  if
  :: done && reported[x] != IDLE -> append(state_idle, x) /* Scheduler::prepare_step() */
  :: else
  fi;
  if
  :: done ->
     atomic {
       w = packed[x];
       if
       :: BEGIN_ALLOWED(w, EPOCH(own)) ->
          packed[x] = AFTER_BEGIN(w); turn_epoch[x] = EPOCH(w) + 1;
          mail[x]--; turn[x] = true; turn_no[x]++; phase[x] = ASKED;
          append(turn_started, x); append(state_waiting, x); append(go_on, x)
       :: else
       fi
     }
  :: else
  fi
}

/* TurnEnds::leave() */
inline complete(x) {
  atomic {
    ok = STEP_ALLOWED(packed[x], turn_epoch[x], WAITING);
    if :: ok -> packed[x] = AFTER_STEP(packed[x], IDLE) :: else fi
  };
  end_turn(x)
}

#define IS_CURRENT (turn[x] && turn_no[x] == n) /* the turn of the entry has not ended */

/* TurnRunner::run_step(): one phase of a turn that was admitted. */
inline run_step(x) {
  if
  :: phase[x] == ASKED ->
     withheld(x);
     if
     :: done -> parked[x] = true
     :: else ->
#ifdef CONF_PORCH_STEER
        take_all(true);
#endif
        phase[x] = CALLING;
#ifndef M_ASKED_BEFORE_REGISTERED
        op[x] = true; /* Operations::open() */
#endif
        append(begin, x)
     fi
  :: phase[x] == ANSWERED ->
#ifdef CONF_PORCH_STEER
     atomic { /* TurnRunner::leave_call() */
       ok = STEP_ALLOWED(packed[x], turn_epoch[x], WAITING);
       if :: ok -> processing = true :: else fi
     };
     if
#ifndef M_ANSWER_UNASKED
     :: ok && IS_CUT ->
        atomic { processing = false; phase[x] = ASKED; current++; call_sent = false; append(go_on, x) }
#endif
     :: else ->
        assert(!ok || !voided);
        complete(x)
     fi
#else
     atomic { phase[x] = ACTING; append(go_on, x) }
#endif
  :: phase[x] == ACTING ->
     observe(); /* ToolPolicy, which stays in mid-step */
#ifdef M_MIDSTEP_UNASKED
     ok = true;
#else
     ok = IS_CURRENT;
     if :: ok -> admits(x) :: else fi;
#endif
     if :: ok -> withheld(x) :: else fi;
     if
     :: !ok -> if :: IS_CURRENT -> end_turn(x) :: else fi
     :: ok && done -> parked[x] = true
     :: else ->
        phase[x] = RUNNING;
#ifndef M_ASKED_BEFORE_REGISTERED
        op[x] = true;
#endif
        append(begin, x)
     fi
  :: phase[x] == DONE -> complete(x)
  :: else
  fi
}

#ifdef M_NESTED_NOT_CONTINUED /* the step that is on the stack goes on with the turn of its own agent alone */
#define CONTINUE(z) if :: mine == NONE || mine == (z) -> append(go_on, z) :: else fi
#else
#define CONTINUE(z) append(go_on, z)
#endif

/* ModelCalls::on_outcome(), CallEnds::take_result() */
inline outcome(x) {
  atomic { op[x] = false; sent[x] = false; cut[x] = false };
  admits(x);
  atomic {
    if
    :: !ok -> end_turn(x); append(discarded, x)
    :: ok && phase[x] == CALLING -> append(call_ended, x); phase[x] = ANSWERED; CONTINUE(x)
    :: ok && phase[x] == RUNNING -> append(tool_ended, x); told[x] = false; phase[x] = DONE; CONTINUE(x)
    fi
  }
}

/* ModelCalls::on_delta(). The text is not copied if this step, which is not within the callback of an entry, delivers it
   before it returns. */
inline take_delta(x, is_outer) {
  admits(x);
  atomic {
    if
    :: ok && turn[x] && !over ->
       view_valid = is_outer;
#ifdef M_VIEW_KEPT
       PUSH(delta, x, turn_no[x], true)
#else
       PUSH(delta, x, turn_no[x], (is_outer && EMPTY))
#endif
    :: else /* Operation::late_deltas */
    fi
  }
}

/* AgentSettler::write_stopped() */
inline settle(x) {
#ifdef CONF_PORCH_STEER
  take_all(false); /* return_steered() */
#endif
  do
  :: own = packed[x];
     w = AFTER_SETTLE(own); replace(x, own, w);
     if :: done -> break :: else fi
  od;
  atomic { stopping[x] = false; mail[x] = 0; append(state_stopped, x); append(settled, x) }
}

/* Settler::start(), of an agent that another stop has not settled */
inline start_stop(x) {
  atomic {
    if
    :: !stopping[x] && STATE(packed[x]) != STOPPED ->
       stopping[x] = true;
       if :: turn[x] -> end_turn(x) :: else fi;
       append(state_stopping, x)
    :: else
    fi
  }
}

/* TreeCore::run_second_halves(), one operation */
inline read_op() {
  if
  :: verb == stop_op ->
     start_stop(y);
     if :: HAS_CHILD && y == P -> start_stop(C) :: else fi
  :: verb == resume_op -> append(state_idle, y)
  :: verb == interrupt_op -> if :: turn[y] && turn_epoch[y] < arg -> end_turn(y) :: else fi
  :: verb == unpause_op -> visit = P
  fi
}

#ifdef M_THROWN_DROPS
#define THROWN_CLEARS clear_outbox();
#else
#define THROWN_CLEARS
#endif

/* ---- The porch ---- */

inline pop() {
  if
  :: IS_PHASE(kind) -> phases?_, _, _, _
#ifdef M_FRONT_APPENDED
  :: !IS_PHASE(kind) && len(front) > 0 -> front?_, _, _, _
  :: !IS_PHASE(kind) && len(front) == 0 -> outbox?_, _, _, _
#else
  :: else -> outbox?_, _, _, _
#endif
  fi
}

inline drain_fact() {
#ifdef M_FACT_DROPPED
  if :: kind == call_ended -> admits(x) :: else -> ok = true fi;
  if :: ok -> deliver_fact(); pop() :: else -> pop() fi;
#else
  atomic { deliver_fact(); pop() };
#endif
  observe()
}

inline drain_delta() {
  pop();
  ok = IS_CURRENT;
#ifndef M_DELTA_UNASKED
  if :: ok -> admits(x) :: else fi;
#endif
  if
  :: ok -> atomic { check_open(x, n); assert(!number || view_valid) }; observe()
  :: else /* Operation::late_deltas */
  fi
}

/* Porch::state() */
inline drain_state() {
  pop();
  if
  :: kind == state_waiting ->
     ok = IS_CURRENT;
#ifndef M_STATE_UNASKED
     if :: ok -> admits(x) :: else fi
#endif
  :: else -> look(x); ok = (OPEN_VIEW && STATE(own) == IDLE && reported[x] != IDLE)
  fi;
  if
  :: ok && kind == state_waiting ->
     atomic { check_open(x, n); assert(reported[x] == IDLE); reported[x] = WAITING };
     observe()
  :: ok && kind == state_idle ->
     atomic {
       assert(!closed[x] && !closed[P]);
       assert(reported[x] == WAITING || reported[x] == STOPPED);
       reported[x] = IDLE; settled_told[x] = false
     };
     observe()
  :: else
  fi
}

inline drain_go_on() {
  pop();
  if
  :: IS_CURRENT ->
     admits(x);
     if :: ok -> run_step(x) :: else -> end_turn(x) fi
  :: else
  fi
}

/* Begin::asks(), tell() and start(), or refused(). ToolStarted is delivered, and then it is asked once more. */
inline drain_begin() {
  if
#ifndef M_ENDED_TWICE
  :: !IS_CURRENT -> pop() /* its turn has ended meanwhile */
#endif
  :: else ->
     admits(x);
     if :: ok -> withheld(x) :: else fi;
#ifdef M_OWNER_PUBLISHED_LATE
     active_agent = ADD(ON_STACK, x);
#endif
#ifdef M_BEGIN_UNASKED
     ok = true; done = false;
#endif
#ifdef M_PAUSE_UNASKED
     if :: told[x] -> done = false :: else fi;
#endif
#ifdef M_TOLD_UNASKED
     if :: told[x] -> ok = true; done = false :: else fi;
#endif
     if
     :: !ok ->
        pop(); end_turn(x);
#ifdef M_REFUSED_REGISTERED
        op[x] = true
#endif
     :: ok && done -> /* the turn is parked in the phase before */
        atomic {
          pop(); op[x] = false; parked[x] = true;
#ifndef M_PARKED_AS_CALLING
          phase[x] = (phase[x] == RUNNING -> ACTING : ASKED);
#endif
#ifdef M_TOLD_TWICE
          told[x] = false
#endif
        }
#if defined(CONF_PORCH_STEER) && !defined(M_SENT_UNASKED)
     :: ok && !done && IS_CUT -> /* ModelCalls::withdraw() */
        atomic { pop(); op[x] = false; phase[x] = ASKED; current++; append(go_on, x) }
#endif
     :: ok && !done && phase[x] == RUNNING && !told[x] ->
        atomic { told[x] = true; check_open(x, n); assert(!tool_open[x]); tool_open[x] = true };
        observe()
     :: else ->
#ifdef M_ASKED_BEFORE_REGISTERED
        op[x] = true;
#endif
        atomic {
          pop();
          assert(running == NONE); /* one after the other */
          check_open(x, n);
          assert(!is_still[x] && !is_still[P]);
          assert(cut[x] || !(passed[x] || passed[P])); /* the stopper has found it */
          assert(!uncut); call_sent = true;
          sent[x] = true; running = x; mode = INSIDE
        }
     fi
  fi
}

inline leave() {
  assert(EMPTY);
  mine = NONE; active_agent = NONE; action_over()
}

/* Nothing is left to do. */
inline check_end() {
  atomic {
    assert(EMPTY && (over || (!op[P] && !op[C])));
    assert(over || (delivered == appended && !turn[P] && !turn[C] && left[P] + left[C] == 0));
    assert(over || (first_of[P] == turn_no[P] && last_of[P] == turn_no[P]));
    assert(over || (first_of[C] == turn_no[C] && last_of[C] == turn_no[C]));
    assert(over || (reported[P] == STATE(packed[P]) && !tool_open[P] && !tool_open[C]));
    assert(over || PAUSED(packed[P]) || (mail[P] == 0 && mail[C] == 0));
#ifdef CONF_PORCH_STEER
    assert(!box_used && fates[0] == (verdict[0] == TAKEN) && fates[1] == (verdict[1] == TAKEN))
#endif
  }
}

proctype Loop() {
  LOCALS;
  mtype verb, kind;
  byte mode, event, arg, n, number, found;
  byte x = NONE; /* the agent of the entry that is delivered */
  byte y = NONE; /* that of the step */
  do
  :: mode == OUTSIDE -> atomic {
       if
       :: !over && len(control) > 0 -> control?verb, y, arg; event = READ_OP
       :: !over && visit != NONE -> y = visit; visit++; event = VISIT
       :: !over && MAY_BEGIN(P) -> y = P; event = BEGIN_TURN
       :: !over && MAY_BEGIN(C) -> y = C; event = BEGIN_TURN
       :: !over && ANSWERS(P) -> y = P; event = OUTCOME
       :: !over && ANSWERS(C) -> y = C; event = OUTCOME
       :: !over && STREAMS(P) -> deltas--; y = P; event = DELTA
       :: !over && left[P] > 0 -> y = P; event = LATE
       :: !over && left[C] > 0 -> y = C; event = LATE
       :: !over && SETTLES(C) -> y = C; event = SETTLE
       :: !over && SETTLES(P) && !stopping[C] -> y = P; event = SETTLE
       :: !over && !EMPTY -> event = LEFT_OVER
       :: !over && RELEASES -> event = RELEASE
       :: users == 0 && (over || (len(control) == 0 && visit == NONE && !MAY_BEGIN(P) && !MAY_BEGIN(C) && !ANSWERS(P) && \
          !ANSWERS(C) && left[P] + left[C] == 0 && !stopping[P] && !stopping[C] && EMPTY && !RELEASES)) -> break
       :: timeout -> assert(false); break /* something waits for ever */
       fi;
       mode = STEP
     };
     if
     :: event == BEGIN_TURN || event == OUTCOME || event == DELTA || event == LATE -> mine = y
     :: else
     fi

  :: mode == STEP ->
     if
     :: event >= BEGIN_TURN && event <= LATE -> active_agent = ADD(ADD(ON_STACK, x), y)
     :: else
     fi;
     if
     :: event == READ_OP -> read_op()
     :: event == VISIT -> /* ParkedTurns::go_on() */
        if
        :: turn[y] && parked[y] -> withheld(y); if :: !done -> parked[y] = false; append(go_on, y) :: else fi
        :: else
        fi
     :: event == BEGIN_TURN -> begin_turn(y)
     :: event == OUTCOME -> outcome(y)
     :: event == DELTA -> take_delta(y, x == NONE)
     :: event == LATE -> atomic { left[y]--; append(discarded, y) }
     :: event == SETTLE -> settle(y)
     :: event == RELEASE -> take_all(false)
     :: event == LEFT_OVER
     fi;
     atomic {
       active_agent = ON_STACK; mode = DRAIN;
#ifdef CONF_PORCH_THROWN
       /* an exception passes the step: it does not drain */
       if
       :: mine != NONE && event != DELTA && !thrown ->
          thrown = true; THROWN_CLEARS
          if
          :: x != NONE -> skip /* within a callback */
          :: x == NONE && running != NONE -> mode = INSIDE
          :: else -> mode = OUTSIDE; mine = NONE; active_agent = NONE; action_over()
          fi
       :: true
       fi;
#endif
       verb = 0; event = 0; arg = 0; y = NONE; x = NONE; kind = 0; FORGET
     }

  :: mode == DRAIN -> /* Porch::drain() */
     if
#ifdef M_CLOSED_DRAINS
     :: EMPTY -> mode = (running == NONE -> OUTSIDE : INSIDE)
     :: !EMPTY ->
#else
     :: EMPTY || over -> mode = (running == NONE -> OUTSIDE : INSIDE)
     :: !EMPTY && !over ->
#endif
        if
#ifdef M_FRONT_APPENDED
        :: len(front) > 0 -> front?<kind, x, n, number>
        :: len(front) == 0 && len(outbox) > 0 -> outbox?<kind, x, n, number>
#else
        :: HAS_DELIVERIES -> outbox?<kind, x, n, number>
#endif
#ifdef M_NESTED_BEGINS
        :: !HAS_DELIVERIES -> phases?<kind, x, n, number>
#else
        :: !HAS_DELIVERIES && running == NONE -> phases?<kind, x, n, number>
        :: !HAS_DELIVERIES && running != NONE -> mode = INSIDE /* no phase within the client or the tool */
#endif
        fi;
        if
        :: mode == INSIDE
        :: mode == DRAIN && IS_FACT(kind) ->
           drain_fact()
        :: mode == DRAIN && !IS_FACT(kind) ->
#if !defined(M_OWNER_UNPUBLISHED) && !defined(M_OWNER_PUBLISHED_LATE)
           active_agent = ADD(ON_STACK, x); /* who asks for admission publishes first */
#endif
           if
           :: kind == delta -> drain_delta()
           :: kind == state_waiting || kind == state_idle -> drain_state()
           :: kind == go_on -> drain_go_on()
           :: kind == begin -> drain_begin()
           fi
        fi
     fi;
     atomic {
       active_agent = ON_STACK;
       if
       :: event != 0 -> mode = STEP /* within the callback */
       :: else -> kind = 0; x = NONE
       fi;
       if :: mode == INSIDE || mode == OUTSIDE -> view_valid = false :: else fi;
       if :: mode == OUTSIDE -> leave() :: else fi;
       n = 0; number = 0; FORGET
     }

  :: mode == INSIDE ->
     if
     :: atomic { running = NONE; active_agent = ON_STACK; mode = DRAIN } /* it returns */
     :: acts > 0 -> observe(); mode = (event != 0 -> STEP : DRAIN)
     :: atomic { !over && left[running] > 0 -> y = running; event = LATE; mode = STEP }
     :: atomic { !over && ANSWERS(running) -> y = running; event = OUTCOME; mode = STEP }
     :: atomic { !over && STREAMS(running) -> deltas--; y = running; event = DELTA; mode = STEP }
#ifdef CONF_PORCH_NESTED
     :: atomic { !over && running == P && ANSWERS(C) -> y = C; event = OUTCOME; mode = STEP }
     :: atomic { !over && running == P && STREAMS(C) -> deltas--; y = C; event = DELTA; mode = STEP }
#endif
     fi
  od;
  check_end()
}

/* ---- Other threads ---- */

/* Verbs::stop() of x with its subtree, and perhaps Verbs::resume() */
proctype Stopper(byte x; bool resumes) {
  LOCALS;
  if
  :: true
  :: goto no_stop /* a turn that no verb would end has to end by itself */
  fi;
  lock(closing);
  do
  :: look(x);
     if
     :: over || above != OPEN || !STOP_ALLOWED(own, true) -> w = 0; break
     :: else -> w = AFTER_STOP(own, true); replace(x, own, w); if :: done -> break :: else fi
     fi
  od;
  atomic { if :: done -> control!stop_op(x, 0) :: else fi; closing = false };
  if
  :: done ->
     atomic { if :: QUIET(x) -> closed[x] = true :: else -> soon_closed[x] = true fi };
     atomic { cut[x] = op[x]; if :: x == P -> cut[C] = op[C] :: else fi; passed[x] = true } /* cut_closed_below() */
  :: else
  fi;
  if
  :: resumes ->
     if
     :: STATE(packed[x]) == STOPPED
     :: over
     fi;
     lock(closing);
     atomic {
       own = packed[x];
       if
       :: STATE(own) == STOPPED && !over ->
          packed[x] = AFTER_RESUME(own); closed[x] = false; soon_closed[x] = false; passed[x] = false; passed[C] = false;
          control!resume_op(x, 0)
       :: else
       fi;
       closing = false
     }
  :: else
  fi;
no_stop:
  atomic { users--; FORGET }
}

/* TurnVerbs::interrupt_turn() */
proctype Interrupter(byte x) {
  LOCALS;
  do
  :: look(x);
     if
     :: !over && OPEN_VIEW && INTERRUPT_ALLOWED(own) ->
        w = AFTER_INTERRUPT(own, false); replace(x, own, w);
        if :: done -> break :: else fi
     :: else -> break
     fi
  od;
  if
  :: done ->
     atomic { if :: QUIET(x) -> ended_epoch[x] = EPOCH(own) :: else -> soon_ended[x] = EPOCH(own) fi };
     control!interrupt_op(x, EPOCH(own) + 1)
  :: else
  fi;
  atomic { users--; FORGET }
}

/* PauseVerbs::pause() and unpause(): each is one change of a bit. */
inline unpause(x) {
  atomic {
    if
    :: PAUSED(packed[x]) ->
       packed[x] = AFTER_PAUSE(packed[x], false); is_still[x] = false; soon_still[x] = false; control!unpause_op(x, 0)
    :: else
    fi
  }
}
proctype Pauser(byte x) {
  packed[x] = AFTER_PAUSE(packed[x], true);
  atomic {
    if
    :: !PAUSED(packed[x]) /* another thread has unpaused it */
    :: PAUSED(packed[x]) && QUIET(x) -> is_still[x] = true
    :: else -> soon_still[x] = true
    fi
  };
  unpause(x);
  users--
}
/* Unpauses what an observer has paused. */
proctype Unpauser(byte x) {
  do
  :: PAUSED(packed[x]) -> unpause(x)
  :: last_of[x] == 1 -> break
  od;
  users--
}

proctype Steerer(byte m) {
  byte found;
  steer(m);
  users--
}

init {
  atomic {
    packed[P] = PACKED(0, 0, OPEN, IDLE);
    packed[C] = PACKED(0, 0, OPEN, IDLE);
#ifdef CONF_PORCH /* a turn, which threads and observers stop and interrupt */
    mail[P] = 1; users = 2;
    run Stopper(P, false); run Interrupter(P);
#endif
#ifdef CONF_PORCH_RESUMED /* the same with a resume, and no interrupt by a thread */
    mail[P] = 2; users = 1;
    run Stopper(P, true);
#endif
#ifdef CONF_PORCH_NEXT /* the turn after an interrupt */
    mail[P] = 2; users = 1;
    run Interrupter(P);
#endif
#ifdef CONF_PORCH_NESTED /* clients that answer within the call, and for another agent */
    mail[P] = 1; mail[C] = 1; users = 1;
    run Stopper(C, false);
#endif
#ifdef CONF_PORCH_CLOSE /* code of the host closes the tree */
    mail[P] = 1; users = 1;
    run Stopper(P, true);
#endif
#ifdef CONF_PORCH_PAUSE /* threads and observers pause */
    mail[P] = 1; users = 2;
    run Pauser(P); run Unpauser(P);
#endif
#ifdef CONF_PORCH_PARKED /* an interrupt of a turn that an observer has paused */
    mail[P] = 1; users = 2;
    run Unpauser(P); run Interrupter(P);
#endif
#ifdef CONF_PORCH_STEER /* a thread and an observer steer into the turn, also now */
    mail[P] = 1; users = 2;
    run Steerer(0); run Stopper(P, false);
#endif
#ifdef CONF_PORCH_REWIND /* an observer ends the turn at once */
    mail[P] = 2; users = 1;
    run Stopper(P, false);
#endif
#ifdef CONF_PORCH_THROWN /* a step that an exception ends does not drain */
    mail[P] = 1; mail[C] = 1; users = 1;
    run Stopper(C, false);
#endif
    run Loop()
  }
}
