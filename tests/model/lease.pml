/* Leases, searched exhaustively by spin: threads that renew the lease of an agent, one that notices its end, one that resumes
   the agent, the loop thread that admits actions and settles, and the clock. Why: docs/design/gate-protocol.md. Run it with
   scripts/check-model, which knows the configurations (-DCONF_...) and the mutants (-DM_...). The rules of the mirror are
   those of gate.pml.

   What must hold. A renewal that succeeds comes before the end of the lease, and no stop by the lease follows before the
   renewed time is over. When a renewal is refused, the agent is closed, until a resume. An admission that begins after the
   end is refused. The agent is stopped by its lease once in each life of the lease; a resume begins a new life, with a
   whole lease. */

#define OPEN 0
#define STOPPING 1
#define STOPPED 2
#define OVER 0      /* Lease::over */
#define LENGTH 2    /* Lease::length_ */
#define LAST_HOUR 4 /* the clock stops here */

byte hour = 2;    /* of the clock; the lease began one hour ago */
byte until = 3;  /* Lease::until_ */
bool ended;      /* Lease::ended_ */
byte state;      /* of the agent, with its gate: core::PackedState */
bool closing;    /* TreeShared::closing */
byte users;      /* other threads still at work */

/* Ghost. */
byte granted = 3; /* the end of the lease that was granted last */
byte grants;      /* how often a lease was granted: by renewals and resumes */
byte told;        /* stops by the lease, in this life of it */
byte resumes;
bool refused;     /* a renewal returned `lease_expired`, and no resume since */

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define LOCALS byte u, t, since; bool over, ok, was_over
inline lock() { atomic { !closing -> closing = true } }
#define FORGET atomic { u = 0; t = 0; over = false }
#define GRANT(end) until = end; granted = until; grants++

/* Lease::is_over() */
inline is_over() {
  u = until;
  do
  :: u == OVER -> over = true; break
  :: u != OVER ->
     t = hour;
     if
     :: t < u -> over = false; break
     :: else ->
#ifdef M_OVER_BY_STORE
        until = OVER; over = true; break
#else
        atomic { if :: until == u -> until = OVER; over = true; break :: else -> u = until fi }
#endif
     fi
  od
}

/* close_for_stop() */
inline stop_by_lease() {
  atomic {
    if
    :: state == OPEN ->
       state = STOPPING;
       told++;
       assert(told == 1);       /* once in each life */
       assert(hour >= granted)  /* never after a renewal or a resume, until their time is over */
    :: else                     /* another verb has closed it */
    fi
  }
}

/* Lease::holds(), Leases::end(), tree::stop_for_lease(), Lease::end() */
inline check() {
  is_over();
  if
  :: over && !ended ->
#ifndef M_END_UNLOCKED
     lock();
#endif
     if
     :: ended -> skip
     :: else ->
        is_over();
        if
        :: over ->
#ifdef M_ENDED_FIRST
           ended = true; stop_by_lease()
#else
           stop_by_lease(); ended = true
#endif
        :: else
        fi
     fi;
#ifndef M_END_UNLOCKED
     closing = false
#endif
  :: else
  fi;
  FORGET
}

/* Lease::reopen(). A new life begins with the new time. */
inline reopen() {
#ifndef M_OLD_LEASE
  t = hour;
  atomic { GRANT(t + LENGTH); told = 0 };
  ended = false
#else
  skip
#endif
}
inline open() { atomic { state = OPEN; resumes++; refused = false } } /* Node::replace() */

proctype Clock() {
  do
  :: hour < LAST_HOUR -> hour++
  :: hour == LAST_HOUR -> break
  od;
  users--
}

/* tree::renew() and Lease::renew() */
proctype Renewer(byte calls) {
  LOCALS;
  do
  :: calls > 0 ->
     calls--;
     since = resumes;
     u = until;
     do
     :: u == OVER -> ok = false; break
     :: u != OVER ->
        t = hour;
#ifdef M_RENEWED_BY_CLOCK
        if :: t >= u -> ok = false; break :: else fi; /* although another thread has renewed it */
#endif
        atomic {
          if
#ifdef M_RENEWED_BY_STORE
          :: true ->
#else
          :: until == u ->
#endif
             ok = (t < u);
             if
             :: ok -> assert(until != OVER && told == 0); GRANT(MAX(u, t + LENGTH))
             :: else -> until = OVER
             fi;
             break
          :: else -> u = until
          fi
        }
     od;
     if
     :: !ok ->
#ifndef M_REFUSED_UNCHECKED
        check(); /* Leases::check() */
#endif
        atomic {
          if
          :: resumes == since -> assert(state != OPEN); refused = true
          :: else
          fi
        }
     :: else
     fi;
     atomic { u = 0; t = 0; since = 0; ok = false; over = false }
  :: else -> break
  od;
  users--
}

/* A send, or a query, on any thread: Leases::check() */
proctype Noticer() {
  LOCALS;
  check();
  users--
}

/* tree::resume() and open_for_resume() */
proctype Resumer() {
  byte t;
  if
  :: state == STOPPED
  :: hour == LAST_HOUR /* sooner it would be refused, and change nothing */
  fi;
  lock();
  if
  :: state == STOPPED ->
#ifdef M_REOPENED_LAST
     open(); reopen()
#else
     reopen(); open()
#endif
  :: else
  fi;
  atomic { closing = false; users--; t = 0 }
}

/* Scheduler::step(): an admission is preceded by Leases::check(). */
inline step() {
  atomic { was_over = (until <= hour); since = grants };
#ifndef M_ADMITTED_UNCHECKED
  check();
#endif
  atomic {
    if
    :: state == OPEN ->
       assert(!was_over || grants != since); /* it began after the end: only a renewal in time admits it */
       assert(!refused)
    :: else
    fi
  }
}

/* SettleWalk::resume(): the agent was stopped by an ancestor, which is resumed. */
inline resume_below() {
#ifndef M_WALK_UNLOCKED
  lock();
#endif
  reopen();
  open();
#ifndef M_WALK_UNLOCKED
  closing = false
#endif
}

#ifdef CONF_LEASE_BELOW
#define BELOW true
#else
#define BELOW false
#endif

proctype Loop() {
  LOCALS;
  byte steps = 1;
  bool resumes_it = BELOW;
  do
  :: steps > 0 && state == OPEN -> steps--; step(); atomic { u = 0; t = 0; since = 0; over = false; was_over = false }
  :: state == STOPPING -> state = STOPPED /* AgentSettler::write_stopped() */
  :: resumes_it -> resumes_it = false; resume_below()
  :: users == 0 && state != STOPPING && !resumes_it -> break
  od;
  check(); /* LeaseTimer::update() */
  assert(until != OVER || state != OPEN); /* no end is lost */
  assert(state != OPEN || !ended)         /* nor the next one */
}

init {
  atomic {
#ifdef CONF_LEASE /* renewals against a thread that notices the end, and the loop */
    users = 3; run Renewer(1); run Renewer(1);
#endif
#ifdef CONF_LEASE_RESUMED /* a resume, of an agent that was stopped by its lease or otherwise */
    if :: state = OPEN :: state = STOPPED fi;
    users = 4; run Renewer(1); run Noticer(); run Resumer();
#endif
#ifdef CONF_LEASE_BELOW /* an agent with a lease is resumed because of its ancestor */
    state = STOPPED;
    users = 3; run Renewer(1); run Noticer();
#endif
    run Clock();
    run Loop()
  }
}
