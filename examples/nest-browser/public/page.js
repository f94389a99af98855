import { createTokenClient } from './client/index.js'

const client = createTokenClient()
const find = (id) => document.getElementById(id)
const say = (text) => (find('status').textContent = text)
let session = null

client.on('loggedIn', open)
client.on('loggedOut', () => show('login'))
on('login', 'submit', (form) => client.logIn(form))
on('logout', 'click', () => client.logOut())
on('logout-everywhere', 'click', () => client.logOutEverywhere())
on('delete', 'click', deleteNotes)
on('step-up', 'submit', async ({ password }) => {
  await client.stepUp({ name: session.sub, password })
  await deleteNotes()
})

const found = await client.session()
if (found !== null) open(found)

function open(next) {
  session = next
  show('account')
  find('claims').textContent = JSON.stringify({ user: next.sub, ...next.claims }, null, 2)
  const socket = client.socket('/live')
  socket.addEventListener('open', listDevices)
  socket.addEventListener('message', listDevices)
  socket.addEventListener('close', ({ code }) => say(`Logged out, socket closed with ${code}`))
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
  const response = await client.fetch('/notes', { method: 'DELETE' })
  const { message, code } = await response.json()
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
