/** The page of the application. It shows nothing: a test drives it, and reads its counts. */
export const PAGE = `<!doctype html>
<title>evidence</title>
<script type="module" src="/page.js"></script>`

/** What a tab has seen. */
export interface TabCounts {
  /** Requests of the page's own code. */
  readonly requests: number
  /** Answers 401 or 403 that reached it. */
  readonly refused: number
  /** Answers 5xx and errors that reached it. */
  readonly unavailable: number
  readonly loggedOut: number
  readonly offline: number
  readonly refreshed: number
  /** The statuses and codes of what was not answered with 200. */
  readonly reasons: Readonly<Record<string, number>>
}

/** The script of the page; it imports the client as it was built. */
export const PAGE_SCRIPT = `
import { createTokenClient } from '/package/index.js'

const client = createTokenClient()
const counts = { requests: 0, refused: 0, unavailable: 0, loggedOut: 0, offline: 0, refreshed: 0, reasons: {} }
for (const name of ['loggedOut', 'offline', 'refreshed']) client.on(name, () => counts[name]++)

const note = (kind, reason) => {
  counts[kind]++
  counts.reasons[reason] = (counts.reasons[reason] ?? 0) + 1
}

// Every second request changes something, and needs the CSRF value.
async function send() {
  const isRead = counts.requests++ % 2 === 0
  try {
    const answer = await (isRead ? client.fetch('/api/me') : client.fetch('/api/notes', { method: 'POST' }))
    if (answer.ok) return true
    const { code } = await answer.json().catch(() => ({}))
    note(answer.status === 401 || answer.status === 403 ? 'refused' : 'unavailable', answer.status + ' ' + code)
  } catch (error) {
    note('unavailable', error.code ?? error.name)
  }
  return false
}

let loop = null
globalThis.evidence = {
  client,
  counts,
  send,
  logIn: (name, options) => client.logIn({ name, password: 'correct' }, options).then(() => true),
  start(intervalMs) {
    let isOver = false
    const run = async () => {
      while (!isOver) {
        await send()
        if (!isOver) await new Promise((resolve) => setTimeout(resolve, intervalMs * (0.8 + 0.4 * Math.random())))
      }
    }
    const done = run()
    loop = () => ((isOver = true), done)
  },
  // Resolves when the last request was answered.
  stop: async () => void (await loop?.()),
}
`
