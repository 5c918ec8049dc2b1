/* The loop thread of pause.pml and later_stop.pml: it runs the turns of P and C. A turn is a model call, the tool call of its
   answer, and a second model call. Before this is included, a model defines read_op(), harden_next(), check_begin(x, kind),
   action_over(), observe(), DUE (an operation of its own is enabled) and VERBS (of its ControlOps).

   A call that is cut ends at once: what comes late is the subject of gate.pml. */

mtype = { stop_op, resume_op, VERBS };
chan control = [6] of { mtype, byte, byte }; /* ControlQueue: verb, agent, and the epoch or the withdrawals */

/* Phase of a turn. */
#define ASKED 1
#define CALLING 2
#define ACTING 3
#define RUNNING 4

/* Of the loop thread. */
bool turn[2], parked[2], op[2], ready[2], by_parent[2];
bool gone[2]; /* AgentSettler::remove() */
byte phase[2], turn_epoch[2], mail[2];
byte visit = NONE; /* Scheduler::agent_pass_ */

/* Ghost: of the turn, how many model calls and tools have begun, and how many results were taken. */
byte steps[2], tools[2], results[2];
byte turns_over[2]; /* turns that have completed */

#define LOCALS short own, w; byte above, level; bool ok, done
#define FORGET own = 0; w = 0; above = 0; level = 0; ok = false; done = false

/* core::admits_turn() */
inline admits(x, epoch) {
  look(x);
  ok = (OPEN_VIEW && EPOCH(own) == (epoch))
}

/* core::withheld() */
inline withheld(x) {
  level = WITHHELD_BY(packed[x]);
#ifndef M_OWN_ONLY
  if :: x == C -> level = MAX(level, WITHHELD_BY(packed[P])) :: else fi
#endif
}

/* core::may_begin_turn(). Of a pause and of a later stop an ancestor's counts, too. */
inline may_begin_turn(x) {
  own = packed[x];
  ok = (GATE(own) == OPEN && STATE(own) == IDLE && MAY_TAKE(own));
  if
  :: x == C && ok ->
#ifdef M_OWN_ONLY
     ok = !CLOSES(packed[P])
#else
     atomic { w = packed[P]; ok = (!CLOSES(w) && WITHHELD_BY(w) == NOTHING); w = 0 }
#endif
  :: else
  fi
}

/* Scheduler::schedule() and wants_step() */
inline schedule(x) {
  if
  :: mail[x] > 0 && !turn[x] -> may_begin_turn(x); if :: ok -> ready[x] = true :: else fi
  :: else
  fi
}

/* TurnEnds::end(), as refused */
inline end_turn(x) {
  d_step { turn[x] = false; phase[x] = 0; parked[x] = false; op[x] = false; steps[x] = 0; tools[x] = 0; results[x] = 0 }
}

/* Scheduler::step() and begin(), TurnRunner::claim() */
inline step(x) {
  may_begin_turn(x);
  if
  :: ok && mail[x] > 0 ->
     atomic {
       w = packed[x];
       if
       :: BEGIN_ALLOWED(w, EPOCH(own)) ->
          packed[x] = AFTER_BEGIN(w); turn_epoch[x] = EPOCH(w) + 1;
          mail[x]--; turn[x] = true; phase[x] = ASKED;
          check_begin(x, TURNS)
       :: else
       fi;
       w = 0
     }
  :: else
  fi
}

/* ParkedTurns::go_on(), a hint: the turn asks again. */
inline go_on(x) {
  if
  :: turn[x] && parked[x] ->
     withheld(x);
     if :: level < (phase[x] == ACTING -> ALL : STEPS) -> active_agent = x; parked[x] = false :: else fi
  :: else
  fi
}

/* ModelCalls::on_outcome(), CallEnds::take_result() */
inline outcome(x) {
  op[x] = false;
  admits(x, turn_epoch[x]);
  if
  :: !ok -> end_turn(x)
  :: ok && phase[x] == CALLING && steps[x] == 1 -> atomic { results[x]++; phase[x] = ACTING }
  :: ok && phase[x] == RUNNING -> atomic { results[x]++; phase[x] = ASKED }
  :: ok && phase[x] == CALLING && steps[x] == 2 -> /* TurnEnds::end() and leave() */
     results[x]++;
     admits(x, turn_epoch[x]);
     atomic {
       if
       :: ok && STEP_ALLOWED(packed[x], turn_epoch[x], WAITING) ->
          packed[x] = AFTER_STEP(packed[x], IDLE);
          assert(steps[x] == 2 && tools[x] == 1 && results[x] == 3);
          turns_over[x]++
       :: else
       fi
     };
     end_turn(x)
  fi
}

/* Turn::parks() */
inline parks(x, from) {
  withheld(x);
  if :: level >= from -> parked[x] = true :: else fi
}

/* TurnRunner::run_phases() */
inline run_steps(x) {
  do
  :: turn[x] && phase[x] == ASKED && !parked[x] -> /* ModelCalls::start() and send() */
     parks(x, STEPS);
     if
     :: parked[x] -> skip
     :: else ->
        observe();
        op[x] = true; /* Operations::open() */
        admits(x, turn_epoch[x]);
#ifndef M_SENT_UNASKED
        if :: ok -> parks(x, STEPS) :: else fi;
#endif
        if
        :: !ok -> end_turn(x)
        :: ok && parked[x] ->
#ifdef M_PARKED_AS_CALLING
           phase[x] = CALLING;
#endif
           op[x] = false
        :: else ->
           atomic { steps[x]++; check_begin(x, STEPS); phase[x] = CALLING };
           assert(results[x] == steps[x] + tools[x] - 1) /* each step once, and after the result of the last */
        fi
     fi
  :: turn[x] && phase[x] == ACTING && !parked[x] -> /* ToolCalls::run_next() and begin() */
#ifndef M_TOOL_UNASKED
     parks(x, ALL);
#endif
     if
     :: parked[x] -> skip
     :: else ->
        op[x] = true;
        admits(x, turn_epoch[x]);
        if
        :: !ok -> end_turn(x)
        :: ok ->
           atomic { tools[x]++; check_begin(x, ALL); phase[x] = RUNNING };
           assert(results[x] == steps[x] + tools[x] - 1)
        fi
     fi
  :: else -> break
  od
}

/* AgentSettler::settle(), write_stopped() and remove(), of an agent in whose subtree nothing is in flight. */
inline settle(x) {
  end_turn(x);
  do
  :: own = packed[x];
     if
     :: !arg && (STATE(own) == STOPPED || STATE(own) == TERMINATING) -> break
     :: else ->
        if
        :: arg -> w = AFTER_REMOVE(own); replace(x, own, w); gone[x] = done
        :: else -> w = AFTER_SETTLE(own); replace(x, own, w)
        fi;
        if :: done -> mail[x] = 0; ready[x] = false; break :: else fi
     fi
  od
}

/* Settler::start() and run() of a stop, or (`arg`) of a delete, of x with its subtree: children first. */
inline settle_down(x) {
  if
  :: x == P ->
     by_parent[C] = by_parent[C] || (CAN(STATE(packed[C])));
     settle(C)
  :: else -> by_parent[C] = false
  fi;
  settle(x)
}

/* SettleWalk::resume_down() and resume() */
inline resume_down(x) {
  look(x);
  if
  :: OPEN_VIEW && x == P && by_parent[C] ->
     do
     :: own = packed[C];
        if
        :: RESUME_ALLOWED(own, true) ->
           w = AFTER_RESUME(own); replace(C, own, w);
#ifdef M_RESUMED_ONCE
           break /* a pause has changed the packed state meanwhile */
#else
           if :: done -> break :: else fi
#endif
        :: else -> break
        fi
     od;
     by_parent[C] = false
  :: else
  fi
}

#define READ_OP 1
#define VISIT 2
#define STEP 3
#define OUTCOME 4
#define OWN 5
#define REST(x) (!turn[x] || parked[x])

proctype Loop() {
  LOCALS;
  mtype verb;
  byte event, x, arg;
  do
  :: atomic {
       if
       :: control?verb, x, arg -> event = READ_OP
       :: visit != NONE -> x = visit; visit++; event = VISIT
       :: ready[P] -> ready[P] = false; x = P; event = STEP
       :: ready[C] -> ready[C] = false; x = C; event = STEP
       :: op[P] -> x = P; event = OUTCOME
       :: op[C] -> x = C; event = OUTCOME
       :: DUE -> event = OWN
       :: users == 0 && empty(control) && visit == NONE && !ready[P] && !ready[C] && !op[P] && !op[C] && !(DUE) -> break
       fi
     };
#ifdef M_PUBLISHED_LATE
     if :: event == OUTCOME -> active_agent = x :: else fi;
#else
     if :: event == STEP || event == OUTCOME -> active_agent = x :: else fi; /* ActiveAgentGuard, AgentEntry */
#endif
     if
     :: event == READ_OP -> read_op()
     :: event == VISIT -> go_on(x)
     :: event == STEP -> if :: !turn[x] -> step(x) :: else fi
     :: event == OUTCOME -> outcome(x)
     :: event == OWN -> harden_next()
     fi;
#ifdef M_PUBLISHED_LATE
     active_agent = x;
#endif
     if :: event != READ_OP && event != OWN -> run_steps(x); schedule(x) :: else fi;
     atomic {
       active_agent = NONE; action_over();
       event = 0; verb = 0; x = 0; arg = 0; FORGET
     }
  od;
  check_end()
}
