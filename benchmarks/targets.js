import { toRatio } from './statistics.js'

/**
 * @typedef {object} Target A ratio that must not be smaller than a number.
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
 * @property {boolean} holds
 */

const GUARDED = ['Express', 'Hono', 'Koa', 'Nest on Express']
const SIGNATURES = ['HS256', 'RS256', 'ES256', 'EdDSA']

/** @type {readonly Target[]} */
export const TARGETS = [
  ...SIGNATURES.map((algorithm) => ({
    measure: `verify ${algorithm} cold, against \`fast-jwt\``,
    target: 1,
    group: `verify ${algorithm} cold`,
    of: 'tokenlib',
    against: 'fast-jwt',
  })),
  ...SIGNATURES.flatMap((algorithm) => [
    {
      measure: `verify ${algorithm} cold, against a bare verifier on \`node:crypto\``,
      target: 0.85,
      group: `verify ${algorithm} cold`,
      of: 'tokenlib',
      against: 'node:crypto by hand',
    },
    {
      measure: `verify ${algorithm} cold, against the signature alone`,
      target: 0.85,
      group: `verify ${algorithm} cold`,
      of: 'tokenlib',
      against: 'node:crypto',
    },
  ]),
  ...['same', 'new'].map((strings) => ({
    measure: `verify HS256 repeated (${strings} string objects), against \`fast-jwt\` with its cache`,
    target: 5,
    group: `verify HS256 repeated, ${strings} strings`,
    of: 'tokenlib',
    against: 'fast-jwt (cache)',
  })),
  {
    measure: 'create HS256 with `jti`, against `fast-jwt` signing the same claims',
    target: 1,
    group: 'create HS256',
    of: 'tokenlib',
    against: 'fast-jwt',
  },
  {
    measure: 'Fastify guarded, repeated tokens, against bare Fastify',
    target: 0.9,
    group: 'http Fastify',
    of: 'tokenlib',
    against: 'bare',
  },
  {
    measure: 'Fastify guarded with one million revoked in the store, against bare Fastify',
    target: 0.88,
    group: 'http Fastify',
    of: 'tokenlib, memory store',
    against: 'bare',
  },
  {
    measure:
      'Fastify guarded with one million revoked in the store, against `@fastify/jwt` with a Redis lookup',
    target: 3,
    group: 'http Fastify',
    of: 'tokenlib, memory store',
    against: '@fastify/jwt, Redis',
  },
  ...GUARDED.map((framework) => ({
    measure: `${framework} guarded, against bare`,
    target: 0.9,
    group: `http ${framework}`,
    of: 'tokenlib',
    against: 'bare',
  })),
  {
    measure: 'throughput of Fastify at ten million revoked, against none',
    target: 0.95,
    group: 'growth over HTTP',
    of: '10,000,000 revoked',
    against: '0 revoked',
  },
]

/**
 * What the groups of one run say about every target that they have figures for.
 *
 * @param {readonly import('./group.js').Group[]} groups
 * @returns {Verdict[]}
 */
export function judgeTargets(groups) {
  return TARGETS.flatMap(({ measure, target, group, of, against }) => {
    const figures = groups.find(({ id }) => id === group)?.figures ?? []
    const [own, other] = [of, against].map((wanted) => figures.find(({ name }) => name === wanted))
    if (own === undefined || other === undefined) return []
    const { median: measured, low, high } = toRatio(own.samples, other.samples)
    return [{ measure, target, measured, low, high, holds: measured >= target }]
  })
}

/**
 * The verdicts as the rows of a Markdown table.
 *
 * @param {readonly Verdict[]} verdicts
 */
export function toTable(verdicts) {
  const rows = verdicts.map(({ measure, target, measured, low, high, holds }) => [
    measure,
    `>= ${target.toFixed(2)}`,
    toMeasured(measured, target),
    `${low.toFixed(2)} – ${high.toFixed(2)}`,
    holds ? 'yes' : 'no',
  ])
  const table = [['Measure', 'Target', 'Measured', 'Spread', 'Holds'], ...rows]
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)))
  const toLine = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`
  return [toLine(table[0]), rule, ...table.slice(1).map(toLine)].join('\n')
}

// A figure that only just misses must not look as if it did not.
function toMeasured(measured, target) {
  const text = measured.toFixed(2)
  return Number(text) >= target === measured >= target ? text : measured.toFixed(4)
}
