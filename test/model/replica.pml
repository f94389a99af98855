/*
 * The history of a store, its failover, and two processes that follow it and restore what it has lost.
 * README.md says what is modelled, and what is not. tools/evidence/model.js runs it, and every variant.
 *
 * Every step is atomic: one script on the server, or one turn of the event loop of a process. Sets of entries are bit
 * masks. Nonces and epochs are random in the code; here they are the smallest number that nobody remembers.
 */

#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef FAILURES
#define FAILURES 0
#endif
#ifndef CLOCK_CHANGES
#define CLOCK_CHANGES 0
#endif
#ifndef REVOCATIONS
#define REVOCATIONS 1
#endif

#define ENTRIES 3
#define PAGE_SIZE 1
#define NONE 0
#define DEAD 255

/* Fewer states that are the same for all purposes; not where a place may become valid by accident. */
#if !defined(LINKLESS) && !defined(TIMELINES)
#define IS_REDUCED
#endif

#define BIT(entry) (1 << (entry))

/* The end of a history that somebody has seen: a `Seen` of namespace.ts, and the first part of a `Position`. */
typedef Place {
  byte epoch; /* NONE: nothing seen yet */
  byte count; /* of batches in this epoch */
  byte nonce; /* of the last of them */
}

/* What one server has. Batches have one entry; an epoch that begins keeps the entries that are there. */
typedef History {
  byte epoch; /* NONE: the server is empty */
  byte base;  /* how many entries were there when the epoch began */
  byte size;
  byte mask;
  byte entry[ENTRIES];
  byte link[ENTRIES];
#ifdef TIMELINES
  byte timeline;
#endif
}

/*
 * A request: none, decided and not sent, or answered by the server and the answer not read yet. Sending and answering are
 * one step: a request that arrives later is as one that is sent later. For freshness that is the harder case, because
 * more is acknowledged by then.
 */
mtype = { IDLE, DECIDED, ANSWERED }

typedef Read {
  mtype phase;
  Place next;
  byte change; /* how much of the log is read */
  byte entries;
  bit isReset;
  bit isMore;
  byte required; /* what the answer has to have */
}

typedef Write {
  mtype phase;
  Place reply;
  byte entry;
}

typedef Process {
  byte copy;
  byte refused;
  byte unsent;
  bit isFresh;
  bit hasPosition;
  Place position;
  byte change;
  Place seen;
  /* What the store has given since a reset, and whether there was one. */
  bit hasGiven;
  byte given;
  /* The pass that restores: where it is, and what it goes by. */
  bit isRestoring;
  bit isFoundGiven;
  byte found;
  byte at;
  Read read;
  Write restore;
  Write revoke;
}

History primary;
History standby;
Process process[2];

byte revoked;      /* sent by a revoker, whatever became of it */
byte acknowledged;
byte revocations = REVOCATIONS;
byte losses = LOSSES;
byte crashes = CRASHES;
byte failures = FAILURES;
byte clockChanges = CLOCK_CHANGES;

#define COUNT (primary.size - primary.base)
#define P process[p]

/* Whether a place is in the history of the primary: isProven of lua.ts, and the same condition in FEED. */
#if defined(LINKLESS) || defined(TIMELINES)
#define IS_PROVEN(place) (place.epoch == primary.epoch && place.count <= COUNT)
#else
#define IS_PROVEN(place) \
  (place.epoch == primary.epoch && place.count <= COUNT && \
   (place.count == 0 || primary.link[(primary.base + place.count + ENTRIES - 1) % ENTRIES] == place.nonce))
#endif

#define IS_SEEN(place) (place.epoch != NONE && IS_PROVEN(place))

#ifdef TIMELINES
#define IS_POSITION(place) (IS_PROVEN(place) && place.nonce == primary.timeline)
#else
#define IS_POSITION(place) IS_PROVEN(place)
#endif

inline setPlace(to, from) {
  to.epoch = from.epoch;
  to.count = from.count;
  to.nonce = from.nonce
}

inline clearPlace(place) {
  place.epoch = NONE;
  place.count = 0;
  place.nonce = NONE
}

/* The end of the history of the primary. When no loss can come any more, nothing has to be proven. */
inline setEnd(place) {
  place.epoch = primary.epoch;
  place.count = COUNT;
#ifdef TIMELINES
  place.nonce = primary.timeline
#else
  if
#ifdef IS_REDUCED
  :: losses == 0 ->
    place.count = 0;
    place.nonce = NONE
  :: losses > 0 && COUNT > 0 -> place.nonce = primary.link[primary.size - 1]
#else
  :: COUNT > 0 -> place.nonce = primary.link[primary.size - 1]
#endif
  :: else -> place.nonce = NONE
  fi
#endif
}

#define HOLDS(place, field) (place.field == fresh)
#define PROCESS_HOLDS(p, field) \
  (HOLDS(process[p].position, field) || HOLDS(process[p].seen, field) || \
   HOLDS(process[p].read.next, field) || HOLDS(process[p].restore.reply, field) || \
   HOLDS(process[p].revoke.reply, field))
#define LINKED(history) (history.link[0] == fresh || history.link[1] == fresh || history.link[2] == fresh)

byte fresh; /* only within a step */

inline findFreshNonce() {
  fresh = 1;
  do
  :: LINKED(primary) || LINKED(standby) || PROCESS_HOLDS(0, nonce) || PROCESS_HOLDS(1, nonce) -> fresh++
  :: else -> break
  od
}

inline findFreshEpoch() {
  fresh = 1;
  do
  :: primary.epoch == fresh || standby.epoch == fresh || PROCESS_HOLDS(0, epoch) || PROCESS_HOLDS(1, epoch) -> fresh++
  :: else -> break
  od
}

inline copyHistory(to, from) {
  to.epoch = from.epoch;
  to.base = from.base;
  to.size = from.size;
  to.mask = from.mask;
  to.entry[0] = from.entry[0];
  to.entry[1] = from.entry[1];
  to.entry[2] = from.entry[2];
  to.link[0] = from.link[0];
  to.link[1] = from.link[1];
  to.link[2] = from.link[2]
#ifdef TIMELINES
  ; to.timeline = from.timeline
#endif
}

inline clearHistory(history) {
  history.epoch = NONE;
  history.base = 0;
  history.size = 0;
  history.mask = 0;
  history.entry[0] = 0;
  history.entry[1] = 0;
  history.entry[2] = 0;
  history.link[0] = NONE;
  history.link[1] = NONE;
  history.link[2] = NONE
}

/* What was written reaches the standby before the next loss, with all before it, or does not. */
inline replicate(isReplicated) {
  if
  :: isReplicated -> copyHistory(standby, primary)
  :: else
  fi
}

/* A batch of one entry; one that is there is not written again. */
inline append(number, isReplicated) {
  if
  :: primary.mask & BIT(number) -> skip
  :: else ->
#ifdef IS_REDUCED
    if
    :: losses > 0 -> findFreshNonce()
    :: else
    fi;
#else
    findFreshNonce();
#endif
    primary.entry[primary.size] = number;
    primary.link[primary.size] = fresh;
    primary.mask = primary.mask | BIT(number);
    primary.size++;
    fresh = 0;
    replicate(isReplicated)
  fi;
  assert((primary.mask & ~revoked) == 0) /* P4 */
}

#define IS_ON_STANDBY(place) \
  (place.epoch == standby.epoch && place.count <= standby.size - standby.base && \
   (place.count == 0 || standby.link[(standby.base + place.count + ENTRIES - 1) % ENTRIES] == place.nonce))

/* All places that are in no history are the same. */
inline reduce(place) {
  if
  :: place.epoch == NONE -> skip
  :: place.epoch != NONE && losses > 0 && (IS_PROVEN(place) || IS_ON_STANDBY(place)) -> skip
  :: place.epoch != NONE && losses == 0 && IS_PROVEN(place) ->
    place.count = 0;
    place.nonce = NONE
  :: else ->
    place.count = 1;
    place.nonce = DEAD;
    if
    :: place.epoch == primary.epoch || place.epoch == standby.epoch -> skip
    :: else -> place.epoch = DEAD
    fi
  fi
}

inline reduceAll() {
#ifdef IS_REDUCED
  reduce(process[0].position);
  reduce(process[0].seen);
  reduce(process[1].position);
  reduce(process[1].seen);
  if
  :: losses == 0 ->
    primary.link[0] = NONE;
    primary.link[1] = NONE;
    primary.link[2] = NONE
  :: else
  fi
#else
  skip
#endif
}

/* PREPARE, with the '1' of a caller that restores. */
inline prepare(p, isReplicated) {
#ifndef POSITION_KEPT
  /* Some call has found another history: the position is not used again, even if its history comes back. */
  if
  :: P.seen.epoch != NONE && P.hasPosition ->
    P.position.epoch = DEAD;
    P.position.count = 1;
    P.position.nonce = DEAD
  :: else
  fi;
#endif
  if
  :: primary.epoch == NONE || (primary.epoch == P.seen.epoch && !IS_SEEN(P.seen)) ->
#ifdef REVOKE_ALL
    /* What a process without a replica does: everything from before is revoked. */
    if
    :: P.seen.epoch != NONE ->
      primary.mask = 7;
      assert((primary.mask & ~revoked) == 0) /* P4 */
    :: else
    fi;
#endif
    findFreshEpoch();
    primary.epoch = fresh;
    fresh = 0;
    primary.base = primary.size;
    primary.link[0] = NONE;
    primary.link[1] = NONE;
    primary.link[2] = NONE;
    replicate(isReplicated)
  :: else
  fi;
  setEnd(P.seen);
  reduceAll()
}

/* recordProgress of namespace.ts, for an answer that proves nothing about another epoch. */
inline recordProgress(p, place) {
  if
#ifndef FORGOTTEN_PROGRESS
  :: place.epoch == P.seen.epoch && place.count > P.seen.count -> setPlace(P.seen, place)
#endif
  :: else
  fi
}

inline clearRead(p) {
  P.read.phase = IDLE;
  P.read.entries = 0;
  P.read.change = 0;
  P.read.required = 0;
  P.read.isReset = 0;
  P.read.isMore = 0;
  clearPlace(P.read.next)
}

inline clearWrite(call) {
  call.phase = IDLE;
  call.entry = 0;
  clearPlace(call.reply)
}

/* FEED. A call that finds another history prepares, and is sent again. */
inline answerRead(p, isReplicated) {
  if
  :: !IS_SEEN(P.seen) -> prepare(p, isReplicated)
  :: else ->
    P.read.phase = ANSWERED;
    /* What is acknowledged now has to be in the answer. */
    P.read.required = acknowledged & primary.mask;
    if
    :: P.hasPosition && !(IS_POSITION(P.position) && P.change <= primary.size) -> P.read.isReset = 1
    :: else ->
      P.read.change = P.change;
      do
      :: P.read.change < primary.size && P.read.change < P.change + PAGE_SIZE ->
        P.read.entries = P.read.entries | BIT(primary.entry[P.read.change]);
        P.read.change++
      :: else -> break
      od;
      P.read.isMore = (P.read.change < primary.size);
      setEnd(P.read.next)
    fi
  fi
}

inline clearPosition(p) {
  P.hasPosition = 0;
  clearPlace(P.position);
  P.change = 0
}

/* The history of the store is not the one that was read: the copy stays, and what the store gives is written down. */
inline beginGiven(p) {
#ifndef NO_RESTORE
#ifdef GIVEN_KEPT
  if
  :: P.hasGiven -> skip
  :: else ->
#else
  if
  :: true ->
#endif
    if
    :: P.isRestoring && P.isFoundGiven ->
      P.isFoundGiven = 0;
      P.found = P.given
    :: else
    fi;
    P.hasGiven = 1;
    P.given = 0
  fi
#else
  skip
#endif
}

/* One page, as in `read` of follow.ts. */
inline takeAnswer(p) {
  if
  :: P.read.isReset ->
    clearPosition(p);
    beginGiven(p);
#ifdef COPY_CLEARED
    P.copy = 0;
#endif
    clearRead(p)
  :: else ->
    P.copy = P.copy | P.read.entries;
    if
    :: P.hasGiven -> P.given = P.given | P.read.entries
    :: else
    fi;
    P.hasPosition = 1;
    setPlace(P.position, P.read.next);
    P.change = P.read.change;
    if
    :: P.read.isMore -> clearRead(p)
    :: else ->
#ifdef FRESH_BY_REPLY
      P.read.required = acknowledged & primary.mask;
#endif
      assert((P.read.required & ~P.copy) == 0); /* P1 */
      P.isFresh = 1;
      clearRead(p);
      /* `restore` comes after a complete read. That may take as long as it likes. */
      if
      :: P.hasGiven && !P.isRestoring && P.restore.phase == IDLE ->
        P.isRestoring = 1;
        P.isFoundGiven = 1;
        P.at = 0
      :: else
      fi
    fi
  fi;
  check(p)
}

/* Every token is checked at every moment: what was refused once is refused from then on. */
inline check(p) {
  if
  :: P.isFresh -> assert((P.refused & ~P.copy) == 0) /* P2 */
  :: else
  fi;
  assert((P.copy & ~revoked) == 0); /* P4 */
  P.refused = P.copy
}

inline takeAtOnce(p) {
#ifdef ANSWERS_AT_ONCE
  if
  :: P.read.phase == ANSWERED -> takeAnswer(p)
  :: else
  fi
#else
  skip
#endif
}

proctype Reader(byte p) {
  do
  :: d_step { P.read.phase == IDLE -> answerRead(p, 0); takeAtOnce(p) }
  :: d_step { P.read.phase == IDLE && !IS_SEEN(P.seen) && losses > 0 -> answerRead(p, 1); takeAtOnce(p) }
  :: d_step { P.read.phase == ANSWERED -> takeAnswer(p) }
  od
}

/* The same for RESTORE and REVOKE. */
inline answerWrite(p, call, isReplicated) {
  if
  :: !IS_SEEN(P.seen) -> prepare(p, isReplicated)
  :: else ->
    append(call.entry, isReplicated);
    call.phase = ANSWERED;
    setEnd(call.reply)
  fi
}

#define FOUND(p) (P.isFoundGiven -> P.given : P.found)
#define MISSING(p) ((P.copy & ~FOUND(p)) >> P.at)

inline endPass(p) {
  P.isRestoring = 0;
  P.isFoundGiven = 0;
  P.found = 0;
  P.at = 0
}

/* One entry for each call; the code sends 500. */
inline restoreNext(p, isReplicated) {
  do
  :: MISSING(p) & 1 -> break
  :: else -> P.at++
  od;
  P.restore.entry = P.at;
  answerWrite(p, P.restore, isReplicated)
}

inline sendUnsent(p, isReplicated) {
  if
  :: P.unsent & 1 -> P.restore.entry = 0
  :: !(P.unsent & 1) && (P.unsent & 2) -> P.restore.entry = 1
  :: !(P.unsent & 3) -> P.restore.entry = 2
  fi;
  answerWrite(p, P.restore, isReplicated)
}

proctype Restorer(byte p) {
  do
  :: d_step { P.isRestoring && P.restore.phase == IDLE && MISSING(p) -> restoreNext(p, 0) }
  :: d_step { P.isRestoring && P.restore.phase == IDLE && MISSING(p) && losses > 0 -> restoreNext(p, 1) }
  :: d_step { P.isRestoring && P.restore.phase == IDLE && !MISSING(p) ->
      if
      :: P.isFoundGiven ->
        P.hasGiven = 0;
        P.given = 0
      :: else
      fi;
      endPass(p)
    }
  :: d_step { !P.isRestoring && P.restore.phase == IDLE && P.isFresh && P.unsent -> sendUnsent(p, 0) }
  :: d_step { !P.isRestoring && P.restore.phase == IDLE && P.isFresh && P.unsent && losses > 0 -> sendUnsent(p, 1) }
  :: d_step { P.restore.phase == ANSWERED ->
      recordProgress(p, P.restore.reply);
      P.unsent = P.unsent & ~BIT(P.restore.entry);
      if
      :: P.isRestoring -> P.at = P.restore.entry + 1
      :: else
      fi;
      clearWrite(P.restore)
    }
  od
}

/* The revoker is the first of the processes. It begins when its first read is complete. */
proctype Revoker(byte p) {
  do
  :: d_step { P.revoke.phase == IDLE && P.isFresh && revocations > 0 ->
      P.revoke.entry = REVOCATIONS - revocations;
      revocations--;
      revoked = revoked | BIT(P.revoke.entry);
      /* Before it is sent. */
      P.copy = P.copy | BIT(P.revoke.entry);
      P.revoke.phase = DECIDED;
      check(p)
    }
  :: d_step { P.revoke.phase == DECIDED -> answerWrite(p, P.revoke, 0) }
  :: d_step { P.revoke.phase == DECIDED && losses > 0 -> answerWrite(p, P.revoke, 1) }
  :: d_step { P.revoke.phase == ANSWERED ->
      recordProgress(p, P.revoke.reply);
      acknowledged = acknowledged | BIT(P.revoke.entry);
      clearWrite(P.revoke)
    }
  od
}

/* A call that fails may have been executed. */
inline failRevoke(p) {
  P.unsent = P.unsent | BIT(P.revoke.entry);
  clearWrite(P.revoke)
}

inline failRestore(p) {
  if
  :: P.isRestoring -> endPass(p)
  :: else
  fi;
  clearWrite(P.restore)
}

/*
 * One connection: answers of a server that is gone are read before those of the next one, as if they had been read
 * before the loss, or never.
 */
inline lose(p) {
  clearRead(p);
  if
  :: P.restore.phase == ANSWERED -> failRestore(p)
  :: else
  fi;
  if
  :: P.revoke.phase == ANSWERED -> failRevoke(p)
  :: else
  fi
}

inline endLoss() {
  losses--;
  lose(0);
  lose(1);
  /* Nothing can make use of it any more. */
  if
  :: losses == 0 -> clearHistory(standby)
  :: else
  fi;
  reduceAll()
}

inline crash(p) {
  P.copy = 0;
  P.refused = 0;
  P.unsent = 0;
  P.isFresh = 0;
  clearPosition(p);
  clearPlace(P.seen);
  P.hasGiven = 0;
  P.given = 0;
  endPass(p);
  clearRead(p);
  clearWrite(P.restore);
  clearWrite(P.revoke)
}

/* The clock of a process was set back: its copy may lack what it dropped too early, so it reads everything again. */
inline setClockBack(p) {
  clearPosition(p);
#ifndef CLOCK_WITHOUT_RESTORE
  beginGiven(p)
#endif
}

/* One fault of a process. */
proctype ProcessFaults(byte p) {
  do
  :: d_step { crashes > 0 && P.isFresh -> crashes--; crash(p) }
  :: d_step { clockChanges > 0 && P.read.phase == IDLE && P.hasPosition -> clockChanges--; setClockBack(p) }
  :: d_step { failures > 0 && P.read.phase == ANSWERED -> failures--; clearRead(p) }
  :: d_step { failures > 0 && P.restore.phase == ANSWERED -> failures--; failRestore(p) }
  :: d_step { failures > 0 && P.revoke.phase != IDLE -> failures--; failRevoke(p) }
  od
}

#define CAN_LOSE (losses > 0 && primary.epoch != NONE)

proctype StoreFaults() {
  do
  /* A failover, to a standby that may be behind. */
  :: d_step { CAN_LOSE && standby.epoch != NONE ->
      copyHistory(primary, standby);
#ifdef TIMELINES
      primary.timeline++;
#endif
      endLoss()
    }
  /* All data is removed, here or on the standby as well. */
  :: d_step { CAN_LOSE -> clearHistory(primary); endLoss() }
  :: d_step { CAN_LOSE && losses > 1 -> clearHistory(primary); clearHistory(standby); endLoss() }
  od
}

init {
  atomic {
    byte p;
    for (p : 0 .. 1) {
      P.read.phase = IDLE;
      P.restore.phase = IDLE;
      P.revoke.phase = IDLE
    }
    p = 0;
    run Reader(0);
    run Reader(1);
    run Restorer(0);
    run Restorer(1);
    run Revoker(0);
    run ProcessFaults(0);
    run ProcessFaults(1);
    run StoreFaults()
  }
}

/* P3. Faults are limited in number. */
ltl settles { <>[] (primary.mask == process[0].copy && primary.mask == process[1].copy) }
