import { describe, expect, test } from 'vitest'
import { ConfigurationError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { defineStore, type RevocationStore } from '../../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { SECRET } from '../helpers/manager.js'

const members = (): RevocationStore => ({ ...createMemoryStore() })

test('a store is the object that was given, and a manager takes it', () => {
  const { isRevokedNow: _, ...store } = members()
  expect(defineStore(store)).toBe(store)
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
  expect(() => new TokenManager({ config, store: defineStore(store) })).not.toThrow()
  // It may be defined twice.
  expect(defineStore(defineStore(store))).toBe(store)
})

test('an instance of a class is a store as well', () => {
  class Store {}
  Object.assign(Store.prototype, members())
  const store = new Store() as RevocationStore
  expect(defineStore(store)).toBe(store)
})

describe('what is not a store is a ConfigurationError that names the member', () => {
  test.each<[string, (store: RevocationStore) => unknown, RegExp]>([
    ['nothing', () => undefined, /prepare/],
    ['null', () => null, /prepare/],
    ['a text', () => 'redis://', /prepare/],
    ['a method that is missing', (store) => ({ ...store, lookup: undefined }), /lookup/],
    ['a method that is no function', (store) => ({ ...store, prune: 1 }), /prune/],
    [
      'sessions without a method',
      (store) => ({ ...store, sessions: { ...store.sessions, rotate: null } }),
      /sessions\.rotate/,
    ],
    [
      'a misspelled member',
      ({ sessions, ...store }) => ({ ...store, session: sessions }),
      /"session".*"sessions"/,
    ],
    [
      'an unknown member of sessions',
      (store) => ({ ...store, sessions: { ...store.sessions, gett() {} } }),
      /"gett".*"get"/,
    ],
    ['an isRevokedNow that is no function', (store) => ({ ...store, isRevokedNow: 5 }), /isRevokedNow/],
  ])('%s', (_what, change, text) => {
    const define = () => defineStore(change(members()) as RevocationStore)
    expect(define).toThrow(ConfigurationError)
    expect(define).toThrow(text)
  })
})
