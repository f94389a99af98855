import { readdirSync } from 'node:fs'
import type { TokenManager } from '../../../packages/tokenlib/src/index.js'
import { withBearer } from '../../helpers/manager.js'
import { exactly, type FigureRules } from './figures.js'
import { type Outcome, readOutcome } from './outcomes.js'
import { watchStarvation } from './starvation.js'

/** Tokens to send: those that must pass, and those that must never. */
export interface LoadTokens {
  readonly good: readonly string[]
  readonly revoked: readonly string[]
}

/** One answer. */
export interface Answer {
  readonly isRevoked: boolean
  readonly outcome: Outcome
  /** Milliseconds, by `performance.now()`. */
  readonly sentAt: number
  readonly answeredAt: number
  /** For how long this process was kept from running in between. */
  readonly starvedMs: number
}

/** Requests that keep coming. */
export interface Load {
  /** In the order in which they came. */
  readonly answers: readonly Answer[]
  /** Resolves once a few answers in a row, of requests sent from now on, are what they should be; false: not in time. */
  recover(inARow: number, limitMs: number): Promise<boolean>
  /** Sends other tokens from now on. */
  replace(tokens: LoadTokens): void
  /** Sends no more; resolves when everything is answered. */
  stop(): Promise<void>
}

/** Logs users in and half of them out again, in every way that there is. */
export async function createLoadTokens(tokens: TokenManager, count: number): Promise<LoadTokens> {
  const logIn = async (name: string): Promise<string> =>
    (await tokens.sessions.open({ uid: name })).accessToken
  const names = Array.from({ length: count }, (_, at) => `${process.pid}-${performance.now()}-${at}`)
  const good = await Promise.all(names.map((name) => logIn(`good-${name}`)))
  const revoked = await Promise.all(names.map((name) => logIn(`revoked-${name}`)))
  await Promise.all(
    revoked.map(async (token, at) => {
      const payload = await tokens.verify(token)
      if (at % 3 === 0) await tokens.logout(payload)
      else if (at % 3 === 1) await tokens.revoke.token(payload)
      else await tokens.revoke.user(payload.sub)
    }),
  )
  return { good, revoked }
}

/** Sends requests through `accessTokenRequired`, in this process, at a rate; good and revoked tokens take turns. */
export function startLoad(tokens: TokenManager, loadTokens: LoadTokens, perSecond: number): Load {
  const answers: Answer[] = []
  const open = new Set<Promise<void>>()
  const starvation = watchStarvation()
  const startedAt = performance.now()
  let current = loadTokens
  let sent = 0

  const send = async (at: number): Promise<void> => {
    const isRevoked = at % 2 === 1
    const list = isRevoked ? current.revoked : current.good
    const token = list[(at >> 1) % list.length] as string
    const [sentAt, starved] = [performance.now(), starvation.read()]
    const outcome = await readOutcome(tokens.accessTokenRequired(withBearer(token)))
    const answeredAt = performance.now()
    answers.push({ isRevoked, outcome, sentAt, answeredAt, starvedMs: starvation.read() - starved })
  }
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) / 1000) * perSecond
    while (sent < due) {
      const sending: Promise<void> = send(sent++).finally(() => open.delete(sending))
      open.add(sending)
    }
  }, 5)

  return {
    answers,
    async recover(inARow, limitMs) {
      const since = performance.now()
      for (;;) {
        if (countInARow(answers, since) >= inARow) return true
        if (performance.now() - since > limitMs) return false
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    },
    replace(tokens) {
      current = tokens
    },
    async stop() {
      clearInterval(timer)
      starvation.stop()
      await Promise.all(open)
    },
  }
}

/** Whether an answer is what it would be if nothing was wrong. */
export function isRight({ isRevoked, outcome }: Answer): boolean {
  return outcome === (isRevoked ? 'revoked' : 'accepted')
}

function countInARow(answers: readonly Answer[], since: number): number {
  let count = 0
  for (let at = answers.length - 1; at >= 0; at--) {
    const answer = answers[at] as Answer
    if (!isRight(answer) || answer.sentAt < since) break
    count++
  }
  return count
}

/** What answers amount to. */
export interface AnswerCounts {
  readonly requests: number
  readonly unavailable: number
  readonly revokedAccepted: number
  /** Answers that are neither a pass, nor a refusal, nor a 503; and refusals of good tokens. */
  readonly strange: number
}

/** Counts answers. */
export function countAnswers(answers: readonly Answer[]): AnswerCounts {
  return {
    requests: answers.length,
    unavailable: answers.filter(({ outcome }) => outcome === 'unavailable').length,
    revokedAccepted: answers.filter((one) => one.isRevoked && one.outcome === 'accepted').length,
    strange: answers.filter(
      ({ isRevoked, outcome }) => outcome === 'failed' || (!isRevoked && outcome === 'revoked'),
    ).length,
  }
}

/** How the counts are printed, and what they must be. */
export function answerFigures(requests: string): FigureRules<AnswerCounts> {
  return {
    requests: { label: requests },
    unavailable: { label: 'of them answered with 503' },
    revokedAccepted: { label: 'revoked tokens accepted', promise: exactly(0) },
    strange: { label: 'answers that are wrong otherwise', promise: exactly(0) },
  }
}

/** The slowest of some answers, in milliseconds; 0 of none. */
export function slowest(answers: readonly Answer[]): number {
  return answers.reduce((most, { sentAt, answeredAt }) => Math.max(most, answeredAt - sentAt), 0)
}

/** The same, where the time does not count in which the machine ran others instead. */
export function slowestUnstarved(answers: readonly Answer[]): number {
  return slowest(answers.map((answer) => ({ ...answer, sentAt: answer.sentAt + answer.starvedMs })))
}

/** Sends many requests at once, so that a pool opens every connection it may have. */
export async function fillPool(tokens: TokenManager, { good }: LoadTokens): Promise<void> {
  const requests = Array.from({ length: 60 }, (_, at) => withBearer(good[at % good.length] as string))
  await Promise.all(requests.map((request) => readOutcome(tokens.accessTokenRequired(request))))
}

/** How many files and sockets this process has open; 0 where nobody can tell. */
export function countDescriptors(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0
}
