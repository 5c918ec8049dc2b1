/* The counts of a mailbox, searched exhaustively by spin: two senders, a thread that opens the mailbox after a stop, and
   the loop thread, which takes messages without a write to the head. Why: docs/design/gate-protocol.md. Run it with
   scripts/check-model, which knows the configuration (-DCONF_...) and the mutants (-DM_...).

   What must hold: the limit is never exceeded, and no sender finds the mailbox full that is not; an opened mailbox is
   empty; when no process can act any more, no message waits. */

#define LIMIT 2
#define SENDS 2 /* of each sender */

/* mailbox::Head */
byte pushed;
byte fresh;  /* messages that the loop has not collected */
bool closed;

/* core::Node. The loop's own stores are visible to the others later, unless a sequentially consistent write follows. */
byte own_taken;
byte taken;
bool scheduled;
bool listed; /* in the ready list */

byte backlog;
byte sending = 2;

#define FLUSH taken = own_taken

/* ReadyAgents::add() */
inline add() {
  atomic {
    if
    :: !scheduled -> scheduled = true; listed = true
    :: else
    fi
  }
}

/* mailbox::push() */
active [2] proctype Sender() {
  byte i, head, count, rounds;
  bool open;
  do
  :: i < SENDS ->
     i++;
retry:
     atomic { head = pushed; open = !closed };
     if
     :: !open -> goto next /* the gates decide what the sender does */
     :: else
     fi;
     count = taken;
     if
     :: (head - count) >= LIMIT || count > head ->
#ifndef M_FULL_UNCHECKED
        if
        :: pushed != head || closed -> goto retry
        :: else
        fi;
#endif
        assert(count <= head); /* else it is not full */
        goto next
     :: else
     fi;
     atomic {
       if
       :: pushed == head && !closed ->
          pushed++; fresh++;
          assert(pushed - own_taken <= LIMIT)
       :: else -> goto retry
       fi
     };
     if
     :: scheduled -> goto next
     :: else
     fi;
#ifndef M_FIRST_BY_OLD_COUNT
     count = taken;
#endif
     if
     :: head == count -> add()
     :: else
     fi;
next:
     skip
  :: else -> break
  od;
  sending--
}

/* The stores of the loop become visible at any time. */
active proctype Visible() {
end:
  do
  :: taken != own_taken -> taken = own_taken
  od
}

/* mailbox::open(), for a resume */
active proctype Opener() {
  byte count;
end:
  do
#ifdef M_OPENED_BY_OLD_COUNT
  :: count = taken;
     atomic {
#else
  :: closed ->
     count = taken;
     atomic {
#endif
       if
       :: closed -> pushed = count; assert(count == own_taken); closed = false
       :: else
       fi
     }
  od
}

/* The loop looks for a message; then the agent is ready again. */
inline look() {
  if
  :: !closed && pushed != own_taken -> add()
  :: else
  fi
}

active proctype Loop() {
  byte before, clears, closings;
end:
  do
  :: listed -> /* Scheduler::run_round() */
     listed = false;
     do
     :: if /* mailbox::take() */
        :: backlog == 0 -> atomic { if :: !closed -> backlog = fresh; fresh = 0 :: else fi }
        :: else
        fi;
        if
        :: backlog > 0 -> backlog--; own_taken++
        :: else -> break
        fi
     od;
     atomic { scheduled = false; FLUSH }; /* ReadyAgents::done() */
#ifndef M_DONE_UNASKED
     look()
#endif
  :: !closed && !scheduled && (backlog + fresh) > 0 && clears < 1 -> /* mailbox::clear() or remove() */
     clears++;
     atomic { backlog = backlog + fresh; fresh = 0 };
     if
     :: own_taken = own_taken + backlog; backlog = 0
     :: own_taken++; backlog-- /* mailbox::remove() */
     fi;
#ifndef M_CLEARED_UNORDERED
     FLUSH; /* a sequentially consistent store */
#endif
#ifndef M_CLEARED_UNASKED
     look()
#endif
  :: !closed && closings < 1 -> /* mailbox::close() */
     closings++;
     own_taken = own_taken + backlog; backlog = 0;
     do
     :: before = pushed;
#ifdef M_CLOSED_FIRST
        atomic { if :: pushed == before -> fresh = 0; closed = true; break :: else fi }
     od;
     own_taken = before
#else
        own_taken = before;
        atomic {
          if
          :: pushed == before -> fresh = 0; closed = true; FLUSH; break
          :: else
          fi
        }
     od
#endif
  :: timeout -> /* no process can act any more */
     assert(sending == 0 && !closed && fresh + backlog == 0);
     break
  od
}
