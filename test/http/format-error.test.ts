import { expect, test } from 'vitest'
import {
  type FormatError,
  MissingTokenError,
  TokenManager,
  toErrorResponse,
} from '../../packages/tokenlib/src/index.js'
import { handleErrors } from '../../packages/tokenlib/src/frameworks/fetch.js'
import { createManager } from '../helpers/manager.js'

const error = new MissingTokenError('No token found')
const STANDARD = { message: 'No token found', error_type: 'MissingTokenError', code: 'TOKEN_MISSING' }

test('formatError decides the body, and nothing else', () => {
  const formatError: FormatError = ({ status, code, message, body, error: given }) => ({
    title: message,
    status: status + 100,
    headers: {},
    code,
    body,
    isSame: given === error,
  })
  expect(toErrorResponse(error, { formatError })).toEqual({
    status: 401,
    headers: { 'cache-control': 'no-store', 'www-authenticate': 'Bearer realm="api"' },
    body: {
      title: 'No token found',
      status: 501,
      headers: {},
      code: 'TOKEN_MISSING',
      body: STANDARD,
      isSame: true,
    },
  })
})

test('formatError gets the message of the option messages', () => {
  const { body } = toErrorResponse(error, {
    messages: { TOKEN_MISSING: 'Bitte anmelden' },
    formatError: ({ message }) => ({ message }),
  })
  expect(body).toEqual({ message: 'Bitte anmelden' })
})

const circular: Record<string, unknown> = {}
circular['self'] = circular

test.each<[string, unknown]>([
  [
    'throws',
    () => {
      throw new Error('broken')
    },
  ],
  ['is async', async () => ({ code: 'late' })],
  ['returns nothing', () => undefined],
  ['returns null', () => null],
  ['returns a text', () => 'refused'],
  ['returns a list', () => []],
  ['returns a function', () => () => ({})],
  ['returns what has no JSON', () => ({ size: 1n })],
  ['returns a circle', () => circular],
])('a formatError that %s leaves the standard body', (_, formatError) => {
  const { status, body } = toErrorResponse(error, { formatError: formatError as FormatError })
  expect([status, body]).toEqual([401, STANDARD])
})

test('a formatError that is no function is refused where it is given', () => {
  const formatError = 'json' as unknown as FormatError
  const { config } = createManager().tokens
  expect(() => new TokenManager({ config, formatError })).toThrow('formatError must be a function')
  expect(() => handleErrors({ formatError })).toThrow('formatError must be a function')
})

test('a formatError that fails is a warning, once', async () => {
  const warnings: Error[] = []
  const listen = (warning: Error): void => void warnings.push(warning)
  process.on('warning', listen)
  const formatError = () => {
    throw new Error('no such text')
  }
  toErrorResponse(error, { formatError })
  toErrorResponse(error, { formatError })
  // Warnings are emitted at the next tick.
  await new Promise(setImmediate)
  process.off('warning', listen)
  const heard = warnings.filter(({ message }) => message.includes('no such text'))
  expect(heard.map(({ name }) => name)).toEqual(['TokenErrorWarning'])
})
