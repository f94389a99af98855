import { parseArgs } from 'node:util'
import { RULES, type Rule } from './rules.js'
import {
  CALM,
  type HonestLife,
  ROUGH,
  type Setting,
  simulateHonest,
  simulateTheft,
  type StolenLife,
  type World,
} from './simulate.js'
import { THIEVES, type ThiefKind } from './thief.js'

/** What happened to honest users. */
export interface HonestFigures {
  readonly sessions: number
  readonly loggedOut: number
  readonly refreshes: number
  /** The first seed whose user was logged out. */
  readonly firstSeed: number | null
}

/** What thieves of one kind got. */
export interface TheftFigures {
  /** Those that lasted until there was something to steal. */
  readonly sessions: number
  readonly caught: number
  /** The most rotations of a victim since the theft, when the thief was last given tokens. */
  readonly mostRotations: number
  /** How long a thief had access; milliseconds. */
  readonly medianAccessMs: number
  readonly longestAccessMs: number
}

/** The figures of a rule in one setting. */
export interface RuleFigures extends Pick<Rule, 'name' | 'title' | 'stores'> {
  readonly honest: { readonly manyTabs: HonestFigures; readonly oneTab: HonestFigures }
  readonly calmThieves: Readonly<Record<ThiefKind, TheftFigures>>
  readonly roughThieves: Readonly<Record<ThiefKind, TheftFigures>>
}

/** All rules in one setting. */
export interface SettingFigures extends Setting {
  readonly rules: readonly RuleFigures[]
}

/** What a run of the comparison leaves behind. The same seeds give the same record. */
export interface Comparison {
  readonly firstSeed: number
  readonly seeds: number
  readonly settings: readonly SettingFigures[]
}

/** Which seeds are run. */
export type Seeds = Pick<Comparison, 'firstSeed' | 'seeds'>

/** The defaults of this library, and a setting with far more refreshes. */
export const SETTINGS: readonly Setting[] = [
  { graceMs: 60_000, accessMs: 900_000 },
  { graceMs: 10_000, accessMs: 60_000 },
]

/** The seeds of the published figures. */
export const PUBLISHED: Seeds = { firstSeed: 1, seeds: 300 }

/** The seeds that a command line asks for, or a text that says what is wrong with it. */
export function parseSeeds(args: string[]): Seeds | string {
  const { values } = parseArgs({
    args,
    options: { seeds: { type: 'string' }, 'first-seed': { type: 'string' } },
  })
  const [seeds, firstSeed] = [values.seeds ?? PUBLISHED.seeds, values['first-seed'] ?? PUBLISHED.firstSeed]
  const isNumber = (value: string | number): boolean => /^[1-9]\d{0,6}$/.test(String(value))
  if (!isNumber(seeds) || !isNumber(firstSeed)) return '--seeds and --first-seed take whole numbers from 1'
  return { seeds: Number(seeds), firstSeed: Number(firstSeed) }
}

/** Runs every rule in every setting on the same seeds; `report` is called after each rule. */
export function compareRules(
  { firstSeed, seeds }: Seeds,
  report: (figures: RuleFigures, setting: Setting) => void,
): Comparison {
  const list = Array.from({ length: seeds }, (_, at) => firstSeed + at)
  const settings = SETTINGS.map((setting) => ({
    ...setting,
    rules: RULES.map((rule) => {
      const figures = measureRule(rule, setting, list)
      report(figures, setting)
      return figures
    }),
  }))
  return { firstSeed, seeds, settings }
}

/** The figures of one rule in one setting. */
export function measureRule(rule: Rule, setting: Setting, seeds: readonly number[]): RuleFigures {
  const honest = (world: World): HonestFigures =>
    countHonest(seeds.map((seed) => ({ seed, ...simulateHonest(rule, setting, world, seed) })))
  const thieves = (world: World): Record<ThiefKind, TheftFigures> => {
    const measure = (kind: ThiefKind): TheftFigures =>
      countThefts(seeds.map((seed) => simulateTheft(rule, setting, world, kind, seed)))
    const kinds = Object.keys(THIEVES) as ThiefKind[]
    return Object.fromEntries(kinds.map((kind) => [kind, measure(kind)])) as Record<ThiefKind, TheftFigures>
  }
  return {
    name: rule.name,
    title: rule.title,
    stores: rule.stores,
    honest: { manyTabs: honest(ROUGH), oneTab: honest({ ...ROUGH, tabs: 1 }) },
    calmThieves: thieves(CALM),
    roughThieves: thieves(ROUGH),
  }
}

function countHonest(lives: readonly (HonestLife & { readonly seed: number })[]): HonestFigures {
  const loggedOut = lives.filter(({ isLoggedOut }) => isLoggedOut)
  return {
    sessions: lives.length,
    loggedOut: loggedOut.length,
    refreshes: lives.reduce((sum, { refreshes }) => sum + refreshes, 0),
    firstSeed: loggedOut[0]?.seed ?? null,
  }
}

function countThefts(all: readonly (StolenLife | null)[]): TheftFigures {
  const lives = all.filter((life) => life !== null)
  const access = lives.map(({ accessMs }) => accessMs).toSorted((one, other) => one - other)
  return {
    sessions: lives.length,
    caught: lives.filter(({ isCaught }) => isCaught).length,
    mostRotations: Math.max(0, ...lives.map(({ rotations }) => rotations)),
    medianAccessMs: access[access.length >> 1] ?? 0,
    longestAccessMs: access.at(-1) ?? 0,
  }
}
