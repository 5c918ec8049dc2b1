/* The loop thread: actions, and the second halves of the verbs. The only one that steps, settles, creates, frees. */

/* What the loop turns to next. */
#define READ_OP 1
#define RUN_JOB 2
#define STEP 3
#define OUTCOME 4
#define CREATE 5
#define TELL 6

/* An action begins. G1: not after a quiet stop returned. And nothing of an earlier stop is left to tell. */
inline check_action(x) {
  assert(!quiet[x] && (parent[x] == NONE || !quiet[parent[x]]) && !owed[x])
}

/* Turns::step_to(): one edge, unless a verb was faster. */
inline step_to(x, epoch, from, to) {
  do
  :: w = word[x];
     if
     :: EPOCH(w) != (epoch) || GATE(w) != OPEN || STATE(w) != (from) -> moved = false; break
     :: else -> replace(x, w, WITH(w, OPEN, to)); if :: done -> moved = true; break :: else fi
     fi
  od
}

/* Turns::interrupt(): only what a verb has ended. */
inline interrupt(x) {
  atomic {
    if
    :: turn[x] ->
       assert(GATE(word[x]) != OPEN || ABOVE(x) != OPEN || EPOCH(word[x]) != turn_epoch[x]);
       turn[x] = false; turn_flight[x] = 0; turn_epoch[x] = 0
    :: else
    fi
  }
}

/* Flights::close() */
inline close_flight() {
  atomic { !lock; flights[x]--; f_node[s] = NONE; f_gen[s] = 0; f_epoch[s] = 0; f_serial[s] = 0 }
}

/* TreeCore::step(), mailbox::take(), Turns::begin() and begin_call() */
inline step() {
#ifndef M_PUBLISH_LATE
  stepping = x; /* Stepping: published before asking */
#endif
  after = word[x];
  if
  :: STATE(after) == IDLE -> admits(x, GEN(after), EPOCH(after))
  :: else -> ok = false
  fi;
#ifdef M_PUBLISH_LATE
  stepping = x;
#endif
  if
  :: ok ->
     atomic { check_action(x); door[x] = door[x] - 1; handled++ };
     atomic { turn_epoch[x] = EPOCH(word[x]); turn[x] = true };
     step_to(x, turn_epoch[x], IDLE, WAITING);
     if
     :: moved ->
        atomic { /* Flights::open() */
          !lock;
          s = (f_node[0] == NONE -> 0 : 1);
          assert(f_node[s] == NONE);
          serials++; f_node[s] = x; f_gen[s] = GEN(word[x]); f_epoch[s] = turn_epoch[x]; f_serial[s] = serials;
          flights[x]++; turn_flight[x] = s + 1
        };
        admits(x, GEN(after), turn_epoch[x]); /* now that a stopper can find it: one of the two sees the other */
        if
        :: ok -> check_action(x) /* LlmClient::chat() */
        :: else -> close_flight(); interrupt(x)
        fi
     :: else -> interrupt(x)
     fi
  :: else
  fi
}

/* Turns::on_outcome() and complete(): an answer, or the end of a call that was cut. */
inline outcome() {
  stepping = x;
  atomic {
    late = (EPOCH(word[x]) != f_epoch[s] || GATE(word[x]) != OPEN || ABOVE(x) != OPEN);
#ifdef M_NO_EPOCH
    current = true
#else
    current = (turn[x] && turn_flight[x] == s + 1)
#endif
  };
  if :: current -> admits(x, f_gen[s], f_epoch[s]) :: else -> ok = false fi;
  close_flight();
  assert(!ok || !late); /* F6: an answer that came late is never handled */
  if
  :: ok ->
     check_action(x);
     step_to(x, turn_epoch[x], WAITING, PROCESSING);
     if
     :: moved ->
        atomic { arg = turn_epoch[x]; turn[x] = false; turn_flight[x] = 0; turn_epoch[x] = 0 };
        step_to(x, arg, PROCESSING, IDLE)
     :: else -> interrupt(x)
     fi
  :: !ok && current -> interrupt(x)
  :: !ok && !current -> skip
  fi;
  atomic { /* let_go() and is_deleted_above() */
    first = x; second = (x == C -> parent[C] : NONE); deleting_above = (x == C && deleting[parent[C]])
  }
}

/* ---- Settler ---------------------------------------------------------------------------------------------------- */

#define CHILD_OF(x) (STATE(word[C]) != FREE && parent[C] == (x)) /* links are the loop's */
#ifdef M_PARENT_FIRST
#define UNSETTLED(x) false
#else
#define UNSETTLED(x) (counted && CHILD_OF(x))
#endif

/* EventHub::settled(): once for each stop, and before the agent does anything else. Only the loop tells, so it need not
   come before the word: what a resume brings about is told in a later step. */
inline tell_settled(x) {
  assert(owed[x]);
  owed[x] = false
}

/* Settler::write_stopped(), then record() and EventHub::settled() */
inline write_stopped(x) {
  do
  :: w = word[x];
     after = NEXT(w, (GATE(w) == OPEN -> STOP_TREE : GATE(w)), STOPPED);
     close_door(x, EPOCH(after));
     assert(STATE(w) != TERMINATING); /* a delete waits for the stop that it meets (X13) */
     atomic {
       assert(GATE(word[x]) != OPEN || ABOVE(x) != OPEN); /* nobody is stopped but by a verb */
       replace(x, w, after);
       if
       :: done ->
          assert(!owed[x]); owed[x] = true;
          assert(flights[x] == 0 && !turn[x]); /* G4: nothing left in flight, children first */
          assert(GATE(after) == STOP_SELF || !CHILD_OF(x) || D_SHUT(door[C]));
          break
       :: else
       fi
     }
  od;
#ifndef M_SETTLED_LATER
  if :: owed[x] -> tell_settled(x) :: else fi
#endif
}

/* AgentTable::erase() */
inline erase(x) {
  atomic {
    assert(x == C || !CHILD_OF(x)); /* a parent outlives its children */
    assert(flights[x] == 0 && !turn[x]);
#ifdef M_SAME_GENERATION
    word[x] = WORD(GEN(word[x]), 0, OPEN, FREE);
#else
    word[x] = WORD(GEN(word[x]) + 1, 0, OPEN, FREE); /* Word::freed() */
#endif
    by_parent[x] = false; deleting[x] = false; stops[x] = 0; returned[x] = false; quiet[x] = false
  }
}

/* Settler::finish() and remove() */
inline finish(x) {
  atomic { walked[x] = false; if :: x == C -> counted = false :: else fi };
  after = word[x];
  look(x, GEN(after));
#ifdef M_DELETE_UNREAD
  going = (GATE(own) == TERMINATE || above == TERMINATE);
#else
  going = (deleting[x] || (x == C && deleting_above)); /* only if the loop has heard of the delete */
#endif
  if
#ifdef M_SHORT_CUT_DELETE
  :: STATE(own) == STOPPING || (seen == STOPPING && !going) -> write_stopped(x)
#else
  :: seen == STOPPING -> write_stopped(x) /* also before a delete (X13) */
#endif
  :: else ->
     if
     :: STATE(after) == STOPPED && !SETTLED_DOOR(x, after) -> close_door(x, EPOCH(after)) /* its stop was widened */
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
     :: w = word[x];
        after = WITH(w, TERMINATE, TERMINATING);
        atomic {
          assert(SEEN_NOW(x) != STOPPING); /* X13: it was seen to stop, so it stops before it goes */
          replace(x, w, after);
          if :: done -> break :: else fi
        }
     od;
     close_door(x, EPOCH(after));
     erase(x)
  :: else
  fi;
  going = false
}

/* Settler::visit() */
inline visit(y, is_root) {
  w = word[y];
  if
  :: !is_root && walked[y] -> counted = true /* count(): it keeps its parent waiting */
  :: !is_root && !walked[y] && verb == stop_op && STATE(w) == STOPPED -> skip
  :: else ->
     by_parent[y] = (is_root -> by_parent[y] : (STATE(w) <= STOPPING));
     walked[y] = true;
     counted = counted || (!is_root && flights[y] != 0)
  fi
}

/* Who may be settled now: walk_up() visits, let_go() only finishes; then finish_upwards(). */
inline finish_both() {
  do
  :: first != NONE || second != NONE ->
     atomic {
       if :: first != NONE -> y = first; first = NONE :: else -> y = second; second = NONE fi;
       if :: event == RUN_JOB -> visit(y, (y == x)) :: else fi;
       ok = (walked[y] && flights[y] == 0 && (y == C || !UNSETTLED(y)))
     };
     if :: ok -> finish(y) :: else fi
  :: else -> break
  od
}

/* Settler::cut(): ends the turns whose calls lie below a closed gate. */
inline cut() {
  s = 0;
  do
  :: s < 2 ->
     y = f_node[s];
     if
#ifdef M_CUT_BY_OLD_CALL
     :: y != NONE && turn[y] ->
#else
     :: y != NONE && turn[y] && turn_flight[y] == s + 1 -> /* the turn's own call, not an aborted one before it */
#endif
        admits(y, f_gen[s], f_epoch[s]);
        if :: !ok -> interrupt(y) :: else fi
     :: else
     fi;
     s++
  :: else -> break
  od
}

/* Settler::walk_down() and mark(): what is seen becomes its own; but not before what lies below it has stopped. */
#define ALL_STOPPED(x, w) (STATE(w) == STOPPED && GATE(w) != TERMINATE && SETTLED_DOOR(x, w))
inline mark(y) {
  look(y, GEN(word[y]));
  to = seen;
  if
  :: to == STOPPING || to == TERMINATING ->
     w = word[y];
     do
     :: STATE(w) == to || (!CAN(STATE(w)) && !(to == TERMINATING && ALL_STOPPED(y, w))) -> break
     :: else ->
        after = NEXT(w, MAX(GATE(w), (to == TERMINATING -> TERMINATE : STOP_TREE)), to);
        atomic {
          assert(GATE(word[y]) != OPEN || ABOVE(y) != OPEN); /* nobody is stopped but by a verb */
          replace(y, w, after)
        };
        if :: done -> break :: else -> w = word[y] fi
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
   everything that was done to the agent before, and whoever comes after it has no effect. */
inline start() {
  assert(GEN(word[x]) == gen && STATE(word[x]) != FREE);
  if
  :: verb != resume_op ->
     by_parent[x] = false;
     deleting[x] = (verb == terminate_op);
     if :: x == C || !CHILD_OF(x) || !arg -> interrupt(x) :: else -> cutting = true fi
  :: else
  fi;
  jobs!verb(x, gen, arg)
}

/* Settler::run() and walk() of a stop or a delete. */
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

/* Settler::resume_down() and resume_one(). Closed again, but alone: what lies below is resumed all the same. */
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
        w = word[C];
        if
        :: STATE(w) == STOPPED && GATE(w) != TERMINATE ->
           atomic {
             replace(C, w, NEXT(w, OPEN, IDLE));
             if
             :: done ->
                assert(stops[C] == 0); /* who was stopped by a verb of its own is resumed by one */
                resumed(C); by_parent[C] = false
             :: else
             fi
           };
           if :: done -> open_door(C, GEN(w), EPOCH(w)) :: else fi
        :: else
        fi
     :: else
     fi
  :: else
  fi
}

/* TreeCore::run_control(): reads one operation; finish_abort() */
inline read_op() {
  if
  :: verb == abort_op ->
     if :: GEN(word[x]) == gen && turn[x] && turn_epoch[x] < arg -> interrupt(x) :: else fi
  :: else -> start()
  fi
}

/* Settler::run() */
inline run_job() {
  if :: cutting -> cut(); cutting = false :: else fi;
  if
  :: GEN(word[x]) != gen || STATE(word[x]) == FREE -> event = 0 /* removed, and its jobs with it */
  :: else -> if :: verb == resume_op -> resume_down(); event = 0 :: else -> walk() fi
  fi
}

/* TreeCore::create() and insert(), called by the host on the loop thread: an action of the parent. */
inline create() {
  stepping = x;
  look(x, GEN(word[x]));
  if
  :: OPEN_VIEW ->
     parent[C] = x; /* AgentTable::insert() */
     atomic {
       word[C] = WORD(GEN(word[C]), 0, OPEN, IDLE);
       life[C]++; mother[life[C]] = x; late = returned[x]
     };
     door[C] = D_OPEN(GEN(word[C]));
#ifdef M_NO_SECOND_LOOK
     assert(!late)
#else
     look(C, GEN(word[C]));
     if
     :: OPEN_VIEW -> assert(!late) /* E6: never linked in after a stop of its parent had returned */
     :: else -> close_door(C, EPOCH(word[C]) + 1); erase(C)
     fi
#endif
  :: else
  fi
}

/* Nothing is left to do: what must hold then. */
#define WAITS(x) (D_SHUT(door[x]) -> 0 : D_LOW(door[x]))
inline check_end(x) {
  if
  :: STATE(word[x]) != FREE ->
     assert(STATE(word[x]) == IDLE || STATE(word[x]) == STOPPED); /* everything settled */
     assert(STATE(word[x]) == STOPPED || ABOVE(x) == OPEN);       /* nobody open below a closed gate */
     assert(STATE(word[x]) == IDLE || stops[x] > 0 || ABOVE(x) != OPEN); /* nobody stays stopped but by a verb */
     assert((STATE(word[x]) == STOPPED) == D_SHUT(door[x]));      /* no door ajar, none stuck */
     assert(!owed[x] && !turn[x] && flights[x] == 0 && !walked[x] && !deleting[x])
  :: else -> assert(D_SHUT(door[x]))
  fi
}

/* In the ready list, and worth a step: the others would be refused. Where only the mailbox matters, nobody steps. */
#if defined(CONF_DOOR) || defined(CONF_CHILD_MAIL) || defined(CONF_CHILD)
#define STEPS false
#else
#define STEPS true
#endif
#define READY(x) (STEPS && !turn[x] && WAITS(x) > 0 && STATE(word[x]) == IDLE && ABOVE(x) == OPEN)

proctype Loop() {
  chan jobs = [4] of { mtype, byte, byte, byte }; /* Settler::queue_: as in `control` */
  LOCALS;
  bool walked[3], by_parent[3], deleting[3];
  bool counted;    /* of C, the only one with a parent */
  bool cutting;    /* the open calls have to be looked at */
  byte flights[3]; /* Node::flights */
  bool turn[3];    /* TurnData::active */
  byte turn_epoch[3], turn_flight[3]; /* flight: slot + 1 */
  bool owed[3];    /* ghost: its word became stopped, its settled event has not been told */
  mtype verb;
  byte event, x, y, gen, arg, s, to, first = NONE, second = NONE;
  bool moved, late, current, going, deleting_above;
  byte births = BIRTHS;
  do
  :: atomic {
       if
       :: control?verb, x, gen, arg -> event = READ_OP
       :: jobs?verb, x, gen, arg -> event = RUN_JOB
       :: READY(P) -> x = P; event = STEP
       :: READY(C) -> x = C; event = STEP
       :: f_node[0] != NONE -> x = f_node[0]; s = 0; event = OUTCOME
       :: f_node[1] != NONE -> x = f_node[1]; s = 1; event = OUTCOME
       :: births > 0 && STATE(word[C]) == FREE -> births--; x = P; event = CREATE
       :: births > 0 && STATE(word[C]) == FREE -> births--; x = Q; event = CREATE
#ifdef CONF_CUT
       :: accepted == 0 && resumes[C] > 0 && ABOVE(C) == OPEN && STATE(word[C]) == IDLE && !D_SHUT(door[C]) ->
          door[C] = door[C] + 1; accepted++ /* the host sends one on the loop thread */
#endif
#ifdef M_SETTLED_LATER
       :: owed[P] -> x = P; event = TELL
       :: owed[C] -> x = C; event = TELL
#endif
       :: users == 0 && empty(control) && empty(jobs) && !READY(P) && !READY(C) && f_node[0] == NONE &&
          f_node[1] == NONE && !owed[P] && !owed[C] && (births == 0 || STATE(word[C]) != FREE) -> break
       fi
     };
     if
     :: event == READ_OP -> read_op()
     :: event == RUN_JOB -> run_job()
     :: event == STEP -> step()
     :: event == OUTCOME -> outcome()
     :: event == CREATE -> create()
     :: event == TELL -> tell_settled(x)
     :: else
     fi;
     finish_both();
     atomic {
       stepping = NONE; event = 0; verb = 0; x = 0; y = 0; gen = 0; arg = 0; s = 0; after = 0; ok = false; done = false;
       moved = false; late = false; current = false; deleting_above = false; FORGET
     }
  od;
  atomic {
    check_end(P);
    check_end(Q);
    check_end(C);
    assert(accepted == handled + dropped + WAITS(P) + WAITS(Q) + WAITS(C)) /* no message is lost */
  }
}
