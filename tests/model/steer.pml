/* Steered messages, searched exhaustively by spin: two threads that steer into a running turn, a thread that stops or
   interrupts the agent, and the loop thread that runs the turn. Why: docs/design/turn.md. Run it with scripts/check-model,
   which knows the configurations (-DCONF_...) and the mutants (-DM_...).

   What must hold: each message that was taken has exactly one fate; a model call that was ended for a message never gives
   its answer to the turn; only that call is cut, never a later one; at the end nothing is left in the box. */

#define IDLE 0
#define WAITING 1
#define PROCESSING 2

/* core::PackedState: the state, an epoch of one bit, and the gate. */
byte state = WAITING;
bit epoch;
bool gate_closed;

#define MESSAGES 2
#define FREE 0
#define REFUSED 1
#define TAKEN 2
byte verdict[MESSAGES]; /* of steer() */
byte fates[MESSAGES];

/* mailbox::SteerBox */
bool locked;
bool in_box[MESSAGES];
bool cuts;
bool box_used;   /* SteerBox::size_ */

/* turn::Operations: the numbers of model calls. One is open at a time. */
byte open_call;   /* 0: none */
bool sent;        /* the current call */
byte current = 1; /* the call that is open, or the next one; or the one whose answer is not taken yet */
bool stopped[7];  /* the stop token of a call */
bool uncut[7];    /* void, and no thread will cut it: it must not be sent */
bool voided[7];   /* a steer has answered `now` with this as the current call, which does not have the message */
byte busy = MESSAGES + 1;

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

proctype Steerer(byte m) {
  byte found = 0;
  if
  :: gate_closed -> verdict[m] = REFUSED; goto done /* the check before */
  :: else
  fi;
  lock();
#ifndef M_STATE_READ_FIRST
  in_box[m] = true;
  box_used = true;
#endif
  atomic { /* one read of the packed state */
    if
    :: gate_closed -> verdict[m] = REFUSED
    :: !gate_closed && state == WAITING ->
       verdict[m] = TAKEN;
       cuts = true;
       voided[current] = true
    :: else -> verdict[m] = TAKEN
    fi;
#ifdef M_GATE_READ_ONCE
    if
    :: verdict[m] == REFUSED -> verdict[m] = TAKEN
    :: else
    fi
#endif
  }
#ifdef M_STATE_READ_FIRST
  in_box[m] = true;
  box_used = true;
#endif
  if
  :: verdict[m] == REFUSED -> in_box[m] = false
  :: verdict[m] == TAKEN && cuts -> /* Operations::model_call_of() */
     atomic { found = open_call; uncut[current] = uncut[current] || (voided[current] && !open_call && !sent) }
  :: else
  fi;
#ifdef M_CUT_UNLOCKED
  unlock();
  if
  :: found -> found = open_call /* looked up after the lock was released */
  :: else
  fi;
#else
  unlock();
#endif
  if
  :: found ->
     assert(voided[found]); /* a later call is never cut */
     stopped[found] = true
  :: else
  fi;
done:
  atomic { busy--; found = 0 }
}

proctype Verb() {
  atomic {
    if
    :: gate_closed = true; epoch = 1 - epoch /* stop */
    :: state != IDLE -> state = IDLE; epoch = 1 - epoch /* interrupt */
    :: skip
    fi
  }
  busy--
}

/* The fate of every message in the box. */
inline take_all(delivers) {
  if
  :: box_used ->
     lock();
     i = 0;
     do
     :: i < MESSAGES && in_box[i] -> in_box[i] = false; fates[i]++; i++
     :: i < MESSAGES && !in_box[i] -> i++
     :: i == MESSAGES -> break
     od;
     cuts = false;
     box_used = false;
     if
     :: delivers -> atomic { voided[current] = false; uncut[current] = false } /* it has the messages */
     :: else
     fi;
     unlock()
  :: else
  fi
}

#define ADMITTED (!gate_closed && epoch == began)

active proctype Loop() {
  byte i = 0;
  bit began = 0;
  byte used = 0;
  atomic { run Steerer(0); run Steerer(1); run Verb() }
start: /* ModelCalls::start() */
  take_all(true); /* ModelCalls::write_steered() */
  if
  :: !ADMITTED -> goto over
  :: else
  fi;
  open_call = current;
  if
  :: !ADMITTED -> open_call = 0; goto over
  :: else
  fi;
#ifndef M_SENT_UNASKED
  if
  :: box_used && cuts -> atomic { open_call = 0; current++ }; goto start /* ModelCalls::send() */
  :: else
  fi;
#endif
  used = open_call;
  assert(!uncut[used]);
  sent = true;
  if
  :: true            /* ModelCalls::on_outcome(): completed */
  :: stopped[used]   /* or cancelled */
  fi;
  open_call = 0;
  if
  :: !ADMITTED -> goto over
  :: ADMITTED && box_used && cuts -> goto again
  :: else
  fi;
  atomic { /* TurnRunner::take_answer() */
    if
    :: ADMITTED && state == WAITING -> state = PROCESSING
    :: else -> goto over
    fi
  }
#ifndef M_ANSWER_UNASKED
  if
  :: box_used && cuts -> goto again
  :: else
  fi;
#endif
  assert(!voided[used]);
  if
  :: goto next_step                   /* the answer has tool calls */
  :: atomic {                         /* TurnEnds::leave() */
       if
       :: ADMITTED && state == PROCESSING -> state = IDLE
       :: else
       fi
     };
     goto over
  fi;
again:
next_step:
  if
  :: current < 3 ->
     atomic {
       if
       :: ADMITTED -> state = WAITING; sent = false; current++
       :: else -> goto over
       fi
     };
     goto start
  :: else /* bounds the model: the turn fails */
  fi;
  atomic {
    if
    :: ADMITTED -> state = IDLE
    :: else
    fi
  }
over:
  open_call = 0;
  /* release_steered(), here and for the operation of each steer. A stopped agent settles, and is perhaps removed: from
     then on nobody looks into the box for it. */
  do
  :: gate_closed -> break
  :: !gate_closed && busy != 0 -> take_all(false)
  :: !gate_closed && busy == 0 -> break
  od;
#ifndef M_NO_LAST_LOOK
  take_all(false); /* return_steered() */
#endif
  busy == 0;
  i = 0;
  do
  :: i < MESSAGES ->
     assert(!in_box[i]);
     assert(fates[i] == (verdict[i] == TAKEN -> 1 : 0));
     i++
  :: else -> break
  od
}
