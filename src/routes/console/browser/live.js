import { append, byId, requestJson, toTime } from './tools.js'

/** @typedef {{ id: string, number: number, at: string, event: 'revoked' | 'reuseDetected' | 'storeLostData' | 'arrived', facts: Record<string, string | null | undefined> }} Entry */

const MAX_LINES = 200
const RETRY_MS = 5000

/** Shows revocations as they happen; a stream that has ended is opened again. */
export function startLive() {
  const list = byId('live')
  const state = byId('live-state')
  /** @type {Set<string>} */
  const known = new Set()
  /** @type {Map<string, number>} */
  const lastNumbers = new Map()

  /** @param {Entry} entry */
  const show = (entry) => {
    // Whenever the stream is opened again, the newest ones come once more.
    if (known.has(entry.id)) return
    known.add(entry.id)
    const [process = ''] = entry.id.split(':')
    const missing = entry.number - (lastNumbers.get(process) ?? entry.number - 1) - 1
    lastNumbers.set(process, entry.number)
    if (missing > 0) list.prepend(append(document.createElement('li'), `${missing} more, not shown.`))
    const line = append(document.createElement('li'), toTime(entry.at), toText(entry))
    const { note } = entry.facts
    // In a line of its own: a reason cannot look like another fact.
    if (note) line.append(append(document.createElement('p'), `Reason: ${note}`))
    list.prepend(line)
    while (list.children.length > MAX_LINES) list.lastChild?.remove()
  }

  const open = () => {
    const stream = new EventSource('api/live')
    stream.addEventListener('open', () => (state.textContent = document.body.dataset.live ?? ''))
    stream.addEventListener('message', ({ data }) => show(/** @type {Entry} */ (JSON.parse(String(data)))))
    stream.addEventListener('error', () => {
      // The browser connects again by itself, unless the answer was not a stream.
      if (stream.readyState === EventSource.CLOSED) void openLater()
    })
  }
  const openLater = async () => {
    const { problem } = await requestJson('api/health')
    state.textContent = `Not connected. ${problem ?? ''}`
    setTimeout(open, RETRY_MS)
  }
  open()
}

const KINDS = { token: 'Token', session: 'Session', user: 'User', key: 'Key' }

/** @type {Record<string, string>} */
const CAUSES = {
  reuse: ', because a used refresh token was sent again',
  limit: ', because its user has too many sessions',
}

/** @param {Entry} entry */
function toText({ event, facts }) {
  const { kind, id, sub, sid, actor, ip, reason } = facts
  if (event === 'storeLostData') return 'The store has lost data: all sessions until then are revoked.'
  if (event === 'reuseDetected') {
    return `Alarm: a used refresh token of ${sub} was sent again${from(ip)}. Session ${sid} is revoked.`
  }
  const name = KINDS[/** @type {keyof typeof KINDS} */ (kind)] ?? kind
  const what = kind === 'all' ? 'Everything' : `${name} ${id}${sub && sub !== id ? ` of ${sub}` : ''}`
  if (event === 'arrived') return `${what} revoked by another process`
  const by = actor ? ` by ${actor}` : ''
  return `${what} revoked${by}${from(ip)}${CAUSES[reason ?? ''] ?? ''}`
}

/** @param {string | null | undefined} ip */
function from(ip) {
  return ip ? ` from ${ip}` : ''
}
