// An app in the globals of React Native 0.86: those of the packages it uses, and what Node has and it has not is taken away.
// It logs in, is started again with an expired token, aborts a request, and logs out; prints what happened as JSON.
import { AbortController, AbortSignal } from 'abort-controller'
import xmlHttpRequest from 'xmlhttprequest-ssl'

const [, , origin] = process.argv
for (const name of ['fetch', 'Headers', 'Request', 'Response', 'BroadcastChannel']) delete globalThis[name]
Object.defineProperty(globalThis, 'DOMException', { value: undefined })
Object.assign(globalThis, { AbortController, AbortSignal, XMLHttpRequest: xmlHttpRequest.XMLHttpRequest })
await import('whatwg-fetch')
const { createTokenClient } = await import('@tokenlib/client')

let stored = null
const storage = {
  read: async () => stored,
  write: async (value) => void (stored = value),
  remove: async () => void (stored = null),
}
const startApp = () => createTokenClient({ path: `${origin}/auth`, storage })
const outcomes = []

const { sub } = await startApp().logIn({ name: 'ada', password: 'secret' })
outcomes.push(sub)
const app = startApp()
const answers = await Promise.all(
  [1, 2, 3].map(() => app.fetch(`${origin}/notes`, { method: 'POST', body: 'milk' })),
)
outcomes.push(...answers.map(({ status }) => status), (await answers[0].json()).body)
const controller = new AbortController()
controller.abort()
outcomes.push(
  await startApp()
    .fetch(`${origin}/notes`, { signal: controller.signal })
    .catch(({ name }) => name),
)
await app.logOut()
outcomes.push(stored, await app.session())
console.log(JSON.stringify(outcomes))
