/* The loop thread: actions, and the second halves of the verbs. The only one that steps, settles, creates, frees. */

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
        atomic { epoch = turn_epoch[x]; turn[x] = false; turn_flight[x] = 0; turn_epoch[x] = 0 };
        step_to(x, epoch, PROCESSING, IDLE)
     :: else -> interrupt(x)
     fi
  :: !ok && current -> interrupt(x)
  :: !ok && !current -> skip
  fi;
  atomic { first = x; second = (x == C -> parent[C] : NONE) } /* let_go(): finish_upwards() */
}

/* ---- Settler ---------------------------------------------------------------------------------------------------- */

#define CHILD_OF(x) (STATE(word[C]) != FREE && parent[C] == (x)) /* links are the loop's */
#ifdef M_PARENT_FIRST
#define UNSETTLED(x) false
#else
#define UNSETTLED(x) (CHILD_OF(x) && walked[C])
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
     if
#ifndef M_STOPPED_OVER_DELETE
     :: STATE(w) == TERMINATING -> break /* a delete was faster: its word stays, its own walk will remove it */
#endif
     :: else ->
        atomic {
          assert(GATE(word[x]) != OPEN || ABOVE(x) != OPEN); /* nobody is stopped but by a verb */
          replace(x, w, after);
          if
          :: done ->
             assert(!owed[x]); owed[x] = true;
             assert(flights[x] == 0 && !turn[x]); /* G4: nothing left in flight, children first */
             assert(GATE(after) == STOP_SELF || !CHILD_OF(x) || D_SHUT(door[C]) || raced[C]);
             break
          :: else
          fi
        }
     fi
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
    by_parent[x] = false; raced[x] = false; stops[x] = 0; returned[x] = false; quiet[x] = false
  }
}

/* Settler::finish() and remove() */
inline finish(x) {
  walked[x] = false;
  look(x, GEN(word[x]));
  deleting = (GATE(own) == TERMINATE || above == TERMINATE);
  if
  :: STATE(own) == STOPPING || (CAN(STATE(own)) && !deleting) -> write_stopped(x)
#ifndef M_SHORT_CUT_DELETE
  :: CAN(STATE(own)) && deleting && above_state == STOPPING -> write_stopped(x) /* X13 for what lies below */
#endif
  :: STATE(own) == STOPPED && !SETTLED_DOOR(x, own) -> close_door(x, EPOCH(own)) /* its stop was widened */
  :: else
  fi;
  if
#ifdef M_ORPHAN
  :: deleting ->
#else
  :: deleting && (x == C || !CHILD_OF(x)) -> /* with children left, the delete came after their visit: its walk is next */
#endif
     do
     :: w = word[x];
        after = WITH(w, TERMINATE, TERMINATING);
        atomic {
          assert(SEEN_AS(x, word[x]) != STOPPING); /* X13: it was seen to stop, so it stops before it goes */
          replace(x, w, after);
          if :: done -> break :: else fi
        }
     od;
     close_door(x, EPOCH(after));
     erase(x)
  :: else
  fi;
  deleting = false
}

/* What visit(), let_go() and finish_upwards() do, for one agent and then its parent. */
inline finish_both() {
  do
  :: first != NONE || second != NONE ->
     atomic {
       if :: first != NONE -> y = first; first = NONE :: else -> y = second; second = NONE fi;
       ok = (walked[y] && flights[y] == 0 && !UNSETTLED(y))
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

/* Settler::mark(): from the root down. */
inline mark_down() {
  y = x;
  do
  :: look(y, GEN(word[y]));
     atomic { /* visible_state() */
       deleting = (STATE(own) == TERMINATING || (above == TERMINATE && above_state == TERMINATING));
       w = own
     };
     if
     :: walked[y] || (GATE(w) == OPEN && above == OPEN) || STATE(w) == (deleting -> TERMINATING : STOPPING) ||
        (!CAN(STATE(w)) && !(STATE(w) == STOPPED && deleting)) ->
        if :: y == x && CHILD_OF(x) && verb != stop_self_op && x != C -> y = C :: else -> break fi
     :: else ->
        after = NEXT(w, MAX(GATE(w), (deleting -> TERMINATE : STOP_TREE)), (deleting -> TERMINATING : STOPPING));
        atomic {
          assert(GATE(word[y]) != OPEN || ABOVE(y) != OPEN); /* nobody is stopped but by a verb */
          replace(y, w, after)
        }
     fi
  od;
  deleting = false
}

/* Settler::visit(): up to the root. */
inline visit(y, is_root) {
  atomic {
    w = word[y];
    if
    :: !is_root && (walked[y] || (verb != terminate_op && STATE(w) == STOPPED)) -> skip
    :: else ->
       by_parent[y] = (is_root -> by_parent[y] : (STATE(w) <= STOPPING));
       walked[y] = true
    fi
  }
}

/* Settler::start(), walk_down() and walk_up() for a stop or a delete of x. */
inline settle() {
  w = word[x];
  if
  :: GEN(w) != gen || STATE(w) == FREE -> skip /* settled and gone before its operation was read */
#ifndef M_STALE_STOP
  :: GEN(w) == gen && verb != terminate_op && EPOCH(w) != epoch -> skip /* another walk has settled it: only reported */
#endif
  :: else ->
     by_parent[x] = (verb == stop_again_op);
     if :: turn[x] -> interrupt(x) :: else fi;
     cut();
     if :: watched -> mark_down() :: else fi;
     if :: x != C && CHILD_OF(x) && verb != stop_self_op -> visit(C, false); first = C :: else fi;
     visit(x, true);
#ifdef M_PARENT_FIRST
     second = first; first = x
#else
     second = x
#endif
  fi
}

/* Settler::resume_down(), resume_one() and stop_again() */
inline resume_down() {
  look(x, gen);
  if
  :: OPEN_VIEW ->
     by_parent[x] = false;
     if
     :: x != C && CHILD_OF(x) && by_parent[C] ->
        w = word[C];
        if
        :: STATE(w) == STOPPED && GATE(w) != TERMINATE ->
           atomic {
             replace(C, w, NEXT(w, OPEN, IDLE));
             if :: done -> resumed(C); by_parent[C] = false :: else fi
           };
           if :: done -> open_door(C, GEN(w), EPOCH(w)) :: else fi
        :: else
        fi
     :: else
     fi
  :: else
  fi;
#ifndef M_NOT_STOPPED_AGAIN
  if
  :: x == C ->
     look(C, gen);
     if
     :: valid && above != OPEN && CAN(STATE(own)) && !(above == TERMINATE && above_state == TERMINATING) ->
        after = NEXT(own, STOP_TREE, STOPPING);
        replace(C, own, after);
        if :: done -> control!stop_again_op(C, gen, EPOCH(after)) :: else fi
     :: else
     fi
  :: else
  fi
#endif
}

/* TreeCore::run_control(), finish_abort() */
inline run_op() {
  if
  :: verb == abort_op ->
     if :: GEN(word[x]) == gen && turn[x] && turn_epoch[x] < epoch -> interrupt(x) :: else fi
  :: verb == resume_op -> resume_down()
  :: else -> settle()
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
     assert((STATE(word[x]) == STOPPED) == D_SHUT(door[x]));      /* no door ajar, none stuck */
     assert(!owed[x] && !turn[x] && flights[x] == 0 && !walked[x])
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
  LOCALS;
  bool walked[3], by_parent[3];
  byte flights[3]; /* Node::flights */
  bool turn[3];    /* TurnData::active */
  byte turn_epoch[3], turn_flight[3]; /* flight: slot + 1 */
  bool owed[3];    /* ghost: its word became stopped, its settled event has not been told */
  mtype verb;
  byte x, y, gen, epoch, s, e, first = NONE, second = NONE;
  bool moved, late, current, deleting;
  byte births = BIRTHS;
  do
  :: atomic {
       if
       :: control?verb, x, gen, epoch
       :: READY(P) -> x = P; e = 1
       :: READY(C) -> x = C; e = 1
       :: f_node[0] != NONE -> x = f_node[0]; s = 0; e = 2
       :: f_node[1] != NONE -> x = f_node[1]; s = 1; e = 2
       :: births > 0 && STATE(word[C]) == FREE -> births--; x = P; e = 3
       :: births > 0 && STATE(word[C]) == FREE -> births--; x = Q; e = 3
#ifdef CONF_CUT
       :: accepted == 0 && resumes[C] > 0 && ABOVE(C) == OPEN && STATE(word[C]) == IDLE && !D_SHUT(door[C]) ->
          door[C] = door[C] + 1; accepted++; e = 5 /* the host sends one on the loop thread */
#endif
#ifdef M_SETTLED_LATER
       :: owed[P] -> x = P; e = 4
       :: owed[C] -> x = C; e = 4
#endif
       :: users == 0 && empty(control) && !READY(P) && !READY(C) && f_node[0] == NONE && f_node[1] == NONE &&
          !owed[P] && !owed[C] && (births == 0 || STATE(word[C]) != FREE) -> break
       fi
     };
     if
     :: e == 0 -> run_op()
     :: e == 1 -> step()
     :: e == 2 -> outcome()
     :: e == 3 -> create()
     :: e == 4 -> tell_settled(x)
     :: e == 5 -> skip
     fi;
     finish_both();
     atomic {
       stepping = NONE; verb = 0; x = 0; y = 0; gen = 0; epoch = 0; s = 0; e = 0; after = 0; ok = false; done = false;
       moved = false; late = false; current = false; FORGET
     }
  od;
  atomic {
    check_end(P);
    check_end(Q);
    check_end(C);
    assert(accepted == handled + dropped + WAITS(P) + WAITS(Q) + WAITS(C)) /* no message is lost */
  }
}
