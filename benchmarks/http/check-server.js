import { tamper } from '../tokens.js'

/**
 * Throws unless a server answers a good token as the bare one does, and refuses what its kind has to refuse.
 *
 * @param {string} url
 * @param {import('./contestants.js').HttpContestant} contestant
 * @param {{ good: string, revoked: string }} tokens `good` is the one for the subject that the bare answer has.
 * @param {Answer | null} bare What the bare server said to the good token.
 * @returns {Promise<Answer>}
 *
 * @typedef {{ status: number, type: string | null, body: string }} Answer
 */
export async function checkServer(url, { name, framework, kind, revocation }, { good, revoked }, bare) {
  const answer = await send(url, good)
  if (answer.status !== 200) throw new Error(`${framework}, ${name}: a good token gets ${answer.status}`)
  if (bare !== null && !isSame(answer, bare)) {
    throw new Error(
      `${framework}, ${name}: the answer is not that of the bare server: ${JSON.stringify(answer)}`,
    )
  }
  if (kind === 'bare') return answer
  const bad = {
    'a tampered token': tamper(good),
    'no token': null,
    ...(revocation !== 'none' && { 'a revoked token': revoked }),
  }
  for (const [what, token] of Object.entries(bad)) {
    const { status } = await send(url, token)
    if (status !== 401) throw new Error(`${framework}, ${name}: ${what} gets ${status}`)
  }
  return answer
}

async function send(url, token) {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  const response = await fetch(url, { headers })
  const type = response.headers.get('content-type')
  return { status: response.status, type, body: await response.text() }
}

function isSame(answer, bare) {
  return answer.status === bare.status && answer.type === bare.type && answer.body === bare.body
}
