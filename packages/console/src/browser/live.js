import { append, byId, requestJson, toTime, toValue } from './tools.js'

/** @typedef {{ id: string, number: number, at: string, event: 'revoked' | 'reuseDetected' | 'storeLostData' | 'arrived', facts: Record<string, string | null | undefined> }} Entry */

const MAX_LINES = 200
const MAX_PROCESSES = 100
const RETRY_MS = 5000

/**
 * Shows revocations as they happen; reopens a stream that has ended. Closes it while the page is hidden: over HTTP/1.1 a
 * browser has six connections to a server, and background tabs would hold them all.
 */
export function startLive() {
  const list = byId('live')
  const state = byId('live-state')
  /** @type {EventSource | null} */
  let stream = null
  /** The number of the last entry of each process that was shown. @type {Map<string, number>} */
  const lastNumbers = new Map()

  /** @param {Entry} entry */
  const show = (entry) => {
    const [process = ''] = entry.id.split(':')
    const last = lastNumbers.get(process) ?? entry.number - 1
    // Whenever the stream is opened again, the newest ones come once more.
    if (entry.number <= last) return
    const missing = entry.number - last - 1
    // As the newest: a process that has ended is the first to be forgotten.
    lastNumbers.delete(process)
    lastNumbers.set(process, entry.number)
    for (const oldest of lastNumbers.keys()) {
      if (lastNumbers.size <= MAX_PROCESSES) break
      lastNumbers.delete(oldest)
    }
    if (missing > 0) list.prepend(append(document.createElement('li'), `${missing} more, not shown.`))
    const line = append(document.createElement('li'), toTime(entry.at), ...toContent(entry))
    const { note } = entry.facts
    // In a line of its own: a reason cannot look like another fact.
    if (note) line.append(append(document.createElement('p'), 'Reason: ', toValue(note)))
    list.prepend(line)
    while (list.children.length > MAX_LINES) list.lastChild?.remove()
  }

  const open = () => {
    if (stream !== null || document.hidden) return
    const opened = new EventSource('api/live')
    stream = opened
    opened.addEventListener('open', () => (state.textContent = document.body.dataset.live ?? ''))
    opened.addEventListener('message', ({ data }) => show(/** @type {Entry} */ (JSON.parse(String(data)))))
    opened.addEventListener('error', () => {
      // The browser connects again by itself, unless the answer was not a stream.
      if (opened.readyState !== EventSource.CLOSED || stream !== opened) return
      stream = null
      void openLater()
    })
  }
  const close = () => {
    stream?.close()
    stream = null
  }
  const openLater = async () => {
    const { problem } = await requestJson('api/health')
    if (stream === null) state.textContent = `Not connected. ${problem ?? ''}`
    setTimeout(open, RETRY_MS)
  }
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()))
  open()
}

const KINDS = { token: 'Token', session: 'Session', user: 'User', key: 'Key' }

/** @type {Record<string, string>} */
const CAUSES = {
  reuse: ', because a used refresh token was sent again',
  limit: ', because its user has too many sessions',
}

/** @param {Entry} entry @returns {(string | Node)[]} */
function toContent({ event, facts }) {
  const { kind, id, sub, sid, actor, ip, reason } = facts
  if (event === 'storeLostData') return ['The store has lost data: all sessions until then are revoked.']
  if (event === 'reuseDetected') {
    const alarm = ['Alarm: a used refresh token of ', toValue(sub), ' was sent again', ...from(ip)]
    return [...alarm, '. Session ', toValue(sid), ' is revoked.']
  }
  const owner = sub && sub !== id ? [' of ', toValue(sub)] : []
  const name = KINDS[/** @type {keyof typeof KINDS} */ (kind)] ?? kind
  const what = kind === 'all' ? ['Everything'] : [`${name} `, toValue(id), ...owner]
  if (event === 'arrived') return [...what, ' revoked by another process']
  const by = actor ? [' by ', toValue(actor)] : []
  return [...what, ' revoked', ...by, ...from(ip), CAUSES[reason ?? ''] ?? '']
}

/** @param {string | null | undefined} ip @returns {(string | Node)[]} */
function from(ip) {
  return ip ? [' from ', toValue(ip)] : []
}
