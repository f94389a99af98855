import { CLOCKS_AGREE_MS, createFaults, type Revocation, TOLERANCE_MS } from './faults.js'
import { PROVIDER_PREFIX } from './held.js'
import type { Event, Fault, FaultKind, Place, Target, TokenFacts } from './history.js'
import { createLogouts, type Logout } from './logouts.js'
import type { CheckerOptions, Exception, Promised, Violation } from './promises.js'
import { WRITES_AT_REST } from './rest.js'

/** Looks at every request and its answer, and knows nothing else. */
export interface Checker {
  readonly event: (event: Event) => void
  readonly fault: (fault: Fault) => void
  readonly violations: readonly Violation[]
  /** How often each exception was granted. */
  readonly exceptions: ReadonlyMap<Exception, number>
}

interface Session {
  readonly user: string
  readonly t0: number
  readonly t1: number
  /** Whether anybody but its owner has used it. */
  isStolen: boolean
  /** The keys that have signed its refresh tokens. */
  readonly kids: Set<string>
  /** Refresh tokens that somebody has sent; without an answer, or after an outage, for good. */
  readonly sent: { readonly jti: string; readonly t0: number; t1: number }[]
  /** What each refresh token was exchanged for, and when. */
  readonly parents: Map<string, { readonly jti: string; readonly at: number }>
  /** The last refresh token that was exchanged, and since when. The one that it was given for is used up by that. */
  head: { readonly jti: string; readonly at: number } | null
  /** Whether a login over the limit may have ended it. */
  mayHaveEnded: boolean
  /** Whether its own login, carried out twice, may have ended it: by a clock that was set back, it is the oldest. */
  readonly mayHaveEndedItself: boolean
  /** Whether a dead token of it waited in a process that stood still. */
  hasLateRequest: boolean
}

// For tokens of our own, and for those of the provider.
const ENTRIES_PER_REVOCATION = 2
const MAX_TIMERS = 200
const MAX_TIMERS_AT_REST = 5
const MAX_MESSAGE_MS = 1000
const MOST_REFUSED = 50
const SAME_MOMENT_MS = 10
const MAX_LATE_MS = 60_000
const MAX_CLOCK_ERROR_MS = 60_000
const MAX_LEAD_MS = 2000
// `JWT_DECODE_LEEWAY`, and whole seconds.
const PROVIDER_LEEWAY_MS = 11_000

/** Nothing has happened yet. */
export function createChecker(options: CheckerOptions): Checker {
  const { boundMs, graceMs, sessionLifetimeMs, longestLifetimeMs, drift, isQuiet } = options
  const violations: Violation[] = []
  const exceptions = new Map<Exception, number>()
  const past = createFaults(options)
  const { faults, losses, wasRestored, isAcrossSides, findSuspension, isDisturbed, isClockWrong, wasHeld } =
    past
  const sessions = new Map<string, Session>()
  const revocations = new Map<string, Revocation[]>()
  // The tokens that each process has refused, and when.
  const refused = new Map<string, Map<string, number>>()
  const sessionsOf = new Map<string, number>()
  const lateOpens = new Map<string, number>()
  const alive: number[] = []
  // The ids, for as long as the world lasts.
  const everRevoked = { key: new Set<string>(), session: new Set<string>() }
  const logouts = createLogouts({ boundMs, isQuiet, faults, losses })

  const grant = (name: Exception): void => void exceptions.set(name, (exceptions.get(name) ?? 0) + 1)
  const report = (promised: Promised, event: Event, reason: string): void => {
    violations.push({ promised, at: event.t1, reason, event })
  }
  const toName = ({ kind, id }: Target): string => `${kind}:${id}`
  const toLife = ({ application, life }: Place): string => `${application} ${life}`

  const listRevocations = (target: Target): readonly Revocation[] => revocations.get(toName(target)) ?? NONE
  const listTargets = ({ jti, sid, user, kid }: TokenFacts): readonly Target[] => [
    { kind: 'token', id: jti },
    { kind: 'session', id: sid },
    { kind: 'key', id: kid },
    { kind: 'user', id: user },
    { kind: 'all', id: '' },
  ]
  const listOf = function* (token: TokenFacts): Iterable<[Target, readonly Revocation[]]> {
    for (const target of listTargets(token)) yield [target, listRevocations(target)]
  }

  // A watermark concerns a session for certain if that was open when it was asked for, and certainly not if the session was
  // asked for after the watermark was acknowledged.
  const isWatermark = ({ kind }: Target): boolean => kind === 'user' || kind === 'all'
  // What a logout is about was over when it arrived first, even if that had no answer.
  const isConcerned = (target: Target, { t0, logout }: Revocation, session: Session | undefined): boolean =>
    !isWatermark(target) || (session !== undefined && session.t1 < (logout?.firstAt ?? t0))
  const mayConcern = (target: Target, revocation: Revocation, session: Session | undefined): boolean =>
    !isWatermark(target) || session === undefined || session.t0 <= revocation.t1 + readLeeway(session)
  // Issuers: a token of a provider that was issued within the leeway after the call is refused too.
  const readLeeway = ({ user, t0 }: Session): number =>
    user.startsWith(PROVIDER_PREFIX) ? PROVIDER_LEEWAY_MS + 2 * (MAX_LEAD_MS + drift * t0) : 0

  // Of two deliveries of a logout at the same time, the other one may have been carried out, in another process.
  const wasDeliveredTwice = ({ logout, t1 }: Revocation, list: readonly Revocation[]): boolean =>
    logout !== null &&
    list.some((other) => other.logout === logout && other.t0 > logout.firstAt && other.t0 < t1)

  const checkAccepted = (event: Event & { op: 'check' }): void => {
    const { token, t0 } = event
    const session = sessions.get(token.sid)
    const life = toLife(event)
    if (refused.get(life)?.has(token.jti) === true && !logouts.wasRepeated(listTargets(token), event)) {
      const isMissed = [...listOf(token)].some(([target, list]) =>
        list.some((revocation) => isMissedByClock(target, revocation, session)),
      )
      if (isMissed) grant('wrong clock')
      else report('final', event, 'accepted after this process had refused it as revoked')
    }
    for (const [target, list] of listOf(token)) {
      for (const revocation of list) {
        if (revocation.t1 >= t0 || !isConcerned(target, revocation, session)) continue
        if (isMissedByClock(target, revocation, session) || isProviderClockWrong(session, t0)) {
          grant('wrong clock')
          continue
        }
        if (isBeyondWatermark(target, revocation, session)) {
          grant('lost session')
          continue
        }
        const late = t0 - revocation.t1
        const what = `${target.kind} revoked at ${Math.round(revocation.t1)}`
        const isFirst = revocation.t0 === (revocation.logout?.firstAt ?? revocation.t0)
        if (toLife(revocation) === life && isFirst && !wasDeliveredTwice(revocation, list)) {
          report('immediate', event, `${what} in the same process, accepted ${Math.round(late)} ms later`)
          continue
        }
        const isLate = late > boundMs * (1 + drift) + TOLERANCE_MS
        if (!isLate && !revocation.isEverywhere && !event.isFinal) continue
        // A check that asks the store takes a while, and a fault may have ended meanwhile.
        const exception =
          wasRestored(revocation, t0) ??
          wasRestored(revocation, event.t1) ??
          (isAcrossSides(revocation, event, t0) ? 'isolated primary' : null) ??
          findSuspension(event, t0) ??
          logouts.wasKept(revocation, t0)
        if (exception !== null) {
          grant(exception)
          continue
        }
        const promised = event.isFinal ? 'durable' : isLate ? 'bounded' : 'everywhere'
        report(promised, event, `${what}, accepted ${Math.round(late)} ms later`)
      }
    }
  }

  const findCause = (token: TokenFacts, at: number): boolean => {
    const session = sessions.get(token.sid)
    if (session?.mayHaveEnded === true) return true
    for (const [target, list] of listOf(token)) {
      if (list.some((one) => one.t0 <= at && mayConcern(target, one, session))) return true
    }
    return session?.isStolen === true && mayHaveSentDead(session)
  }

  // Anyone who sends a dead token ends the session, also if the answer is lost. An owner who is alone never has one. A token
  // may be dead once another has arrived, unless it comes from that one.
  const mayHaveSentDead = ({ sent, parents }: Session): boolean => {
    const comesFrom = (jti: string, other: string): boolean => {
      for (let parent = parents.get(jti); parent !== undefined; parent = parents.get(parent.jti)) {
        if (parent.jti === other) return true
      }
      return false
    }
    return sent.some(({ jti, t1 }) =>
      sent.some((other) => other.t0 < t1 && other.jti !== jti && !comesFrom(jti, other.jti)),
    )
  }

  const checkRefused = (event: Event & { op: 'check' }): void => {
    const { token, t1 } = event
    const life = toLife(event)
    const known = refused.get(life) ?? new Map<string, number>()
    refused.set(life, known)
    known.set(token.jti, t1)
    if (findCause(token, t1)) return
    if (losses.some(({ t0 }) => t0 <= t1)) return grant('lost data revokes everything')
    if (logouts.wasRepeated(listTargets(token), event)) return grant('repeated logout in an outage')
    if (sessions.get(token.sid)?.mayHaveEndedItself === true) return grant('wrong clock')
    if (sessions.get(token.sid)?.hasLateRequest === true) return grant('late request')
    if (isProviderClockWrong(sessions.get(token.sid), t1) || isReachedByClock(token))
      return grant('wrong clock')
    report('no wrong rejection', event, 'refused as revoked, and nobody revoked it')
  }

  // Where messages are lost at any time, a single refusal proves nothing, but a majority of refusals does. Checks of the
  // same moment count as one: a single lost message explains them all.
  const checks = new Map<string, { refused: number; answered: number; countedAt: number }>()
  const countCheck = (event: Event & { op: 'check' }): void => {
    if (isQuiet || isDisturbed(event)) return
    const counted = checks.get(toLife(event)) ?? { refused: 0, answered: 0, countedAt: -Infinity }
    checks.set(toLife(event), counted)
    if (Math.abs(event.t0 - counted.countedAt) < SAME_MOMENT_MS) return
    counted.countedAt = event.t0
    if (event.result !== 'REVOCATION_UNAVAILABLE') return void counted.answered++
    const { answered } = counted
    const refused = ++counted.refused
    if (refused % MOST_REFUSED > 0 || refused <= answered) return
    report('available', event, `${refused} checks refused, ${answered} answered`)
  }
  const checkUnavailable = (event: Event): void => {
    if (!isQuiet || isDisturbed(event)) return
    report('available', event, `${event.op} refused, and nothing was wrong`)
  }

  // Issuers: the clocks of a provider and of the store differ by no more than the leeway.
  const isProviderClockWrong = (session: Session | undefined, at: number): boolean =>
    session?.user.startsWith(PROVIDER_PREFIX) === true &&
    (isClockWrong(at) || 2 * MAX_LEAD_MS + drift * at > PROVIDER_LEEWAY_MS)

  // Security events: the watermark of a logout that is kept is its moment, by the clock of the process that received it.
  const isMissedByClock = (target: Target, revocation: Revocation, session: Session | undefined): boolean => {
    const { logout, t1 } = revocation
    if (logout === null || session === undefined || !isWatermark(target) || !logouts.mayBeKept(revocation)) {
      return false
    }
    return isClockWrong(t1) || session.t1 > logout.firstAt - 2 * MAX_LEAD_MS - drift * t1
  }

  // Replica: a watermark does not reach tokens of a session that was opened by a clock ahead of it, and then lost. A session
  // starts after the watermarks that there are, and a clock that was ahead once may have set one of those: that of the
  // store, or of the process that revoked.
  const isBeyondWatermark = (target: Target, { t1 }: Revocation, session: Session | undefined): boolean => {
    if (session === undefined || !isWatermark(target)) return false
    const isLost = losses.some(({ t0, lostAfter }) => lostAfter <= session.t1 && session.t0 <= t0 && t0 <= t1)
    if (!isLost) return false
    const watermarks = [{ kind: 'user', id: session.user } as const, { kind: 'all', id: '' } as const]
      .flatMap(listRevocations)
      .filter((one) => one.t0 <= session.t1)
    const reached = findSteps('store clock step', session.t1).map((step, at, steps) => {
      const end = Math.min(steps[at + 1]?.t0 ?? Infinity, session.t1)
      const hasMattered = end === session.t1 || watermarks.some((one) => step.t0 <= one.t1)
      return hasMattered ? toReached(step, end) : 0
    })
    for (const one of watermarks) {
      for (const step of findSteps('clock step', one.t1)) {
        if (step.applications?.includes(one.application) !== true) continue
        reached.push(toReached(step, Math.min(one.t1, session.t1)))
      }
    }
    return t1 < Math.max(0, ...reached) + CLOCKS_AGREE_MS
  }
  const findSteps = (kind: FaultKind, until: number): readonly Fault[] =>
    faults.filter((step) => step.kind === kind && step.t0 <= until)
  // What time a clock has shown, at most.
  const toReached = ({ byMs = 0 }: Fault, until: number): number =>
    byMs > CLOCKS_AGREE_MS ? until + byMs : 0

  const isReachedByClock = (token: TokenFacts): boolean => {
    const session = sessions.get(token.sid)
    if (session === undefined) return false
    return [...listOf(token)].some(([target, list]) =>
      list.some(
        (one) =>
          one.logout !== null &&
          isWatermark(target) &&
          logouts.mayBeKept(one) &&
          (isClockWrong(one.t1) || session.t0 <= one.t1 + 2 * MAX_LEAD_MS + drift * one.t1),
      ),
    )
  }

  // Dead: another token was used since, which this one was not exchanged for.
  const isDead = ({ head, parents }: Session, jti: string, at: number): boolean =>
    head !== null && head.at < at && jti !== head.jti && parents.get(jti)?.jti !== head.jti

  const checkDead = (event: Event & { op: 'refresh' }, session: Session): void => {
    const { result, t0, t1 } = event
    if (result !== 'ok' && result !== 'REFRESH_SUPERSEDED') return
    const late = t0 - (session.head?.at ?? t0)
    if (result === 'REFRESH_SUPERSEDED' && late <= graceMs * (1 + drift) + CLOCKS_AGREE_MS) return
    if (losses.some((loss) => loss.t1 >= session.t0 && loss.t0 <= t1)) return grant('lost rotation')
    if (isClockWrong(t1)) return grant('wrong clock')
    report(
      'no unnoticed copy',
      event,
      `${result} with a dead token, ${Math.round(late)} ms after another was used`,
    )
  }

  // A token stays in use only while it is young.
  const checkKept = (event: Event & { op: 'refresh' }, givenAt: number): void => {
    const age = event.t0 - givenAt
    if (age <= graceMs * (1 + drift) + CLOCKS_AGREE_MS) return
    if (isClockWrong(event.t1)) grant('wrong clock')
    else report('no unnoticed copy', event, `it stayed in use ${Math.round(age)} ms after it was given`)
  }

  const noteSent = ({ sent }: Session, { token, result, t0, t1 }: Event & { op: 'refresh' }): void => {
    if (result === 'asked') return void sent.push({ jti: token.jti, t0, t1 })
    const asked = sent.find((one) => one.jti === token.jti && one.t0 === t0 && one.t1 === Infinity)
    // What has failed may be carried out later.
    if (asked !== undefined && result !== 'REVOCATION_UNAVAILABLE') asked.t1 = t1
  }

  const checkRefresh = (event: Event & { op: 'refresh' }): void => {
    const { token, party, result, received, t0, t1 } = event
    const session = sessions.get(token.sid)
    if (session === undefined) return
    if (party === 'thief') session.isStolen = true
    noteSent(session, event)
    session.kids.add(token.kid)
    if (result === 'asked') {
      if (wasHeld(event) && isDead(session, token.jti, t0)) session.hasLateRequest = true
      return
    }
    const { parents, head } = session
    if (isDead(session, token.jti, t0)) checkDead(event, session)
    else if (result === 'ok' && received !== null && received !== token.jti) {
      if (!parents.has(received)) parents.set(received, { jti: token.jti, at: t1 })
      if (head === null || parents.get(token.jti)?.jti === head.jti) session.head = { jti: token.jti, at: t1 }
    } else if (result === 'ok') checkKept(event, parents.get(token.jti)?.at ?? -Infinity)
    if (result === 'ok') return checkEnded(event)
    const isLogout = result === 'REFRESH_TOKEN_REUSED' || result === 'TOKEN_REVOKED'
    if (isLogout && !findCause(token, t1)) checkLogout(event, session, token)
    // A reuse ends the session like a revocation.
    if (result === 'REFRESH_TOKEN_REUSED') noteRevocation(event, { kind: 'session', id: token.sid }, false)
  }

  // A refresh asks the store itself.
  const checkEnded = (event: Event & { op: 'refresh' }): void => {
    const { token, t0 } = event
    const session = sessions.get(token.sid)
    for (const [target, list] of listOf(token)) {
      for (const revocation of list) {
        if (revocation.t1 >= t0 || !isConcerned(target, revocation, session)) continue
        const exception =
          wasRestored(revocation, t0) ??
          (isAcrossSides(revocation, event, t0) ? 'isolated primary' : null) ??
          logouts.wasKept(revocation, t0) ??
          (isMissedByClock(target, revocation, session) ? 'wrong clock' : null)
        if (exception !== null) grant(exception)
        else
          report(
            'immediate',
            event,
            `${target.kind} revoked at ${Math.round(revocation.t1)}, refreshed later`,
          )
      }
    }
  }

  const checkLogout = (event: Event, session: Session, token: TokenFacts): void => {
    const { result, t1 } = event
    if (losses.some((one) => one.t0 <= t1 && one.lostAfter <= session.t1)) return grant('lost session')
    if (losses.some((one) => one.t0 <= t1)) return grant('lost data revokes everything')
    if (isClockWrong(t1)) return grant('wrong clock')
    if (logouts.wasRepeated(listTargets(token), event)) return grant('repeated logout in an outage')
    if (isReachedByClock(token)) return grant('wrong clock')
    if (wasHeld(event)) return grant('late request')
    report('no false logout', event, `${result}, and nobody ended the session`)
  }

  // Every browser has a user of its own. Messages take a while.
  const wasReplaced = (session: Session): boolean => {
    // A session that was refreshed later has kept its cookies.
    if (session.head !== null && session.head.at > session.t1 + 2 * MAX_MESSAGE_MS) return false
    const isMeanwhile = ({ t0, t1 }: { readonly t0: number; readonly t1: number }): boolean =>
      t0 <= session.t1 + MAX_MESSAGE_MS && session.t0 <= t1 + MAX_MESSAGE_MS
    return [...sessions].some(
      ([id, other]) =>
        other !== session &&
        other.user === session.user &&
        (isMeanwhile(other) ||
          Math.abs((other.head?.at ?? Infinity) - session.t0) <= MAX_MESSAGE_MS ||
          listRevocations({ kind: 'session', id }).some((one) => one.t1 < Infinity && isMeanwhile(one))),
    )
  }

  const checkBrowser = (event: Event & { op: 'loggedOut' }): void => {
    const session = sessions.get(event.session)
    // Its end, by whatever clock.
    if (session === undefined || event.t1 > session.t0 + sessionLifetimeMs - MAX_CLOCK_ERROR_MS) return
    const tokens = ['', ...session.kids].map((kid) => ({
      jti: '',
      sid: event.session,
      user: session.user,
      kid,
      exp: 0,
    }))
    const [token] = tokens as [TokenFacts]
    const hasCause = tokens.some((one) => findCause(one, event.t1))
    if (hasCause) return
    if (wasReplaced(session)) grant('two logins at once')
    else checkLogout(event, session, token)
  }

  const noteRevocation = (
    { t0, t1, application, life }: Event,
    target: Target,
    isEverywhere: boolean,
    logout: Logout | null = null,
  ): void => {
    const list = revocations.get(toName(target)) ?? []
    const asked = list.find(
      (one) =>
        one.t0 === t0 &&
        one.t1 === Infinity &&
        one.application === application &&
        one.life === life &&
        // The same may be revoked twice at the same moment, once to wait for all processes and once not.
        one.isEverywhere === isEverywhere &&
        one.logout === logout,
    )
    // Once it is acknowledged, it is carried out no later.
    if (asked !== undefined) return void (asked.t1 = t1)
    if (target.kind === 'key' || target.kind === 'session') everRevoked[target.kind].add(target.id)
    list.push({ t0, t1, application, life, isEverywhere, logout })
    revocations.set(toName(target), list)
    alive.push(t0)
  }

  const noteLogout = (event: Event & { op: 'logout' }): void => {
    const logout = logouts.note(event)
    if (logout === null || (event.result !== 'ok' && event.result !== 'asked')) return
    for (const target of event.targets) noteRevocation(event, target, event.isEverywhere, logout)
    // Its own id is kept too.
    alive.push(event.t0)
  }

  const checkLimit = (event: Event & { op: 'list' }): void => {
    // Sessions that had ended are back with the rest of an older state.
    if (losses.some(({ t0 }) => t0 <= event.t1)) return grant('lost session')
    report('limit', event, `${event.count} sessions, ${event.limit} are allowed`)
  }

  const checkRest = (event: Event & { op: 'health' }): void => {
    // Revocation: that of a key is kept forever.
    const most = ENTRIES_PER_REVOCATION * WRITES_AT_REST + everRevoked.key.size + 3
    if (event.entries <= most && event.timers <= MAX_TIMERS_AT_REST) return
    // If a wrong clock makes a token seem to outlive all others, what may revoke it is kept for up to an hour longer:
    // watermarks, and sessions that the store does not know.
    const longer = ENTRIES_PER_REVOCATION * (sessionsOf.size + 1 + everRevoked.session.size)
    const isLonger = event.entries <= most + longer && isClockWrong(event.t1)
    if (isLonger && event.timers <= MAX_TIMERS_AT_REST) return grant('wrong clock')
    report(
      'no growth',
      event,
      `${event.entries} entries at rest, ${most} are expected; ${event.timers} timers`,
    )
  }

  const checkGrowth = (event: Event & { op: 'health' }): void => {
    while ((alive[0] ?? Infinity) < event.t1 - longestLifetimeMs) alive.shift()
    const most = ENTRIES_PER_REVOCATION * alive.length + sessionsOf.size + 100
    if (event.entries > most)
      report('no growth', event, `${event.entries} entries, ${most} revocations are alive`)
    if (event.isAtRest) checkRest(event)
    // What has waited for a process that stood still arrives immediately.
    if (event.timers > MAX_TIMERS && !isDisturbed(event))
      report('no growth', event, `${event.timers} timers are waiting`)
  }

  // Of what began before a moment, everything has expired by any clock: a run of a day must not need the memory of a day.
  let forgottenAt = 0
  const forgetBefore = (moment: number): void => {
    for (const [sid, { t0 }] of sessions) if (t0 < moment) sessions.delete(sid)
    for (const [name, list] of revocations) {
      const left = list.filter(({ t0 }) => t0 >= moment)
      if (left.length > 0) revocations.set(name, left)
      else revocations.delete(name)
    }
    for (const [life, known] of refused) {
      for (const [jti, at] of known) if (at < moment) known.delete(jti)
      if (known.size === 0) refused.delete(life)
    }
    past.forgetBefore(moment)
  }

  return {
    violations,
    exceptions,
    fault: past.add,
    event(event) {
      const { result } = event
      if (event.t0 - forgottenAt > longestLifetimeMs / 4) {
        forgottenAt = event.t0
        forgetBefore(event.t0 - longestLifetimeMs)
      }
      if (result === 'REVOCATION_UNAVAILABLE') checkUnavailable(event)
      if (event.op === 'open' && result === 'ok' && event.session !== null) {
        sessions.set(event.session, {
          user: event.user,
          t0: event.t0,
          t1: event.t1,
          isStolen: false,
          sent: [],
          kids: new Set(),
          parents: new Map(),
          head: null,
          mayHaveEnded: (lateOpens.get(event.user) ?? -Infinity) > event.t0 - MAX_LATE_MS,
          mayHaveEndedItself:
            !isQuiet && event.limit !== null && findSteps('store clock step', event.t1).length > 0,
          hasLateRequest: false,
        })
        sessionsOf.set(event.user, (sessionsOf.get(event.user) ?? 0) + 1)
      }
      // Docs: a login that is answered too late revokes its session, and one over the limit revokes the oldest.
      if (event.op === 'open' && result === 'asked') alive.push(event.t0)
      // One that failed may be carried out later, and ends what was opened since.
      if (event.op === 'open' && event.limit !== null && result === 'REVOCATION_UNAVAILABLE') {
        lateOpens.set(event.user, event.t1)
      }
      // Also if it fails: it may have been carried out.
      if (event.op === 'open' && event.limit !== null && result === 'asked') {
        for (const session of sessions.values()) if (session.user === event.user) session.mayHaveEnded = true
      }
      if (event.op === 'check') countCheck(event)
      if (event.op === 'check' && result === 'ok') checkAccepted(event)
      if (event.op === 'check' && result === 'TOKEN_REVOKED') checkRefused(event)
      if (event.op === 'refresh') checkRefresh(event)
      if (event.op === 'loggedOut') checkBrowser(event)
      if (event.op === 'revoke') noteRevocation(event, event.target, event.isEverywhere)
      if (event.op === 'logout') noteLogout(event)
      if (event.op === 'health') checkGrowth(event)
      if (event.op === 'list' && event.count > event.limit) checkLimit(event)
    },
  }
}

const NONE: readonly Revocation[] = []
