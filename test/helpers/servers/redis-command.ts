import { connect } from 'node:net'

/** Sends one command on a connection of its own, and returns its answer if that is one line or one string. */
export async function redisCommand(url: string, ...command: string[]): Promise<string | null> {
  const { hostname, port, username, password } = new URL(url)
  const credentials = [username, password].filter((word) => word !== '').map(decodeURIComponent)
  const isSecured = credentials.length > 0
  const socket = connect(Number(port || 6379), hostname)
  socket.write((isSecured ? encode(['AUTH', ...credentials]) : '') + encode(command))
  let replies = Buffer.alloc(0)
  for await (const chunk of socket) {
    replies = Buffer.concat([replies, chunk as Buffer])
    const reply = parse(isSecured ? afterLine(replies) : replies)
    if (reply !== undefined) return reply
  }
  throw new Error('Redis closed the connection without an answer.')
}

function encode(command: readonly string[]): string {
  const words = command.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`)
  return `*${command.length}\r\n${words.join('')}`
}

function afterLine(replies: Buffer): Buffer {
  const end = replies.indexOf('\r\n')
  return end === -1 ? Buffer.alloc(0) : replies.subarray(end + 2)
}

/** Undefined as long as the reply is not complete. */
function parse(reply: Buffer): string | null | undefined {
  const end = reply.indexOf('\r\n')
  if (end === -1) return undefined
  const line = reply.toString('utf8', 1, end)
  if (reply[0] === '-'.charCodeAt(0)) throw new Error(line)
  if (reply[0] !== '$'.charCodeAt(0)) return line
  const length = Number(line)
  if (length === -1) return null
  return reply.length < end + 4 + length ? undefined : reply.toString('utf8', end + 2, end + 2 + length)
}
