import { readCpu, readMemory, serveParent } from '../child.js'
import { createKeys, createManager, createTokenFactory, toNewStrings } from '../tokens.js'
import { internalsOf } from 'tokenlib/kit'

const BATCH = 1000

// A manager as it is by default. Asked for a count, it verifies so many different tokens in turn, from the first on.
// No token is kept here, so that only what the manager keeps is measured.
serveParent(async () => {
  const keys = createKeys('HS256')
  const manager = createManager(keys)
  const createToken = createTokenFactory(manager, keys.privateText)
  return {
    ready: null,
    answer(/** @type {number} */ count) {
      let used = 0
      for (let at = 0; at < count; at += BATCH) {
        const length = Math.min(BATCH, count - at)
        const tokens = toNewStrings(Array.from({ length }, (_, number) => createToken(at + number)))
        const before = readCpu()
        for (const token of tokens) internalsOf(manager).verifyWithoutRevocation(token)
        used += readCpu() - before
      }
      return { cost: used / count, ...readMemory() }
    },
  }
})
