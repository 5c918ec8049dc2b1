/* The loop thread of interrupt.pml: it runs the turns of P and C. */

/* core::is_interrupted() */
inline is_interrupted(x) {
  mark = turn_mark[x];
  hit = (count > mark);
  if
  :: hit ->
     hit = (interrupts[x] > mark);
     if :: !hit && x == C -> hit = (interrupts[P] > mark) :: else fi
  :: else
  fi;
  mark = 0
}

/* core::admits_turn(). No gate is closed in this model. */
inline admits(x) {
  ok = (EPOCH(packed[x]) == turn_epoch[x]);
#ifndef M_UNMARKED
  if :: ok -> is_interrupted(x); ok = !hit; hit = false :: else fi
#endif
}

#define NEXT_OF(x) ((x) == P -> (queue[P] == 3 -> 3 : 0) : (queue[C] < 3 -> queue[C] : 0))

/* mailbox::Cell::is_delegated(): the message is a part of a tool call, and its turn passes every hold. */
#if defined(CONF_HOLD_DELEGATED) || defined(CONF_HOLD_DELEGATED_SUBTREE)
#define DELEGATED(number) ((number) == 1)
#else
#define DELEGATED(number) false
#endif
#ifdef M_DELEGATED_WAITS
#define PASSES_HOLD(x) false
#else
#ifdef M_ALL_PASS
#define PASSES_HOLD(x) ((x) == C)
#else
#define PASSES_HOLD(x) DELEGATED(NEXT_OF(x))
#endif
#endif

/* Scheduler::begins(), with core::may_begin_turn() */
inline may_begin_turn(x) {
  own = packed[x];
  ok = (STATE(own) == IDLE && (!HELD(own) || PASSES_HOLD(x)));
#ifdef M_HELD_UNASKED
  ok = (STATE(own) == IDLE);
#endif
#ifndef M_OWN_ONLY
  if
  :: x == C && ok && HELD(packed[P]) -> ok = (!extends[P] || PASSES_HOLD(C))
  :: else
  fi
#endif
}

/* Scheduler::begin() */
inline begin(x) {
  number = queue[x];
#ifdef M_UNCLAIMED
  message[x] = number;
#else
  message[x] = number | CLAIMING;
#endif
#ifndef M_MARKED_LATE
  mark = count;
  turn_mark[x] = mark;
#endif
  atomic { /* TurnRunner::claim() */
    w = packed[x];
    done = (EPOCH(w) == EPOCH(own) && STATE(w) == IDLE && (!HELD(w) || PASSES_HOLD(x)));
#ifdef M_HELD_UNASKED
    done = (EPOCH(w) == EPOCH(own) && STATE(w) == IDLE);
#endif
    if
    :: done ->
#ifdef M_NO_EPOCH
       packed[x] = WITH(w, OPEN, WAITING);
       turn_epoch[x] = EPOCH(w);
#else
       packed[x] = AFTER_BEGIN(w);
       turn_epoch[x] = EPOCH(w) + 1;
#endif
       turn_no[x]++; current[x] = number;
       assert(DELEGATED(number) || (!held[x] && !(x == C && held[P] && below)))
    :: else
    fi;
    w = 0
  };
#ifdef M_MARKED_LATE
  mark = count;
  turn_mark[x] = mark;
#endif
  atomic { /* MessagePool::begin() */
#ifdef M_BEGUN_UNASKED
    ok = done;
#else
    ok = (done && cell[number] == WAITS);
#endif
    if :: ok -> cell[number] = BEGUN; assert(!dead_message[number]) :: else fi
  };
  if
  :: ok ->
     message[x] = number;
     atomic { queue[x]++; turn[x] = true; steps[x] = 0 }
  :: else ->
     message[x] = 0;
     if
     :: cell[number] == WITHDRAWN ->
        if
        :: done -> /* TurnRunner::unclaim() */
           atomic { if :: STEP_ALLOWED(packed[x], turn_epoch[x], WAITING) -> packed[x] = AFTER_STEP(packed[x], IDLE) :: else fi }
        :: else
        fi;
        atomic { fate(number); cell[number] = OVER; queue[x]++ }
     :: else -> skip /* mailbox::put_back() */
     fi
  fi
}

/* TurnEnds::end(), turn::write_interrupted(), Scheduler::end_message() */
inline end_turn(x) {
  is_interrupted(x);
  if
  :: hit ->
     do
     :: own = packed[x];
        if
        :: EPOCH(own) != turn_epoch[x] || !INTERRUPT_ALLOWED(own) -> break
        :: else -> w = AFTER_INTERRUPT(own, false); replace(x, own, w); if :: done -> break :: else fi
        fi
     od
  :: else
  fi;
  assert(calls > 0 || met || turn_no[x] <= newest[x]); /* no later turn is touched */
  end_message(x)
}
inline end_message(x) {
  atomic { fate(message[x]); cell[message[x]] = OVER };
  message[x] = 0;
  atomic { turn[x] = false; op[x] = false; steps[x] = 0; hit = false }
}

/* TurnRunner::run_phases(), with ModelCalls::send() */
inline run_steps(x) {
  admits(x);
  if
  :: !ok -> end_turn(x)
  :: ok && steps[x] == STEPS_OF_TURN -> /* TurnEnds::end() and leave() */
     atomic {
       ok = STEP_ALLOWED(packed[x], turn_epoch[x], WAITING);
       if :: ok -> packed[x] = AFTER_STEP(packed[x], IDLE) :: else fi
     };
     if :: ok -> end_message(x) :: else -> end_turn(x) fi
  :: else ->
     op[x] = true; /* Operations::open() */
     admits(x);
     if :: ok -> atomic { check_begin(x); steps[x]++ } :: else -> end_turn(x) fi
  fi
}

#define READ_OP 1
#define VISIT 2
#define STEP 3
#define OUTCOME 4
#define READY(x) (!turn[x] && NEXT_OF(x) != 0 && STATE(packed[x]) == IDLE && (PASSES_HOLD(x) || \
   (!HELD(packed[x]) && ((x) == P || !HELD(packed[P]) || !extends[P]))))

proctype Loop() {
  LOCALS;
  mtype verb;
  byte event, x, arg, removed;
  do
  :: atomic {
       if
       :: control?verb, x, arg, removed -> event = READ_OP
       :: visiting -> visiting = false; event = VISIT
       :: READY(P) -> x = P; event = STEP
       :: READY(C) -> x = C; event = STEP
       :: op[P] -> x = P; event = OUTCOME
       :: op[C] -> x = C; event = OUTCOME
       :: users == 0 && empty(control) && !visiting && !READY(P) && !READY(C) && !op[P] && !op[C] -> break
       fi
     };
     if
     :: event == READ_OP -> /* Scheduler::finish_end_of_turn() and finish_release() */
        if :: verb == interrupt_op && turn[x] && turn_epoch[x] < arg -> end_turn(x) :: else fi; /* interrupt_before() */
        if :: verb == subtree_op -> visiting = true :: else fi;
        if
        :: removed != 0 && cell[removed] == WITHDRAWN && queue[x] == removed -> atomic { fate(removed); cell[removed] = OVER; queue[x]++ }
        :: else
        fi
     :: event == VISIT -> /* end_if_interrupted() */
        if :: turn[P] -> x = P; admits(P); if :: !ok -> end_turn(P) :: else fi :: else fi;
        if :: turn[C] -> x = C; admits(C); if :: !ok -> end_turn(C) :: else fi :: else fi
     :: event == STEP ->
        active_agent = x;
        may_begin_turn(x);
        if :: ok -> begin(x) :: else fi;
        if :: turn[x] -> run_steps(x) :: else fi
     :: event == OUTCOME ->
        active_agent = x;
        op[x] = false;
        run_steps(x)
     fi;
     atomic { active_agent = NONE; action_over(); verb = 0; event = 0; x = 0; arg = 0; removed = 0; FORGET }
  od;
  atomic {
    assert(!turn[P] && !turn[C] && STATE(packed[P]) == IDLE && STATE(packed[C]) == IDLE);
    assert(HELD(packed[P]) == held[P] && (!held[P] || extends[P] == below));
    assert(HELD(packed[C]) == held[C]);
    assert(held[P] || NEXT_OF(P) == 0);                       /* no message is lost */
    assert(held[C] || (held[P] && below) || NEXT_OF(C) == 0);
    assert(!DELEGATED(NEXT_OF(C)))                            /* no tool call waits for a release */
  }
}
