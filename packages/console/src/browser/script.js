// Inserts everything as text: never creates markup from what users, clients or servers wrote.
import { startLive } from './live.js'
import { append, byId, fill, requestJson, showText, toAge, toSeconds, toTime, toValue } from './tools.js'

const HEALTH_EVERY_MS = 5000

/**
 * @template Answer
 * @typedef {import('./tools.js').Reply<Answer>} Reply
 */
/** @typedef {{ kind: 'session' | 'user' | 'key' | 'all', id: string, opener: HTMLElement }} Target */
/** @typedef {{ id: string, createdAt: string, lastUsedAt: string, expiresAt: string | null, ip: string | null, userAgent: string | null, device: string | null, label: string | null, data: object | null }} Session */
/** @typedef {{ actor: string, keyId: string | null, canCheck: boolean, canWrite: boolean, responseTimeMs: number | null, error: string | null, replica: Replica | null }} Health */
/** @typedef {{ isFresh: boolean, ageMs: number | null, boundMs: number, entries: number, error: string | null }} Replica */

const user = byId('user', HTMLInputElement)
const kind = byId('kind', HTMLSelectElement)
const id = byId('id', HTMLInputElement)
const more = byId('more', HTMLButtonElement)
const dialog = byId('confirm', HTMLDialogElement)
const reason = byId('reason', HTMLTextAreaElement)
const typed = byId('typed', HTMLInputElement)
const confirmButton = byId('confirm-button', HTMLButtonElement)

/** The user whose sessions are shown, and the one who was asked for last. */
let shownUser = ''
let wantedUser = ''
/** Counts the searches: only the answer to the last one is shown. */
let searches = 0
/** @type {string | null} */
let keyId = null
/** @type {Target | null} */
let target = null

/** @param {string} name @param {boolean} isNext */
async function showSessions(name, isNext) {
  const search = ++searches
  wantedUser = name
  const query = new URLSearchParams({ user: name, ...(isNext && { before: more.value }) })
  /** @type {Reply<{ sessions: Session[], next: string | null }>} */
  const { answer, problem } = await requestJson(`api/sessions?${query}`)
  // Sessions of one user below the name of another would be revoked by mistake.
  if (search !== searches) return
  if (problem !== null) return showText('result', problem, 'bad')
  const rows = document.querySelector('#sessions tbody')
  const { sessions, next } = answer
  shownUser = name
  if (!isNext) rows?.replaceChildren()
  rows?.append(...sessions.map(toRow))
  const count = rows?.children.length ?? 0
  const some = count === 1 ? '1 session' : `${count}${next === null ? '' : ' or more'} sessions`
  const whose = toValue(shownUser)
  byId('found-text').replaceChildren(
    ...(count === 0 ? [whose, ' has no live session.'] : [`${some} of `, whose]),
  )
  byId('sessions').hidden = count === 0
  byId('found').hidden = false
  more.hidden = next === null
  more.value = next ?? ''
}

/** @param {Session} session */
function toRow(session) {
  const button = append(document.createElement('button'), 'Revoke…')
  button.type = 'button'
  button.setAttribute('aria-label', `Revoke session ${session.id}`)
  button.addEventListener('click', () => openDialog({ kind: 'session', id: session.id, opener: button }))
  const row = document.createElement('tr')
  row.role = 'row'
  row.append(
    toCell('Session', session.id, 'id long'),
    toCell('Started', toTime(session.createdAt)),
    toCell('Last used', toTime(session.lastUsedAt)),
    toCell('Ends', session.expiresAt === null ? 'never' : toTime(session.expiresAt)),
    toCell('Address', session.ip ?? 'unknown'),
    toCell('Device', toDevice(session), 'long'),
    toCell('', button),
  )
  return row
}

/** The name of the device and the data of a session. @param {Session} session */
function toDevice(session) {
  const name = toName(session)
  if (session.data === null) return name
  const data = append(document.createElement('code'), JSON.stringify(session.data))
  data.className = 'data'
  return append(document.createElement('div'), name, data)
}

/** The label, or what the user agent says in a few words, and a button that shows all of it. @param {Session} session */
function toName({ userAgent, device, label }) {
  const name = label ?? device
  if (name === null) return 'unknown'
  if (userAgent === null || userAgent === name) return append(document.createElement('bdi'), name)
  const button = append(document.createElement('button'), append(document.createElement('bdi'), name))
  const whole = append(document.createElement('bdi'), userAgent)
  button.type = 'button'
  button.className = 'plain'
  button.title = userAgent
  button.ariaExpanded = 'false'
  whole.hidden = true
  button.addEventListener('click', () => {
    whole.hidden = !whole.hidden
    button.ariaExpanded = String(!whole.hidden)
  })
  return append(document.createElement('div'), button, whole)
}

/** @param {string} label @param {string | Node} content @param {string} className */
function toCell(label, content, className = '') {
  const cell = append(document.createElement('td'), content)
  cell.role = 'cell'
  cell.className = className
  cell.dataset.label = label
  return cell
}

/** @type {Record<Target['kind'], (value: Node) => (string | Node)[]>} */
const TEXTS = {
  session: (value) => ['Ends session ', value, '. Its user has to log in again on that device.'],
  user: (value) => ['Ends every session of ', value, ', and revokes every token that this user has now.'],
  key: (value) => [
    'Revokes every token that key ',
    value,
    ' has signed or will sign. This cannot be undone.',
  ],
  all: () => ['Ends every session of everybody. All users have to log in again.'],
}

/** @param {Target} wanted */
function openDialog(wanted) {
  target = wanted
  const { kind, id } = wanted
  const isSigning = kind === 'key' && id === keyId
  byId('confirm-title').textContent = kind === 'all' ? 'Revoke everything' : `Revoke ${kind}`
  byId('confirm-text').replaceChildren(...TEXTS[kind](toValue(id)))
  showText(
    'confirm-warning',
    isSigning
      ? 'This key signs new tokens at this moment: nobody can log in until the application has another one.'
      : '',
    'bad',
  )
  showText('confirm-error', '', 'bad')
  // Don't ask people to type the id of a single session.
  const isTyped = kind !== 'session'
  byId('typed-part').hidden = !isTyped
  typed.required = isTyped
  byId('expected').textContent = kind === 'all' ? 'everything' : id
  reason.value = ''
  typed.value = ''
  confirmButton.disabled = false
  dialog.showModal()
  reason.focus()
}

async function confirmRevocation() {
  if (target === null) return
  const asked = target
  const { kind, id, opener } = asked
  const expected = kind === 'all' ? 'everything' : id
  if (kind !== 'session' && typed.value !== expected) {
    showText('confirm-error', ['Type ', toValue(expected), ' to confirm.'], 'bad')
    return typed.focus()
  }
  confirmButton.disabled = true
  const body = { kind, id, reason: reason.value, confirmation: expected }
  /** @type {Reply<{ isKnown: boolean | null }>} */
  const { answer, problem } = await requestJson('api/revoke', body)
  // The dialog may have been closed since, and may be open for another target.
  const isShown = dialog.open && target === asked
  const what = kind === 'all' ? ['Everything'] : [`The ${kind} `, toValue(id)]
  if (isShown) confirmButton.disabled = false
  if (problem !== null) {
    return isShown
      ? showText('confirm-error', problem, 'bad')
      : showText('result', [...what, ` may not be revoked. ${problem}`], 'bad')
  }
  if (isShown) dialog.close()
  const unknown = answer.isKnown === false ? ' No live session had this id.' : ''
  showText('result', [...what, ` is revoked.${unknown}`], '')
  if (!byId('found').hidden) await showSessions(wantedUser, false)
  if (!isShown) return
  // The button is gone together with its row.
  if (opener.isConnected) opener.focus()
  else byId('found-text').focus()
}

async function showHealth() {
  /** @type {Reply<Health>} */
  const { answer, problem } = await requestJson('api/health')
  showText('health-error', problem ?? '', 'bad')
  if (problem !== null) return
  const { actor, canCheck, canWrite, responseTimeMs, error, replica } = answer
  keyId = answer.keyId
  byId('who').replaceChildren('You are ', toValue(actor))
  const facts = [
    ['Token checks', canCheck ? 'up' : 'down', canCheck ? 'up' : 'down'],
    ['Store', canWrite ? 'up' : 'down', canWrite ? 'up' : 'down'],
    ['Response time', responseTimeMs === null ? 'no store' : `${responseTimeMs.toFixed(1)} ms`, ''],
    ['Signing key', keyId ?? 'none', 'id'],
  ]
  if (replica !== null) {
    facts.push(
      ['Replica', replica.isFresh ? 'fresh' : 'stale', replica.isFresh ? 'up' : 'down'],
      ['Replica read', `${toAge(replica.ageMs)} (bound ${toSeconds(replica.boundMs)})`, ''],
      ['Revocations', replica.entries.toLocaleString(), ''],
    )
  }
  fill(byId('health'), facts)
  const errors = [error, replica?.error].filter((text) => typeof text === 'string')
  if (errors.length > 0) showText('health-error', errors.join(' '), 'bad')
}

async function keepHealth() {
  try {
    if (!document.hidden) await showHealth()
  } finally {
    setTimeout(() => void keepHealth(), HEALTH_EVERY_MS)
  }
}

/** @param {string} form @param {() => unknown} run */
function onSubmit(form, run) {
  byId(form, HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault()
    run()
  })
}

onSubmit('find', () => {
  showText('result', '', '')
  return showSessions(user.value, false)
})
onSubmit('revoke', () => {
  const opener = /** @type {HTMLElement} */ (document.activeElement)
  openDialog({ kind: /** @type {Target['kind']} */ (kind.value), id: id.value, opener })
})
onSubmit('confirm-form', confirmRevocation)
more.addEventListener('click', () => void showSessions(shownUser, true))
byId('cancel').addEventListener('click', () => dialog.close())
byId('revoke-user').addEventListener('click', () =>
  openDialog({ kind: 'user', id: shownUser, opener: byId('revoke-user') }),
)
kind.addEventListener('change', () => {
  const isAll = kind.value === 'all'
  id.disabled = isAll
  if (isAll) id.value = ''
})

startLive()
void keepHealth()
