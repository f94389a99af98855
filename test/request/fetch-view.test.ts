import { describe, expect, test } from 'vitest'
import { createManager } from '../helpers/manager.js'
import { createJsonRequest, createRequest } from '../helpers/requests.js'

const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'json' })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const MEBIBYTE = 1024 * 1024

/** A JSON text of exactly so many bytes that carries the token. */
const jsonOfSize = (bytes: number): string => {
  const frame = JSON.stringify({ access_token: TOKEN, filler: '' })
  return JSON.stringify({ access_token: TOKEN, filler: 'x'.repeat(bytes - frame.length) })
}

describe('the body afterwards', () => {
  test('the route can read it, after any number of checks', async () => {
    const request = createJsonRequest({ access_token: TOKEN, title: 'x' })
    await tokens.accessTokenRequired(request)
    await tokens.accessTokenOptional(request)
    expect(request.bodyUsed).toBe(false)
    await expect(request.json()).resolves.toEqual({ access_token: TOKEN, title: 'x' })
  })

  test('the route can read it after a refusal', async () => {
    const request = createJsonRequest({ title: 'x' })
    await expect(tokens.accessTokenRequired(request)).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
    await expect(request.json()).resolves.toEqual({ title: 'x' })
  })

  test('a malformed body has no token and stays as it is', async () => {
    const request = createJsonRequest('{"access_token":')
    await expect(tokens.getTokenFromRequest(request)).resolves.toBeNull()
    await expect(request.text()).resolves.toBe('{"access_token":')
  })

  test('a body of another content type is not touched', async () => {
    const request = createJsonRequest({ access_token: TOKEN }, 'text/plain')
    await expect(tokens.getTokenFromRequest(request)).resolves.toBeNull()
    await expect(request.text()).resolves.toBe(JSON.stringify({ access_token: TOKEN }))
  })

  test('a dependency that ran before the route read the body still answers afterwards', async () => {
    const request = createJsonRequest({ access_token: TOKEN })
    await tokens.getTokenFromRequest(request)
    await request.text()
    await expect(tokens.accessTokenRequired(request)).resolves.toMatchObject({ sub: 'ada' })
  })
})

describe('the body before', () => {
  test('a body that was read already has no token for us', async () => {
    const request = createJsonRequest({ access_token: TOKEN })
    await request.text()
    expect(request.bodyUsed).toBe(true)
    await expect(tokens.getTokenFromRequest(request)).resolves.toBeNull()
    await expect(tokens.accessTokenRequired(request)).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
  })

  test('a body that someone else is about to read has no token for us', async () => {
    const request = createJsonRequest({ access_token: TOKEN })
    const reader = request.body?.getReader()
    expect(request.bodyUsed).toBe(false)
    await expect(tokens.getTokenFromRequest(request)).resolves.toBeNull()
    reader?.releaseLock()
  })

  test('a request that only says it has a JSON body', async () => {
    const request = createRequest({ headers: { 'content-type': 'application/json' } })
    await expect(tokens.getTokenFromRequest(request)).resolves.toBeNull()
  })

  test('a streamed body without a length is read, and readable afterwards', async () => {
    const text = JSON.stringify({ access_token: TOKEN })
    const body = new Blob([text.slice(0, 7), text.slice(7)]).stream()
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, duplex: 'half' }
    const request = new Request('http://localhost/', init as RequestInit)
    await expect(tokens.getTokenFromRequest(request)).resolves.toMatchObject({ token: TOKEN })
    await expect(request.text()).resolves.toBe(text)
  })

  test('a character cut in two by the stream is whole again', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'json', JWT_JSON_KEY: 'schlüssel' })
    const bytes = Buffer.from('{"schlüssel":"T"}')
    const at = bytes.indexOf(0xc3) + 1
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(bytes.subarray(0, at))
        controller.enqueue(bytes.subarray(at))
        controller.close()
      },
    })
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, duplex: 'half' }
    const request = new Request('http://localhost/', init as RequestInit)
    await expect(tokens.getTokenFromRequest(request)).resolves.toMatchObject({ token: 'T' })
  })
})

describe('a large body', () => {
  test('one of 1 MiB is read', async () => {
    const request = createJsonRequest(jsonOfSize(MEBIBYTE))
    await expect(tokens.getTokenFromRequest(request)).resolves.toMatchObject({ token: TOKEN })
  })

  // Cancelling one branch of a tee settles only when the other is cancelled too: waiting for it waits for ever.
  test('a larger one is left to the route, whole', { timeout: 5000 }, async () => {
    const text = jsonOfSize(MEBIBYTE + 1)
    const request = createJsonRequest(text)
    await expect(tokens.getTokenFromRequest(request)).resolves.toBeNull()
    expect((await request.text()) === text).toBe(true)
  })
})
