// The page of the example application: a client of the session routes, and what it reports.
import { createTokenClient, TokenClientError } from './client.js'
import { addEvent, find, setText, show, showDevices, showNotice, showValues } from './view.js'

/** @typedef {import('@tokenlib/client').TokenSession} Session */

const POLL_MS = 2000
const TICK_MS = 250
const LATE_MS = 1000

const client = createTokenClient()

/** @type {Session | null} */
let session = null
// Until the server has answered, don't treat anyone as logged out.
let isKnown = false
// By the clock of this machine, from the seconds that the server has named.
let accessEndsAt = Infinity
let sessionEndsAt = Infinity
// Why requests fail at the moment, or `null`.
/** @type {string | null} */
let problem = null
let failed = 0

client.on('loggedIn', (next) => {
  addEvent('loggedIn', `${next.sub} is logged in`)
  hold(next)
  void poll()
})
client.on('refreshed', (next) => {
  addEvent('refreshed', `new access token for ${next.accessExpiresIn ?? 'ever'} s`)
  hold(next)
})
client.on('offline', (error) => {
  if (isKnown) return addEvent('offline', `no new access token (${error.code}); the session is kept`)
  failed++
  if (failed === 1) addEvent(`GET ${toStatus(error)}`, `session: ${toCode(error)}; trying again`)
  showNotice(`It is not known whether you are logged in: ${describeFailure(error)} Trying again.`, 'warn')
})
client.on('loggedOut', () => {
  addEvent('loggedOut', 'the session is over')
  if (session !== null) showNotice('You are logged out: the session has ended, here or elsewhere.', 'warn')
  release()
})

find('login-form').addEventListener('submit', (event) => {
  event.preventDefault()
  const form = new FormData(/** @type {HTMLFormElement} */ (event.target))
  const { remember, ...credentials } = Object.fromEntries(form)
  void attempt('login', async () => {
    await client.logIn(credentials, { remember: remember !== undefined })
    showNotice('')
    find('session-title').focus()
  })
})

onClick('greet', 'request', async () => {
  const response = await client.fetch('/app/api/greeting')
  const body = /** @type {{ message?: unknown, code?: unknown }} */ (await response.json())
  addEvent(`GET ${response.status}`, `/app/api/greeting: ${String(body.message)}`)
})
onClick('logout', 'logout', () => client.logOut())
onClick('logout-everywhere', 'logout everywhere', () => client.logOutEverywhere())
onClick('end-others', 'ending sessions', async () => {
  addEvent('ended', count(await client.endOtherSessions(), 'other session'))
  await poll()
})
onClick('store-switch', 'store', async () => {
  const isStopped = find('store-state').classList.contains('off')
  const response = await fetch(`/app/api/store/${isStopped ? 'start' : 'stop'}`, {
    method: 'POST',
    headers: { 'x-example-page': '1' },
  })
  addEvent('store', isStopped ? 'started' : 'stopped')
  showStore(await response.json())
})

getJson('/app/api/facts').then(
  (facts) => showValues('facts', facts, true),
  // The page works without them.
  (error) => addEvent('error', String(error)),
)
showOtherDevice()
setInterval(showTime, TICK_MS)
setTimeout(() => {
  if (!isKnown) showNotice('It is not known yet whether you are logged in. Waiting for an answer.', 'warn')
}, LATE_MS)
void attempt('finding the session', findSession)
for (;;) {
  await poll()
  await new Promise((resolve) => setTimeout(resolve, POLL_MS))
}

/** Asks who is logged in, until there is an answer. */
async function findSession() {
  const found = await client.start()
  // Another tab may have reported it first.
  if (isKnown) return
  if (failed > 0) addEvent('session', `answered, after ${count(failed, 'failed request')}`)
  failed = 0
  if (found === null) release()
  else hold(found)
}

/** Asks for the devices: that keeps the list up to date, renews tokens, and shows when the session was ended elsewhere. */
async function poll() {
  try {
    showStore(await getJson('/app/api/store'))
  } catch {
    setText('store-state', 'not known', 'badge off')
  }
  if (session === null) return
  try {
    const { sessions } = await client.sessions()
    if (session === null) return
    showDevices(sessions, (device) => void attempt('ending a session', () => end(device.id)))
    if (problem !== null) {
      addEvent('answer', `again, after ${count(failed, 'failed request')}`)
      showNotice('Requests are answered again, and you are still logged in.')
    }
    problem = null
    failed = 0
  } catch (error) {
    if (session === null) return
    failed++
    if (problem === null) addEvent(`GET ${toStatus(error)}`, `failed: ${toCode(error)}; still logged in`)
    problem = describeFailure(error)
    showNotice(`${problem} You are still logged in; requests fail until there is an answer again.`, 'warn')
  }
  showState()
}

/** @param {string} id */
async function end(id) {
  await client.endSession(id)
  addEvent('ended', `session ${id}`)
  find('devices-title').focus()
  await poll()
}

/** @param {Session} next */
function hold(next) {
  settle()
  session = next
  accessEndsAt = toMoment(next.accessExpiresIn)
  sessionEndsAt = toMoment(next.expiresIn)
  setText('who', next.sub)
  const { id, claims, scopes, fresh } = next
  showValues('claims', {
    sub: next.sub,
    ...claims,
    scopes: scopes.join(' ') || 'none',
    fresh: fresh ? 'true: the password was just given' : 'false: renewed without the password',
    sid: id,
  })
  show('login', false)
  show('session', true)
  show('devices', true)
  show('console', scopes.includes('operator'))
  showState()
  showTime()
}

function release() {
  const hadFocus = find('session').contains(document.activeElement)
  settle()
  session = null
  problem = null
  failed = 0
  show('session', false)
  show('devices', false)
  show('login', true)
  showDevices([], () => undefined)
  if (hadFocus) find('password').focus()
}

/** Records that it is known who is logged in. */
function settle() {
  if (!isKnown) showNotice('')
  isKnown = true
}

function showState() {
  const isAnswering = problem === null
  setText('state', isAnswering ? 'logged in' : 'logged in, no answers', isAnswering ? 'badge' : 'badge off')
}

function showTime() {
  if (session === null) return
  const seconds = toSeconds(accessEndsAt)
  const bar = /** @type {HTMLProgressElement} */ (find('access-bar'))
  bar.max = session.accessExpiresIn || 1
  bar.value = seconds
  setText('access-time', seconds > 0 ? `${format(seconds)} left` : 'expired: renewed with the next request')
  setText('session-time', format(toSeconds(sessionEndsAt)))
}

/** @param {{ isStopped: boolean }} store */
function showStore({ isStopped }) {
  setText('store-state', isStopped ? 'stopped' : 'running', isStopped ? 'badge off' : 'badge')
  setText('store-switch', isStopped ? 'Start the store' : 'Stop the store')
  setText(
    'store-text',
    isStopped
      ? 'Every call of this process to the store fails, as if the server were gone. Nobody is logged out.'
      : 'It remembers sessions and revocations. When it does not answer, requests are refused: a token may have been revoked.',
  )
}

// The host of this machine has two names, and cookies of one are not sent to the other.
function showOtherDevice() {
  const others = { '127.0.0.1': 'localhost', localhost: '127.0.0.1' }
  const url = new URL(location.href)
  const other = others[/** @type {keyof typeof others} */ (url.hostname)]
  if (other === undefined) return
  url.hostname = other
  find('other-device').setAttribute('href', url.href)
}

/**
 * Does what a user has asked for; a failure is shown, and not thrown.
 *
 * @param {string} name
 * @param {() => Promise<void>} action
 */
async function attempt(name, action) {
  try {
    await action()
  } catch (error) {
    const code = toCode(error)
    addEvent('error', `${name}: ${code}`)
    showNotice(
      code === 'CREDENTIALS_INVALID' ? 'Wrong password.' : `It did not work: ${name}, ${code}.`,
      'bad',
    )
  }
}

/**
 * @param {string} id
 * @param {string} name
 * @param {() => Promise<void>} action
 */
function onClick(id, name, action) {
  find(id).addEventListener('click', () => void attempt(name, action))
}

/**
 * @param {string} path
 * @returns {Promise<any>}
 */
async function getJson(path) {
  const response = await fetch(path)
  if (!response.ok) throw new Error(`${path} was answered with ${response.status}`)
  return response.json()
}

/** @param {unknown} error */
function toCode(error) {
  return error instanceof TokenClientError ? error.code : String(error)
}

/** @param {unknown} error */
function toStatus(error) {
  return error instanceof TokenClientError && error.status !== undefined ? String(error.status) : 'failed'
}

/**
 * Why a request failed, in a sentence.
 *
 * @param {unknown} error
 */
function describeFailure(error) {
  const { status = null, code = '' } = error instanceof TokenClientError ? error : {}
  if (status === null) return 'The application cannot be reached.'
  if (status === 503) return 'The store does not answer.'
  if (code === 'ANSWER_INVALID') return 'The answer is not one of this application.'
  return `The application answers with status ${status}.`
}

/**
 * @param {number} number
 * @param {string} name
 */
function count(number, name) {
  return `${number} ${name}${number === 1 ? '' : 's'}`
}

/** @param {number | null} seconds */
function toMoment(seconds) {
  return seconds === null ? Infinity : Date.now() + seconds * 1000
}

/** @param {number} moment */
function toSeconds(moment) {
  return Math.max(0, Math.ceil((moment - Date.now()) / 1000))
}

/** @param {number} seconds */
function format(seconds) {
  if (seconds === Infinity) return 'no end'
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60]
  return minutes === 0 ? `${rest} s` : `${minutes} min ${String(rest).padStart(2, '0')} s`
}
