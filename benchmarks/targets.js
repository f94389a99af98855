import { toTable as toMarkdownTable } from '../tools/shared/report.js'
import { toRatio } from './figures.js'

/**
 * @typedef {object} Target A ratio of costs, `against / of`, that must not be smaller than a number.
 * @property {string} measure
 * @property {number} target
 * @property {string} group
 * @property {string} of
 * @property {string} against
 */

/**
 * @typedef {object} Verdict What a run says about a target.
 * @property {string} measure
 * @property {number} target
 * @property {number} measured The median of the ratios of all rounds.
 * @property {number} low
 * @property {number} high
 * @property {boolean} isMet
 */

/** @type {readonly Target[]} */
export const TARGETS = [
  {
    measure: 'Fastify, remembered tokens vs. bare route',
    target: 0.91,
    group: 'http Fastify',
    of: 'tokenlib',
    against: 'bare',
  },
  {
    measure: 'Fastify, remembered tokens vs. bare route with an empty hook',
    target: 0.93,
    group: 'http Fastify',
    of: 'tokenlib',
    against: 'bare, empty hook',
  },
  {
    measure: 'Fastify, one million revoked in the memory store vs. bare route',
    target: 0.88,
    group: 'http Fastify',
    of: 'tokenlib, a million revoked in memory',
    against: 'bare',
  },
  ...['Express', 'Koa', 'Nest on Express'].map((framework) => ({
    measure: `${framework} vs. bare route`,
    target: 0.92,
    group: `http ${framework}`,
    of: 'tokenlib',
    against: 'bare',
  })),
  {
    measure: 'Nest on Express vs. bare route with an empty guard and an empty parameter',
    target: 0.9,
    group: 'http Nest on Express',
    of: 'tokenlib',
    against: 'bare, empty hook',
  },
  {
    measure: 'Hono vs. bare route with an empty middleware',
    target: 0.93,
    group: 'http Hono',
    of: 'tokenlib',
    against: 'bare, empty hook',
  },
  {
    measure: 'Fastify, Redis store vs. `@fastify/jwt` with one Redis `GET`',
    target: 1.5,
    group: 'http Fastify',
    of: 'tokenlib, Redis store',
    against: '@fastify/jwt, Redis GET',
  },
  {
    measure: 'Fastify, Redis replica with one million revoked vs. bare route',
    target: 0.9,
    group: 'http Fastify',
    of: 'tokenlib, Redis through a replica, a million revoked',
    against: 'bare',
  },
  {
    measure: 'Fastify, Redis replica with one million revoked vs. `@fastify/jwt` with one Redis `GET`',
    target: 2.2,
    group: 'http Fastify',
    of: 'tokenlib, Redis through a replica, a million revoked',
    against: '@fastify/jwt, Redis GET',
  },
  {
    measure: 'Fastify, new tokens vs. bare route',
    target: 0.58,
    group: 'http Fastify, tokens never seen before',
    of: 'tokenlib',
    against: 'bare',
  },
  {
    measure: 'Fastify, new tokens vs. `@fastify/jwt` without a revocation check',
    target: 1.5,
    group: 'http Fastify, tokens never seen before',
    of: 'tokenlib',
    against: '@fastify/jwt',
  },
  {
    measure:
      'Fastify, new tokens, one million revoked in the memory store vs. `@fastify/jwt` without a revocation check',
    target: 1.35,
    group: 'http Fastify, tokens never seen before',
    of: 'tokenlib, a million revoked in memory',
    against: '@fastify/jwt',
  },
  {
    measure:
      'Fastify, new tokens, Redis replica with one million revoked vs. `@fastify/jwt` without a revocation check',
    target: 1.35,
    group: 'http Fastify, tokens never seen before',
    of: 'tokenlib, Redis through a replica, a million revoked',
    against: '@fastify/jwt',
  },
  {
    measure: 'Fastify, new tokens vs. MAC, JSON and expiry alone',
    target: 0.8,
    group: 'http Fastify, tokens never seen before',
    of: 'tokenlib',
    against: 'by hand',
  },
  {
    measure: 'Full check of a new HS256 token vs. `fast-jwt` verifying it',
    target: 1,
    group: 'guard HS256, new tokens',
    of: 'tokenlib',
    against: 'fast-jwt',
  },
  {
    measure: 'Verify HS256 cold vs. `fast-jwt`',
    target: 1.29,
    group: 'verify HS256 cold',
    of: 'tokenlib',
    against: 'fast-jwt',
  },
  {
    measure: 'Verify HS256 repeated vs. `fast-jwt` with its cache',
    target: 7.8,
    group: 'verify HS256 repeated, same strings',
    of: 'tokenlib',
    against: 'fast-jwt (cache)',
  },
  {
    measure: 'Verify foreign RS256 cold vs. `aws-jwt-verify`',
    target: 1,
    group: 'verify foreign RS256 cold',
    of: 'tokenlib',
    against: 'aws-jwt-verify',
  },
  {
    measure: 'Create HS256 with two extra claims vs. `fast-jwt` signing the same claims',
    target: 1.5,
    group: 'create HS256 with two extra claims',
    of: 'tokenlib',
    against: 'fast-jwt',
  },
  {
    measure: 'Import `tokenlib` vs. `jose`',
    target: 1.5,
    group: 'import',
    of: 'tokenlib',
    against: 'jose',
  },
]

/**
 * What the groups of one run say about every target that they have figures for.
 *
 * @param {readonly import('./figures.js').Group[]} groups
 * @returns {Verdict[]}
 */
export function judgeTargets(groups) {
  return TARGETS.flatMap(({ measure, target, group, of, against }) => {
    const figures = groups.find(({ id }) => id === group)?.figures ?? []
    const [own, other] = [of, against].map((wanted) => figures.find(({ name }) => name === wanted))
    if (own === undefined || other === undefined) return []
    const { median: measured, low, high } = toRatio(own.samples, other.samples)
    return [{ measure, target, measured, low, high, isMet: measured >= target }]
  })
}

/**
 * How many targets are met, in a sentence.
 *
 * @param {readonly Verdict[]} verdicts
 */
export function countMet(verdicts) {
  return `${verdicts.filter(({ isMet }) => isMet).length} of ${verdicts.length} targets met.`
}

/**
 * The verdicts as the rows of a Markdown table.
 *
 * @param {readonly Verdict[]} verdicts
 */
export function toTable(verdicts) {
  const rows = verdicts.map(({ measure, target, measured, low, high, isMet }) => [
    measure,
    toMeasured(measured, target),
    `${low.toFixed(2)} – ${high.toFixed(2)}`,
    target.toFixed(2),
    isMet ? 'yes' : 'no',
  ])
  return toMarkdownTable(['Measure', 'Measured', 'Spread', 'At least', 'Met'], rows)
}

// A figure that only just misses must not look as if it did not.
function toMeasured(measured, target) {
  const text = measured.toFixed(2)
  return Number(text) >= target === measured >= target ? text : measured.toFixed(4)
}
