/* The ends of one tool call, searched exhaustively by spin: its result, its time-out, a cancel and a result of the host by
   verbs on other threads, and the end of its turn. The call is one object, with an entry in an index that verbs look into.
   Why: docs/design/turn.md and gate-protocol.md. In the C++ code the object is turn::Call, and the index is CallIndex; the
   names say which function does the same. Run it with scripts/check-model, which
   knows the configurations (-DCONF_...) and the mutants (-DM_...).

   What must hold: one end wins, and who has won is in the verdict of the verb and in the outcome. A verb that begins after
   a stop returned does not end the call. `not_started` is said only of a function that never runs. Each result, of the
   tool and of the host, is used or discarded, once. No operation stays registered, no verb reads an object that is freed,
   and no stop callback waits for a verb that waits for it. */

mtype = { end_call_op, end_turn_op };
chan control = [4] of { mtype };

/* How a verb ends the call, and the outcomes. */
#define NOTHING 0
#define CANCEL 1
#define HOST 2
#define NOT_STARTED 1
#define COMPLETED 2
#define COMPLETED_BY_HOST 3
#define INTERRUPTED 4

/* core::CallBegin */
#define STARTING 0
#define HANDED_OVER 1
#define BEGUN 2
#define WITHDRAWN 3
byte begin_state;
bool on_stop; /* its stop callback is registered */
inline withdraw(begun) {
#ifdef M_WITHDRAWN_UNASKED
  begun = (begin_state == BEGUN)
#else
  atomic {
    if :: begin_state == HANDED_OVER || begin_state == STARTING -> begin_state = WITHDRAWN :: else fi;
    begun = (begin_state == BEGUN)
  }
#endif
}

bool admitted = true;  /* gate and epoch admit the turn */
byte locked;           /* mutex of the index: 0, or the thread that has it */
bool in_index = true;  /* the call is listed */
bool alive = true;     /* the object */
bool over;             /* claimed, by the loop or a verb */
byte ending;           /* what a verb has left */
bool op;               /* its operation is registered */
bool token;            /* its stop token is triggered */
bool posted, in_time;  /* the result of the tool, and whether its stamp is before the time-out */
bool is_late;          /* the time of the call is over */
bool is_running;       /* the tool has the call */
byte users;

/* Ghost. */
bool ended_by_stop;         /* the verb that ended the turn has returned */
bool looked;                /* and it had looked for operations */
bool ran;                   /* the function of the tool */
bool verb_returned;         /* a verb that ends the call */
byte loop_claims, cancels, completes;          /* who was first */
byte outcome, ends, told, tool_ends;           /* of the call, and ToolStarted and ToolEnded */
byte tool_used, tool_discarded, tool_results, host_used, host_discarded, cancelled, cancels_met_end;

#define ME (_pid + 1)
inline lock() { atomic { locked == 0 -> locked = ME } }
inline unlock() { locked = 0 }

/* Triggers the stop token: runs the stop callbacks on this thread. One of the host's calls a verb. */
inline trigger() {
  if
  :: !token ->
     atomic {
       token = true;
       if :: on_stop && begin_state == HANDED_OVER -> begin_state = WITHDRAWN :: else fi
     };
     assert(locked != ME); /* it would wait for ever */
     lock(); unlock()
  :: else
  fi
}

/* end_call() in call_verbs.cpp, with CallIndex::end() */
proctype Verb(byte how) {
  bool was_ended, has_source, done;
  was_ended = ended_by_stop;
#ifdef M_CLAIM_TWICE
  if :: over -> goto refused :: else fi; /* read before the lock was taken */
#endif
  lock();
  if
  :: !in_index -> unlock() /* call_not_found */
#ifdef M_CLAIM_TWICE
  :: in_index && !admitted -> unlock()
#elif defined(M_GATE_UNREAD)
  :: in_index && over -> unlock()
#else
  :: in_index && (over || !admitted) -> assert(alive); unlock() /* call_over */
#endif
  :: else ->
     atomic {
       assert(alive && ends == 0);
       over = true; ending = how; done = true; has_source = op;
       if :: how == CANCEL -> cancels++ :: else -> completes++ fi
     };
     assert(!was_ended);
#ifdef M_TRIGGERED_LOCKED
     if :: has_source -> trigger() :: else fi;
     unlock();
#else
     unlock();
     if :: has_source -> trigger() :: else fi;
#endif
     control!end_call_op
  fi;
refused:
  atomic { verb_returned = verb_returned || done; users--; was_ended = false; has_source = false; done = false }
}

/* A stop or an interrupt of the agent */
proctype Ender() {
  admitted = false;
  control!end_turn_op;
  if :: op -> trigger() :: else fi; /* Operations::copy_closed() and Batch::trigger() */
  atomic { looked = true; ended_by_stop = true; users-- }
}

/* The function of the tool, on a thread of its own or of an executor. */
proctype Tool() {
  bool runs;
end_unstarted:
  is_running;
  atomic {
    if
    :: begin_state == HANDED_OVER -> begin_state = BEGUN; runs = true /* CallBegin::begin() */
    :: else -> runs = (begin_state == BEGUN)
    fi
  };
  if
  :: runs ->
     atomic { ran = true; assert(outcome != NOT_STARTED) };
     if
     :: atomic { in_time = !is_late; posted = true; tool_results++ }
     :: true /* it never ends */
     fi
  :: else /* it was withdrawn, and reports nothing */
  fi
}

proctype Clock() {
  if :: is_late = true :: true fi;
  users--
}

/* ---- The loop thread ---- */

/* CallIndex::claim() */
inline claim() {
  lock();
  atomic { first = !over; over = true; loop_claims = loop_claims + first };
  unlock()
}

/* CallEnds::end(), once */
inline end_as(what) {
  atomic {
    ends++; assert(ends == 1);
    outcome = what;
    assert(what != NOT_STARTED || !ran);
    if :: told > tool_ends -> tool_ends++ :: else fi
  }
}
/* CallEnds::let_go(). Its operation: cut, and it stays until the tool has ended or is given up; or nothing will come. */
inline let_go(begun) {
  if
  :: op && begun -> trigger(); lingers = true
  :: op && !begun -> trigger(); op = false
  :: else
  fi
}

/* CallEnds::end_by_verb(): the end that a verb has left */
inline apply() {
  lock();
  atomic { left = ending; ending = NOTHING };
  unlock();
  if
  :: left == NOTHING -> skip
  :: left != NOTHING && !admitted -> /* the turn has ended meanwhile */
     atomic { if :: left == HOST -> host_discarded++ :: else -> cancels_met_end++ fi };
     end_turn()
  :: else ->
     withdraw(begun);
     let_go(begun);
     if
     :: left == HOST -> atomic { if :: !told -> told = 1 :: else fi; host_used++ }; end_as(COMPLETED_BY_HOST)
     :: else -> cancelled++; end_as((begun -> INTERRUPTED : NOT_STARTED))
     fi
  fi;
  left = NOTHING
}

/* TurnEnds::end(), CallEnds::cancel(): first of all no verb can end the call any more. */
inline end_turn() {
  if
  :: turn ->
     turn = false;
#ifndef M_CUT_UNCLAIMED
     lock();
     atomic { over = true; left = ending; ending = NOTHING };
     unlock();
#endif
     if
     :: ends == 0 ->
        withdraw(begun);
        let_go(begun);
        end_as((begun -> INTERRUPTED : NOT_STARTED))
     :: else
     fi;
#ifndef M_HOST_RESULT_LOST
     if :: left == HOST -> host_discarded++ :: else fi;
#endif
     if :: left == CANCEL -> cancels_met_end++ :: else fi;
     left = NOTHING
  :: else
  fi
}

#define IN_ADVANCE (posted && in_time) /* CallBegin::has_result_in_time() */

/* CallEnds::on_timeout(). A result that came before counts. */
inline time_out() {
#ifndef M_ENDED_UNCLAIMED
  claim();
#endif
  if
#ifdef M_ENDED_UNCLAIMED
  :: true ->
#else
  :: first ->
#endif
     assert(!IN_ADVANCE);
     withdraw(begun);
     let_go(begun);
     lingers = false; /* it stays until its result, without a grace period */
     waits_for_result = (op && begun);
     end_as((begun -> INTERRUPTED : NOT_STARTED))
#ifndef M_ENDED_UNCLAIMED
  :: else /* a verb was first: its operation follows */
#endif
  fi
}

/* CallEnds::take_result() */
inline take_result() {
  posted = false;
  if
  :: !op -> skip /* it was given up: Operations::find() */
  :: op && ends > 0 -> op = false; lingers = false; tool_discarded++ /* late */
  :: op && ends == 0 && !in_time -> time_out(); op = false; lingers = false; tool_discarded++
  :: op && ends == 0 && in_time ->
     claim();
     op = false;
     if
     :: first && admitted -> tool_used++; end_as(COMPLETED)
     :: first && !admitted -> tool_discarded++; end_turn()
     :: !first -> tool_discarded++; apply()
     fi
  fi
}

proctype Loop() {
  bool first, begun, lingers, waits_for_result, began;
  bool turn = true;
  bool timed, was_over;
  byte left;
  mtype verb;
  do
  :: turn && !began && ends == 0 -> /* ToolCalls::begin() */
     began = true;
     op = true;
     if
     :: !admitted -> end_turn()
     :: admitted && over -> apply()
     :: admitted && !over ->
        told = 1;
        was_over = verb_returned;
        if
        :: !admitted -> end_turn()
#ifndef M_STARTED_OVER
        :: admitted && over -> apply()
#endif
        :: else ->
           assert((!looked || token) && !was_over);
#ifdef CONF_CALL_EXECUTOR
           begin_state = HANDED_OVER;
           is_running = true;
           atomic { on_stop = true; if :: token && begin_state == HANDED_OVER -> begin_state = WITHDRAWN :: else fi }
#else
           atomic { begin_state = BEGUN; is_running = true }
#endif
        fi
     fi
  :: control?verb ->
     if
     :: verb == end_call_op && turn && ends == 0 -> apply()
     :: verb == end_turn_op -> end_turn()
     :: else
     fi;
     verb = 0
  :: posted -> take_result()
  :: is_late && !timed && op && ends == 0 && began ->
     timed = true;
     if
#ifndef M_STAMP_UNREAD
     :: IN_ADVANCE -> skip
#endif
     :: else -> time_out()
     fi
#ifdef CONF_CALL_DEADLINE
  :: turn && began -> end_turn() /* at its deadline: gate and epoch stay as they are */
#endif
  :: turn && ends == 1 -> end_turn() /* the turn completes */
#ifndef M_LINGERS_FOREVER
  :: lingers && op && !posted -> lingers = false; op = false /* LingeringCalls::give_up() */
#endif
  :: waits_for_result && op && !posted && !turn -> op = false; waits_for_result = false /* the grace period of the settler */
  :: !turn && !op && alive -> /* the turn is freed */
#ifdef M_FREED_BEFORE_REMOVED
     alive = false;
#endif
     lock(); in_index = false; unlock();
     alive = false
  :: !alive && users == 0 && empty(control) -> break
  :: timeout -> assert(false); break /* something waits for ever */
  od;
  atomic {
    assert(ends == 1 && !op && !turn && !in_index);
    assert(loop_claims + cancels + completes <= 1);
    assert(completes == host_used + host_discarded && cancels == cancelled + cancels_met_end);
    assert(outcome != NOT_STARTED || !ran);
    assert((outcome == COMPLETED) == (tool_used == 1) && (outcome == COMPLETED_BY_HOST) == (host_used == 1));
    assert(outcome != INTERRUPTED || begin_state == BEGUN);
    assert(tool_used + tool_discarded <= tool_results && told == tool_ends)
  }
}

init {
  atomic {
#ifdef CONF_CALL /* the tool, the time-out, and two verbs */
    users = 3; run Verb(CANCEL); run Verb(HOST); run Clock();
#endif
#ifdef CONF_CALL_STOP /* the same with an end of the turn by a thread */
    users = 3; run Verb(CANCEL); run Verb(HOST); run Ender();
#endif
#ifdef CONF_CALL_EXECUTOR /* the tool begins on another thread, and may be withdrawn before */
    users = 3; run Verb(CANCEL); run Ender(); run Clock();
#endif
#ifdef CONF_CALL_DEADLINE /* the turn ends, and its epoch goes on */
    users = 2; run Verb(CANCEL); run Verb(HOST);
#endif
    run Tool();
    run Loop()
  }
}
