import { createTokenClient } from './client.js'

const client = createTokenClient()
const find = (id) => document.getElementById(id)
const say = (text) => (find('status').textContent = text)
let session

client.on('loggedIn', open)
client.on('loggedOut', () => show('login'))
on('login', 'submit', (form) => client.logIn(form))
on('logout', 'click', () => client.logOut())
on('logout-everywhere', 'click', () => client.logOutEverywhere())
on('delete', 'click', deleteNotes)
on('step-up', 'submit', ({ password }) => client.stepUp({ name: session.sub, password }).then(deleteNotes))

client.on('offline', () => say('The server is not available. Trying again.'))
const found = await client.start()
say('')
if (found === null) show('login')
else if (session?.id !== found.id) open(found) // It may have been opened by a login in another tab.

function open(next) {
  session = next
  show('account')
  find('claims').textContent = JSON.stringify({ user: next.sub, ...next.claims }, null, 2)
  const socket = client.socket('/live')
  for (const type of ['open', 'message']) socket.addEventListener(type, listDevices)
  socket.addEventListener('close', (/** @type {CloseEvent} */ { code }) => say(`Socket closed: ${code}`))
}

async function listDevices() {
  const { sessions } = await client.sessions().catch(() => ({ sessions: [] })) // The session may be over.
  const items = sessions.map(({ id, ip, userAgent, isCurrent }) => {
    const [item, button] = [document.createElement('li'), document.createElement('button')]
    button.textContent = isCurrent ? 'End this one' : 'End'
    button.addEventListener('click', () => client.endSession(id).catch((error) => say(error.message)))
    item.append(`${userAgent} at ${ip} `, button)
    return item
  })
  find('devices').replaceChildren(...items)
}

async function deleteNotes() {
  const { message, code } = await (await client.fetch('/notes', { method: 'DELETE' })).json()
  find('step-up').hidden = code !== 'FRESH_TOKEN_REQUIRED'
  say(message)
}

function on(id, type, action) {
  find(id).addEventListener(type, async (event) => {
    event.preventDefault()
    const form = type === 'submit' ? new FormData(event.target) : []
    await action(Object.fromEntries(form)).catch((error) => say(error.message))
  })
}

function show(id) {
  for (const name of ['login', 'account']) find(name).hidden = name !== id
}
