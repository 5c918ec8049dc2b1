/* The configurations: which agents, which threads, how many messages. Each small enough to be searched whole. */

#define LIVE(x, mum) packed[x] = PACKED(1, 0, OPEN, IDLE); parent[x] = mum; head[x] = HEAD_OPEN(1); life[x] = 1
#define VACANT(x, mum) packed[x] = PACKED(1, 0, OPEN, FREE); parent[x] = mum; head[x] = HEAD_CLOSED(0, 0)
#define MAIL(x, n) head[x] = head[x] + n; accepted = accepted + n
#define COUPLE LIVE(P, NONE); LIVE(Q, NONE); LIVE(C, P); true_parent[1] = P
#define FAMILY COUPLE; if :: watched = true :: watched = false fi

init {
  atomic {
#ifdef CONF_STOP /* a stop and a resume of a tree at work: G1, G4 */
    FAMILY; MAIL(P, 1); MAIL(C, 1); users = 2;
    run Stopper(P, 1, true); run Resumer(P, 1);
#endif
#ifdef CONF_STOPS /* two stops, a resume: C12 */
    FAMILY; users = 3;
    run Stopper(P, 1, true); run Stopper(P, 1, true); run Resumer(P, 1);
#endif
#ifdef CONF_MAIL /* a message against a stop and a resume: G2 */
    LIVE(P, NONE); LIVE(Q, NONE); VACANT(C, P); users = 3;
    run Stopper(P, 1, true); run Resumer(P, 1); run Sender(P, 1);
#endif
#if defined(CONF_HEAD) || defined(CONF_HEAD_WRAP) /* messages against two stops and a resume: the head and its ticket */
    LIVE(P, NONE); LIVE(Q, NONE); VACANT(C, P); users = 4;
    run Stopper(P, 1, true); run Stopper(P, 1, true); run Resumer(P, 1); run Sender(P, 1);
#endif
#ifdef CONF_CHILD_MAIL /* messages to a child while its parent is stopped and resumed */
    FAMILY; users = 3;
    run Stopper(P, 1, true); run Resumer(P, 1); run Sender(C, 1);
#endif
#ifdef CONF_CHILD /* a child stopped and resumed on its own while its parent is stopped */
    COUPLE; users = 4;
    run Stopper(C, 1, true); run Resumer(C, 1); run Stopper(P, 1, true); run Resumer(P, 1);
#endif
#ifdef CONF_SELF /* a stop without the children */
    FAMILY; MAIL(C, 1); users = 3;
    run Stopper(P, 1, false); run Stopper(P, 1, true); run Resumer(P, 1);
#endif
#ifdef CONF_WIDEN /* the same, with a delete on top, while the parent's own turn delays the first stop */
    COUPLE; MAIL(P, 1); users = 3;
    run Stopper(P, 1, false); run Stopper(P, 1, true); run Terminator(P, 1);
#endif
#ifdef CONF_CREATE /* a child linked in while its parent is stopped: G2, E6 */
    LIVE(P, NONE); LIVE(Q, NONE); VACANT(C, P); users = 2;
    run Stopper(P, 1, true); run Resumer(P, 1);
#endif
#ifdef CONF_RECYCLE /* a slot that gets a new agent below another parent, while old handles are used */
    FAMILY; users = 3;
    run Terminator(C, 1); run Sender(C, 1); run Stopper(C, 1, true);
#endif
#ifdef CONF_RECYCLE_BUSY /* the same with a turn that is under way */
    FAMILY; MAIL(C, 1); users = 2;
    run Terminator(C, 1); run Stopper(P, 1, true);
#endif
#ifdef CONF_DELETE /* deletes and stops of parent and child: X13 */
    FAMILY; users = 3;
    run Stopper(P, 1, true); run Terminator(C, 1); run Terminator(P, 1);
#endif
#ifdef CONF_DELETE_BUSY /* a delete that meets a stop which waits for a turn below */
    FAMILY; MAIL(C, 1); users = 2;
    run Stopper(P, 1, true); run Terminator(P, 1);
#endif
#ifdef CONF_DELETE_RESUME /* a delete against a resume */
    FAMILY; users = 3;
    run Stopper(P, 1, true); run Terminator(P, 1); run Resumer(P, 1);
#endif
#ifdef CONF_LATE_ANSWER /* answers against an abort and a stop: F6 */
    LIVE(P, NONE); LIVE(Q, NONE); VACANT(C, P); MAIL(P, 2); users = 2;
    run Aborter(P, 1); run Stopper(P, 1, true);
#endif
#ifdef CONF_CUT /* a stopper that is slow to cut, while its agent is settled, resumed, and calls again */
    COUPLE; users = 2;
    run Stopper(C, 1, true); run Resumer(C, 1);
#endif
#ifdef CONF_OLD_CALL /* an aborted call that has not let go, while another agent is stopped */
    LIVE(P, NONE); LIVE(Q, NONE); LIVE(C, Q); true_parent[1] = Q; MAIL(P, 2); users = 2;
    run Aborter(P, 1); run Stopper(Q, 1, true);
#endif
#ifdef CONF_CLOSE /* the tree is closed at any moment, also within a turn, against a stop and a message */
    LIVE(P, NONE); LIVE(Q, NONE); LIVE(C, P); true_parent[1] = P; MAIL(C, 1); users = 2;
    run Stopper(P, 1, true); run Sender(C, 1);
#endif
    run Loop()
  }
}
