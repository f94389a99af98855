// For the tests of consumers: starts a server on a free port, and sends requests to it with the cookies of a browser.
import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'

/** A key that is generated for this run; every process of a consumer gets it as JWT_SECRET_KEY. */
const secret = crypto.getRandomValues(Buffer.alloc(32)).toString('hex')

/** What a build and a server of a consumer get as their environment. */
export const environment = { ...process.env, JWT_SECRET_KEY: secret }

/** Runs a program to its end; returns its exit code and all that it printed. */
export async function runProgram(program, args, env = environment) {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text))
  }
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  return { code, output }
}

/** Runs a program that must succeed, such as a build or a type check. */
export async function mustRun(program, args, env = environment) {
  const { code, output } = await runProgram(program, args, env)
  console.log(output)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}`)
}

/**
 * Starts a server, calls `use` with its origin and ends the server, also after a failure.
 * The server gets its port as PORT, and as `{port}` in its arguments and in `env`.
 */
export async function withServer([program, ...args], use, env = {}) {
  const port = String(await findPort())
  const withPort = (text) => text.replace('{port}', port)
  const own = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, withPort(value)]))
  const child = spawn(program, args.map(withPort), {
    env: { ...environment, PORT: port, HOST: '127.0.0.1', ...own },
    stdio: ['ignore', 'inherit', 'inherit'],
    // A group of its own: what npx starts is not the server, and ends without it.
    detached: true,
  })
  const ended = new Promise((_resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new Error(`The server ended with ${code ?? signal}`)))
  })
  // Awaited in the race below, and ended on purpose after it.
  ended.catch(() => {})
  const end = () => {
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch (error) {
      if (error.code !== 'ESRCH') throw error
    }
  }
  process.once('exit', end)
  try {
    await Promise.race([waitForPort(port), ended])
    return await Promise.race([use(`http://127.0.0.1:${port}`), ended])
  } finally {
    process.off('exit', end)
    end()
  }
}

/** A free port of this machine. */
export async function findPort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

const START_TIMEOUT_MS = 60_000

async function waitForPort(port) {
  const deadline = performance.now() + START_TIMEOUT_MS
  while (!(await isOpen(port))) {
    if (performance.now() > deadline) throw new Error(`No server listens on port ${port}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function isOpen(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}

/** Sends requests as a browser does: keeps the cookies that are set, and never follows a redirect. */
export function createBrowser(origin) {
  const cookies = new Map()
  return {
    cookies,
    async send(path, { headers = {}, ...init } = {}) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const response = await fetch(`${origin}${path}`, {
        redirect: 'manual',
        ...init,
        headers: { ...(cookie === '' ? {} : { cookie }), ...headers },
      })
      keepCookies(cookies, response)
      return response
    },
  }
}

/** Puts the cookies that a response sets into a map, and takes those that it deletes out of it. */
export function keepCookies(cookies, response) {
  for (const line of response.headers.getSetCookie()) keepCookie(cookies, line)
}

function keepCookie(cookies, line) {
  const [pair, ...attributes] = line.split(';').map((part) => part.trim())
  const at = pair.indexOf('=')
  const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
  const isDeleted = attributes.some((attribute) => /^max-age=0$|^expires=thu, 01 jan 1970/i.test(attribute))
  if (isDeleted || value === '') cookies.delete(name)
  else cookies.set(name, value)
}

/** The token with one character of its payload changed. */
export function tamper(token) {
  const [header, payload, signature] = token.split('.')
  const changed = payload.startsWith('e') ? `f${payload.slice(1)}` : `e${payload.slice(1)}`
  return [header, changed, signature].join('.')
}
