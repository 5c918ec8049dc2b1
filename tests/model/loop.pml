/* The loop thread: actions, and the second halves of the verbs. The only one that steps, settles, creates, frees. */

/* What the loop turns to next. */
#define READ_OP 1
#define RUN_JOB 2
#define STEP 3
#define OUTCOME 4
#define CREATE 5
#define REPORT 6
#define CLOSE 7

/* An action begins. G1: not after a quiet stop returned, nor after a close. And all ends of earlier stops are reported. */
inline check_action(x) {
  assert(!CLOSED);
  assert(!quiet[x] && (parent[x] == NONE || !quiet[parent[x]]) && !unreported[x])
}

#ifdef CONF_CLOSE
/* TreeCore::close(): closes the gate of the sentinel, as a verb under the mutex. Nothing of the loop runs afterwards, but
   for what is on the stack. */
inline close_tree() {
#ifdef M_CLOSE_UNLOCKED
  sentinel = AFTER_TERMINATE(sentinel, false, true);
#else
  atomic { !closing -> closing = true };
  atomic { sentinel = AFTER_TERMINATE(sentinel, false, true); closing = false };
#endif
  closed = true
}
#endif

/* Turns::step_to(): one edge, unless a verb was faster. */
inline step_to(x, epoch, from, to) {
  do
  :: w = packed[x];
     if
     :: !STEP_ALLOWED(w, epoch, from) -> moved = false; break
     :: else -> replace(x, w, AFTER_STEP(w, to)); if :: done -> moved = true; break :: else fi
     fi
  od
}

/* TurnRunner::claim(): the turn begins, unless a verb was faster. */
inline claim(x, epoch) {
  do
  :: w = packed[x];
     if
     :: !BEGIN_ALLOWED(w, epoch) -> moved = false; break
     :: else -> replace(x, w, AFTER_BEGIN(w)); if :: done -> moved = true; break :: else fi
     fi
  od
}

/* Turns::interrupt(): only what a verb has ended. */
inline interrupt(x) {
  atomic {
    if
    :: turn[x] ->
       assert(GATE(packed[x]) != OPEN || ABOVE(x) != OPEN || EPOCH(packed[x]) != turn_epoch[x]);
       assert(((EPOCH(packed[x]) - turn_epoch[x]) & EPOCH_MASK) <= 2); /* so no epoch comes back within one turn */
       turn[x] = false; turn_op[x] = 0; turn_epoch[x] = 0
    :: else
    fi
  }
}

/* Operations::close() */
inline close_operation() {
  atomic { !lock; operations[x]--; op_node[s] = NONE; op_gen[s] = 0; op_epoch[s] = 0; op_serial[s] = 0 }
}

/* Scheduler::step(), mailbox::take(), TurnRunner::begin() and ModelCalls::send() */
inline step() {
#ifndef M_PUBLISH_LATE
  active_agent = x; /* ActiveAgentGuard: published before the admission */
#endif
  after = packed[x];
  if
  :: STATE(after) == IDLE -> admits(x, GEN(after), EPOCH(after))
  :: else -> ok = false
  fi;
#ifdef M_PUBLISH_LATE
  active_agent = x;
#endif
  if
  :: ok ->
     atomic { check_action(x); head[x] = head[x] - 1 }; /* mailbox::take() */
     claim(x, EPOCH(after));
     if
     :: moved ->
        atomic { turn_epoch[x] = EPOCH(AFTER_BEGIN(w)); turn[x] = true; handled++ };
#ifdef CONF_CLOSE
        if :: true -> close_tree() :: skip fi; /* an observer of TurnStarted destroys the AgentTree */
#endif
        atomic { /* Operations::open() */
          !lock;
          s = (op_node[0] == NONE -> 0 : 1);
          assert(op_node[s] == NONE);
          serials++; op_node[s] = x; op_gen[s] = GEN(packed[x]); op_epoch[s] = turn_epoch[x]; op_serial[s] = serials;
          operations[x]++; turn_op[x] = s + 1
        };
#ifdef M_CLOSE_UNASKED
        ok = true;
#else
        admits(x, GEN(after), turn_epoch[x]); /* now that a stopper can find it: one of the two notices the other */
#endif
        if
        :: ok -> check_action(x) /* LlmClient::chat() */
        :: else -> close_operation(); interrupt(x)
        fi
     :: else -> head[x] = head[x] + 1 /* mailbox::put_back() */
     fi
  :: else
  fi
}

/* Turns::on_outcome() and complete(): an answer, or the end of a call that was cut. */
inline outcome() {
  active_agent = x;
  atomic {
    late = (EPOCH(packed[x]) != op_epoch[s] || GATE(packed[x]) != OPEN || ABOVE(x) != OPEN);
#ifdef M_NO_EPOCH
    current = true
#else
    current = (turn[x] && turn_op[x] == s + 1)
#endif
  };
  if :: current -> admits(x, op_gen[s], op_epoch[s]) :: else -> ok = false fi;
  close_operation();
  assert(!ok || !late); /* F6: an answer that came late is never handled */
  if
  :: ok ->
     check_action(x);
     step_to(x, turn_epoch[x], WAITING, PROCESSING);
     if
     :: moved ->
        atomic { arg = turn_epoch[x]; turn[x] = false; turn_op[x] = 0; turn_epoch[x] = 0 };
        step_to(x, arg, PROCESSING, IDLE)
     :: else -> interrupt(x)
     fi
  :: !ok && current -> interrupt(x)
  :: !ok && !current -> skip
  fi;
  atomic { /* Settler::operation_ended() and is_deleted_above() */
    first = x; second = (x == C -> parent[C] : NONE); deleting_above = (x == C && deleting[parent[C]])
  }
}

/* ---- Settler ---------------------------------------------------------------------------------------------------- */

#define CHILD_OF(x) (STATE(packed[C]) != FREE && parent[C] == (x)) /* links are the loop's */
#ifdef M_PARENT_FIRST
#define UNSETTLED(x) false
#else
#define UNSETTLED(x) (counted && CHILD_OF(x))
#endif

/* EventHub::settled(): once for each stop, and before the agent does anything else. Only the loop reports, so it need
   not come before the write of `stopped`: what a resume brings about is reported in a later step. */
inline report_settled(x) {
  assert(unreported[x]);
  unreported[x] = false
}

/* is_widened(): a stop without the children was the last to visit the agent, and was widened since (Settling, 7). */
#define IS_WIDENED(x, w) (alone[x] && (widened[x] || GATE(w) == STOP_TREE))

/* AgentSettler::is_ready() */
#ifdef M_WIDENED_SETTLES_EARLY
#define IS_READY(x) (walked[x] && operations[x] == 0 && (x == C || !UNSETTLED(x)))
#else
#define IS_READY(x) (walked[x] && operations[x] == 0 && (x == C || !UNSETTLED(x)) && !IS_WIDENED(x, packed[x]))
#endif

/* Below an agent that stops with its children, all have settled. */
#define BELOW_SETTLED(x, w) (GATE(w) == STOP_SELF || !CHILD_OF(x) || HEAD_IS_CLOSED(head[C]))
/* Only if its stop was widened after it was found ready: then it was the stop of the agent alone that settled, and no
   resume comes before the rest has. */
#define WIDENED_TOO_LATE(x, w) (alone[x] && !covers && !(GATE(w) == STOP_TREE && IS_SETTLED(x, w)))

/* AgentSettler::write_stopped(), then EventHub::settled() */
inline write_stopped(x) {
  do
  :: w = packed[x];
     after = AFTER_SETTLE(w);
     close_head(x, EPOCH(after));
#ifndef M_WIDENED_RESUMES_EARLY
     if :: IS_WIDENED(x, w) -> after = NEXT(after, GATE(after), STATE(after)) :: else fi; /* its walk settles it again */
#endif
     assert(STATE(w) != TERMINATING); /* a delete waits for the stop that it meets (X13) */
     atomic {
       assert(GATE(packed[x]) != OPEN || ABOVE(x) != OPEN); /* no agent is stopped but by a verb */
       replace(x, w, after);
       if
       :: done ->
          assert(!unreported[x]); unreported[x] = true;
          assert(operations[x] == 0 && !turn[x]); /* G4: nothing left in flight, children first */
          assert(BELOW_SETTLED(x, after) || WIDENED_TOO_LATE(x, after));
          break
       :: else
       fi
     }
  od;
#ifndef M_SETTLED_LATER
  if :: unreported[x] -> report_settled(x) :: else fi
#endif
}

/* AgentTable::erase() */
inline erase(x) {
  atomic {
    assert(x == C || !CHILD_OF(x)); /* a parent outlives its children */
    assert(operations[x] == 0 && !turn[x]);
#ifdef M_SAME_GENERATION
    packed[x] = PACKED(GEN(packed[x]), 0, OPEN, FREE);
#else
    packed[x] = PACKED(GEN(packed[x]) + 1, 0, OPEN, FREE); /* PackedState::freed() */
#endif
    by_parent[x] = false; deleting[x] = false; alone[x] = false; widened[x] = false;
    stops[x] = 0; returned[x] = false; quiet[x] = false
  }
}

/* AgentSettler::settle() and remove() */
inline settle(x) {
  atomic {
    assert(!(jobs??[stop_op, eval(x), eval(GEN(packed[x])), true])); /* reports_.complete(): and each has had its walk */
    walked[x] = false;
    if :: x == C -> counted = false :: else fi
  };
  after = packed[x];
  look(x, GEN(after));
#ifdef M_DELETE_UNREAD
  going = (GATE(own) == TERMINATE || above == TERMINATE);
#else
  going = (deleting[x] || (x == C && deleting_above)); /* only if the loop has read the delete */
#endif
  if
#ifdef M_SHORT_CUT_DELETE
  :: STATE(own) == STOPPING || (effective == STOPPING && !going) -> write_stopped(x)
#else
  :: effective == STOPPING -> write_stopped(x) /* also before a delete (X13) */
#endif
  :: else ->
     if
     :: STATE(after) == STOPPED && !IS_SETTLED(x, after) -> /* its stop was widened: now it can be resumed */
        atomic { assert(BELOW_SETTLED(x, after)); close_head(x, EPOCH(after)) }
     :: else
     fi
  fi;
  if
#ifdef M_ORPHAN
  :: going ->
#else
  :: going && (x == C || !CHILD_OF(x)) -> /* children that are left have only been stopped: the delete's walk is next */
#endif
     do
     :: w = packed[x];
        after = AFTER_REMOVE(w);
        atomic {
          assert(EFFECTIVE_NOW(x) != STOPPING); /* X13: the stop that it shows settles first */
          replace(x, w, after);
          if :: done -> break :: else fi
        }
     od;
     close_head(x, EPOCH(after));
     erase(x)
  :: else
  fi;
  going = false; covers = false
}

/* SettleWalk::visit() */
inline visit(y, is_root) {
  w = packed[y];
  if
  :: !is_root && walked[y] -> /* count_in_parent(): it keeps its parent waiting */
     counted = true; alone[y] = false; widened[y] = false
  :: !is_root && !walked[y] && verb == stop_op && STATE(w) == STOPPED -> skip
  :: else ->
     by_parent[y] = (is_root -> by_parent[y] : (STATE(w) <= STOPPING));
     walked[y] = true;
     alone[y] = (is_root && !arg);
     widened[y] = (widened[y] && alone[y]);
     counted = counted || (!is_root && operations[y] != 0)
  fi
}

/* The agents that may be settled now: settle_up() visits, operation_ended() only settles; then settle_upwards(). */
inline settle_both() {
  do
  :: first != NONE || second != NONE ->
     atomic {
       if :: first != NONE -> y = first; first = NONE :: else -> y = second; second = NONE fi;
       if :: event == RUN_JOB -> visit(y, (y == x)) :: else fi;
       ok = IS_READY(y);
       covers = (ok && GATE(packed[y]) == STOP_TREE)
     };
     if :: ok -> settle(y) :: else fi
  :: else -> break
  od
}

/* Settler::cut_if_closed(): ends the turns whose calls lie below a closed gate. */
inline cut() {
  s = 0;
  do
  :: s < 2 ->
     y = op_node[s];
     if
#ifdef M_CUT_BY_OLD_CALL
     :: y != NONE && turn[y] ->
#else
     :: y != NONE && turn[y] && turn_op[y] == s + 1 -> /* the turn's own call, not an aborted one before it */
#endif
        admits(y, op_gen[s], op_epoch[s]);
        if :: !ok -> interrupt(y) :: else fi
     :: else
     fi;
     s++
  :: else -> break
  od
}

/* SettleWalk::mark_down() and mark(): the effective state becomes the agent's own; but not before what lies below it has
   stopped. */
inline mark(y) {
  look(y, GEN(packed[y]));
  to = effective;
  if
  :: to == STOPPING || to == TERMINATING ->
     w = packed[y];
     do
     :: STATE(w) == to || !IMPOSE_ALLOWED(w, to, IS_SETTLED(y, w)) -> break
     :: else ->
        after = AFTER_IMPOSED(w, to);
        atomic {
          assert(GATE(packed[y]) != OPEN || ABOVE(y) != OPEN); /* no agent is stopped but by a verb */
          replace(y, w, after)
        };
        if :: done -> break :: else -> w = packed[y] fi
     od
  :: else
  fi;
  to = 0
}
inline mark_down() {
  y = x;
  do
  :: mark(y);
     if :: y != C && arg && CHILD_OF(x) && !walked[C] -> y = C :: else -> break fi
  od
}

/* Settler::start(). The verbs' operations come in the order of the verbs, so each finds its agent: a delete comes after
   everything that was done to the agent before, and a verb that comes after it has no effect. */
inline start() {
  assert(GEN(packed[x]) == gen && STATE(packed[x]) != FREE);
  if
  :: verb != resume_op ->
     by_parent[x] = false;
     deleting[x] = (verb == terminate_op);
#ifndef M_WIDENING_UNREAD
     if :: verb == stop_op && arg -> widened[x] = true :: else fi; /* Settler::begin_close() */
#endif
     if :: x == C || !CHILD_OF(x) || !arg -> interrupt(x) :: else -> cutting = true fi
  :: else
  fi;
  jobs!verb(x, gen, arg)
}

/* Settler::run() and SettleWalk::run() of a stop or a delete. */
inline walk() {
  if :: watched -> mark_down() :: else fi;
  if :: x != C && CHILD_OF(x) && arg -> first = C :: else fi;
#ifdef M_PARENT_FIRST
  second = first; first = x;
#else
  second = x;
#endif
  deleting_above = (verb == terminate_op)
}

/* SettleWalk::resume_down() and resume(). Closed again, but alone: what lies below is resumed all the same. */
inline resume_down() {
  look(x, gen);
  if
#ifdef M_RESUME_GIVES_UP
  :: OPEN_VIEW ->
#else
  :: valid && !CLOSES(own) && above == OPEN ->
#endif
     by_parent[x] = false;
     if
     :: x != C && CHILD_OF(x) && arg && by_parent[C] ->
        atomic { !closing -> closing = true }; /* SettleWalk::reopen() */
        w = packed[C];
        if
        :: RESUME_ALLOWED(w, IS_SETTLED(C, w)) ->
           atomic {
             replace(C, w, AFTER_RESUME(w));
             if
             :: done ->
                assert(stops[C] == 0); /* an agent that was stopped by a verb of its own is resumed by one */
                resumed(C); by_parent[C] = false
             :: else
             fi
           };
           if :: done -> open_head(C, GEN(w), EPOCH(w)) :: else fi
        :: else
        fi;
        closing = false
     :: else
     fi
  :: else
  fi
}

/* TreeCore::run_control(): reads one operation; Scheduler::finish_abort() */
inline read_op() {
  if
  :: verb == abort_op ->
     if :: GEN(packed[x]) == gen && turn[x] && turn_epoch[x] < arg -> interrupt(x) :: else fi
  :: else -> start()
  fi
}

/* Settler::run() */
inline run_job() {
  if :: cutting -> cut(); cutting = false :: else fi;
  if
  :: GEN(packed[x]) != gen || STATE(packed[x]) == FREE -> event = 0 /* removed, and its jobs with it */
  :: else -> if :: verb == resume_op -> resume_down(); event = 0 :: else -> walk() fi
  fi
}

#if BIRTHS > 0
/* AgentFactory::create() and insert(), called by the host on the loop thread: an action of the parent. */
inline create() {
  active_agent = x;
  look(x, GEN(packed[x]));
  if
  :: OPEN_VIEW ->
     parent[C] = x; /* AgentTable::insert() */
     atomic {
       packed[C] = PACKED(GEN(packed[C]), 0, OPEN, IDLE);
       life[C]++; true_parent[life[C]] = x; late = returned[x]
     };
     head[C] = HEAD_OPEN(GEN(packed[C]));
#ifdef M_NO_SECOND_LOOK
     assert(!late)
#else
     look(C, GEN(packed[C]));
     if
     :: OPEN_VIEW -> assert(!late) /* E6: never linked in after a stop of its parent had returned */
     :: else -> close_head(C, EPOCH(packed[C]) + 1); erase(C)
     fi
#endif
  :: else
  fi
}
#endif

/* Nothing is left to do: what must hold then. */
#define WAITS(x) (HEAD_IS_CLOSED(head[x]) -> 0 : HEAD_LOW(head[x]))
inline check_end(x) {
  if
  :: STATE(packed[x]) != FREE ->
     assert(STATE(packed[x]) == IDLE || STATE(packed[x]) == STOPPED); /* everything settled */
     assert(STATE(packed[x]) == STOPPED || ABOVE(x) == OPEN);       /* no agent open below a closed gate */
     assert(STATE(packed[x]) == IDLE || stops[x] > 0 || ABOVE(x) != OPEN); /* no agent stays stopped but by a verb */
     assert((STATE(packed[x]) == STOPPED) == HEAD_IS_CLOSED(head[x]));      /* no mailbox left open or closed */
     assert(!unreported[x] && !turn[x] && operations[x] == 0 && !walked[x] && !deleting[x] && !widened[x])
  :: else -> assert(HEAD_IS_CLOSED(head[x]))
  fi
}

/* In the ready list, and worth a step: the others would be refused. Where only the mailbox matters, no agent steps. */
#if defined(CONF_HEAD) || defined(CONF_HEAD_WRAP) || defined(CONF_CHILD_MAIL) || defined(CONF_CHILD)
#define STEPS false
#else
#define STEPS true
#endif
#define READY(x) (STEPS && !turn[x] && WAITS(x) > 0 && STATE(packed[x]) == IDLE && ABOVE(x) == OPEN)

proctype Loop() {
  chan jobs = [4] of { mtype, byte, byte, byte }; /* Settler::queue_: as in `control` */
  LOCALS;
  bool walked[3], by_parent[3], deleting[3], alone[3], widened[3]; /* core::Settling */
  bool counted;    /* of C, the only one with a parent */
  bool cutting;    /* the open calls have to be looked at */
  byte operations[3]; /* Node::flights: in flight */
  bool turn[3];    /* TurnData::active */
  byte turn_epoch[3], turn_op[3]; /* op: slot + 1 */
  bool covers;     /* ghost: when the agent that settles was found ready, its gate was closed for its subtree */
  bool unreported[3];    /* ghost: it became stopped, and its settled event was not reported yet */
  mtype verb;
  byte event, x, y, gen, arg, s, to, first = NONE, second = NONE;
  bool moved, late, current, going, deleting_above;
  byte births = BIRTHS;
  do
#ifdef CONF_CLOSE
  :: closed -> break
  :: !closed ->
#else
  ::
#endif
     atomic {
       if
#ifdef CONF_CLOSE
       :: event = CLOSE
#endif
       :: control?verb, x, gen, arg -> event = READ_OP
       :: jobs?verb, x, gen, arg -> event = RUN_JOB
       :: READY(P) -> x = P; event = STEP
       :: READY(C) -> x = C; event = STEP
       :: op_node[0] != NONE -> x = op_node[0]; s = 0; event = OUTCOME
       :: op_node[1] != NONE -> x = op_node[1]; s = 1; event = OUTCOME
       :: births > 0 && STATE(packed[C]) == FREE -> births--; x = P; event = CREATE
       :: births > 0 && STATE(packed[C]) == FREE -> births--; x = Q; event = CREATE
#ifdef CONF_CUT
       :: accepted == 0 && resumes[C] > 0 && ABOVE(C) == OPEN && STATE(packed[C]) == IDLE && !HEAD_IS_CLOSED(head[C]) ->
          head[C] = head[C] + 1; accepted++ /* the host sends one on the loop thread */
#endif
#ifdef M_SETTLED_LATER
       :: unreported[P] -> x = P; event = REPORT
       :: unreported[C] -> x = C; event = REPORT
#endif
       :: users == 0 && empty(control) && empty(jobs) && !READY(P) && !READY(C) && op_node[0] == NONE &&
          op_node[1] == NONE && !unreported[P] && !unreported[C] && (births == 0 || STATE(packed[C]) != FREE) -> break
       fi
     };
     if
     :: event == READ_OP -> read_op()
     :: event == RUN_JOB -> run_job()
     :: event == STEP -> step()
     :: event == OUTCOME -> outcome()
#if BIRTHS > 0
     :: event == CREATE -> create()
#endif
     :: event == REPORT -> report_settled(x)
#ifdef CONF_CLOSE
     :: event == CLOSE -> close_tree()
#endif
     :: else
     fi;
     if :: !CLOSED -> settle_both() :: else fi;
     atomic {
       active_agent = NONE; event = 0; verb = 0; x = 0; y = 0; gen = 0; arg = 0; s = 0; after = 0; ok = false; done = false;
       moved = false; late = false; current = false; deleting_above = false; FORGET
     }
  od;
  atomic {
#ifndef CONF_CLOSE
    check_end(P);
    check_end(Q);
    check_end(C);
#endif
    assert(accepted == handled + dropped + WAITS(P) + WAITS(Q) + WAITS(C)) /* no message is lost */
  }
}
