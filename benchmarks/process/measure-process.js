import { isDeepStrictEqual } from 'node:util'
import { jwtVerify } from 'jose'
import { measureImport } from '../../tools/house/imports.js'
import { alternate, createGroup } from '../figures.js'
import {
  ALGORITHMS,
  createKeys,
  createManager,
  createTokens,
  DISTINCT_TOKENS,
  tamper,
  toNewStrings,
  toSubject,
} from '../tokens.js'
import { listForeignGroups } from './foreign.js'
import { listGuardedGroups } from './guarded.js'
import { listProofGroups } from './proofs.js'
import { sampleCalls, samplePromises } from './sample.js'
import { createSigners } from './signers.js'
import { createColdVerifiers, createRememberingVerifiers } from './verifiers.js'

// Those that are compared: they are in every round, also of a quick run.
const NEEDED = [
  'tokenlib',
  'tokenlib, memory store',
  'tokenlib, direct call',
  'tokenlib, new tokens',
  'fast-jwt',
  'fast-jwt (cache)',
  'oauth4webapi',
  'jose (remote key set)',
  'aws-jwt-verify',
]
const WARM_UP_CALLS = 10_000
const EXTRA_CLAIMS = { role: 'admin', tenant: 'acme' }

/**
 * Creating and verifying, with nothing around it.
 *
 * @param {import('../run.js').Run} run
 */
export async function measureProcess(run) {
  const groups = [
    ...(run.quick ? ['HS256'] : ALGORITHMS).flatMap(listGroups),
    ...listGuardedGroups(),
    ...listProofGroups(),
    ...listForeignGroups(),
  ]
  for (const { title, prepare } of groups.filter(({ title }) => run.isWanted(title))) {
    const { contestants, toCall, check } = await prepare()
    for (const contestant of contestants) await check(contestant)
    const paced = contestants.map((each) => ({ ...each, seldom: !NEEDED.includes(each.name) }))
    const chosen = paced.filter(({ seldom }) => !(run.quick && seldom))
    run.report(createGroup(title, title, await measure(chosen, run, toCall)))
  }
  if (run.isWanted('import')) run.report(createGroup('import', 'import', await measureImports(run)))
}

// Each import runs in a new process, without a warm-up: an application imports once.
function measureImports({ quick, rounds }) {
  const contestants = ['tokenlib', 'jose', 'fast-jwt'].map((name) => ({ name }))
  const pace = { rounds: rounds ?? (quick ? 5 : 15), turns: 1 }
  return alternate(contestants, pace, async ({ name }) => ({ used: measureImport(name) * 1000, calls: 1 }))
}

function listGroups(algorithm) {
  const keys = createKeys(algorithm)
  const isHmac = algorithm === 'HS256'
  let made = null
  // It takes seconds to sign a thousand tokens with RSA.
  const getTokens = () => (made ??= createTokens(createManager(keys), isHmac ? DISTINCT_TOKENS : 100))

  const repeated = (strings, nextBatch) => ({
    title: `verify ${algorithm} repeated, ${strings} strings`,
    prepare: async () => ({
      contestants: createRememberingVerifiers(keys),
      check: (verifier) => assertVerifies(verifier, getTokens()[0]),
      toCall: ({ verify }) => [verify, nextBatch],
    }),
  })
  const create = (title, claims) => ({
    title,
    prepare: async () => {
      const subjects = Array.from({ length: getTokens().length }, (_, number) => toSubject(number))
      return {
        contestants: await createSigners(keys, claims),
        check: (signer) => assertSigns(signer, keys, claims, getTokens()[0]),
        toCall: (signer) => [signer.create, () => subjects],
      }
    },
  })
  return [
    {
      title: `verify ${algorithm} cold`,
      prepare: async () => ({
        contestants: await createColdVerifiers(keys),
        check: (verifier) => assertVerifies(verifier, getTokens()[0]),
        toCall: ({ verify, prepare }) => [
          verify,
          () => (prepare === undefined ? toNewStrings(getTokens()) : getTokens().map(prepare)),
        ],
      }),
    },
    create(`create ${algorithm}`, {}),
    // The same for every algorithm, or nearly so.
    ...(isHmac
      ? [
          create('create HS256 with two extra claims', EXTRA_CLAIMS),
          repeated('same', getTokens),
          repeated('new', () => toNewStrings(getTokens())),
        ]
      : []),
  ]
}

async function measure(contestants, { quick, rounds }, toCall) {
  const pace = quick
    ? { rounds: 5, turns: 4, sampleMs: 10, warmUpMs: 150, maxWarmUpMs: 150 }
    : { rounds: 15, turns: 4, sampleMs: 10, warmUpMs: 250, maxWarmUpMs: 2000 }
  const sample = (contestant, milliseconds) => {
    const [call, nextBatch] = toCall(contestant)
    return (contestant.isAsync ? samplePromises : sampleCalls)(call, nextBatch, milliseconds)
  }
  for (const contestant of contestants) await warmUp(() => sample(contestant, pace.warmUpMs), pace)
  return alternate(contestants, { ...pace, ...(rounds !== null && { rounds }) }, (contestant) =>
    sample(contestant, pace.sampleMs),
  )
}

// V8 optimizes by calls, not by time. After 250 ms of RSA it is still compiling, in threads whose CPU time would count.
async function warmUp(sample, { maxWarmUpMs }) {
  let [calls, used] = [0, 0]
  while (used === 0 || (calls < WARM_UP_CALLS && used < maxWarmUpMs * 1000)) {
    const taken = await sample()
    calls += taken.calls
    used += taken.used
  }
}

// A verifier must accept a good token, return its claims, and refuse a tampered one and none.
async function assertVerifies({ name, verify, prepare }, token) {
  const call = async (given) => verify(prepare === undefined ? given : prepare(given))
  const claims = await call(token)
  const isGood = prepare === undefined ? isDeepStrictEqual({ ...claims }, readClaims(token)) : claims === true
  if (!isGood) throw new Error(`${name} does not accept a good token`)
  for (const bad of [tamper(token), '']) {
    const accepted = await call(bad).catch(() => false)
    if (accepted) throw new Error(`${name} accepts a bad token`)
  }
}

// A signer must make tokens that verify, with the claims that ours have. `jose` decides: ours refuses half of the
// ES256 signatures of others, those with a high s.
async function assertSigns({ name, create, isFloor }, { algorithm, publicKey }, extra, own) {
  const token = String(await create('user-0000000'))
  await jwtVerify(token, publicKey, { algorithms: [algorithm] })
  const made = Object.keys(readClaims(token)).toSorted()
  const wanted = Object.keys({ ...readClaims(own), ...(isFloor ? {} : extra) }).toSorted()
  if (!isDeepStrictEqual(made, wanted)) throw new Error(`${name} makes other claims: ${made.join(', ')}`)
}

function readClaims(token) {
  return JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString())
}
