import type { Observation, Property } from './properties.js'
import { settle, type SettleOptions } from './settle.js'
import { type Design, listSteps, type Step } from './steps.js'
import { type Bounds, createWorld } from './world.js'

/** A question to the model. */
export interface Scenario {
  readonly name: string
  readonly bounds: Bounds
  readonly properties: readonly Property[]
}

/** The shortest history that breaks a property. */
export interface Violation {
  readonly property: string
  readonly reason: string
  readonly history: readonly Event[]
}

export interface Event {
  /** In ticks since the login. */
  readonly at: number
  readonly text: string
}

export interface Finding {
  /** The keys of the worlds that were found. */
  readonly worlds: ReadonlySet<string>
  readonly steps: number
  /** Whether every world was looked at. A search ends early at a violation, or when there are too many worlds. */
  readonly isComplete: boolean
  /** The first history that was found; `null` for none. */
  readonly violation: Violation | null
}

/** Looks at every history within the bounds, the shortest first. */
export function search({ bounds, properties }: Scenario, design: Design, maxWorlds = 200_000): Finding {
  const { rule } = design
  const options = toSettleOptions({ bounds, properties }, design)
  const first = settle(createWorld(bounds), options)
  const seen = new Set([first.key])
  const origins: Origin[] = [{ from: -1, choice: -1 }]
  let steps = 0
  let [level, offset] = [[first.world], 0]
  while (level.length > 0) {
    const next: (typeof level)[number][] = []
    for (const [index, before] of level.entries()) {
      for (const [choice, step] of listSteps(before, bounds, design).entries()) {
        steps++
        const origin = { from: offset + index, choice }
        const broken = findBroken(properties, { before, step, bounds, rule })
        if (broken !== null) {
          const history = tellHistory(design, options, listChoices(origins, origin))
          return { worlds: seen, steps, isComplete: false, violation: { ...broken, history } }
        }
        if (isEnd(step)) continue
        const { world, key } = settle(step.world, options)
        if (seen.has(key)) continue
        seen.add(key)
        if (seen.size > maxWorlds) return { worlds: seen, steps, isComplete: false, violation: null }
        origins.push(origin)
        next.push(world)
      }
    }
    offset += level.length
    level = next
  }
  return { worlds: seen, steps, isComplete: true, violation: null }
}

/** How the worlds of a scenario are settled. */
export function toSettleOptions(
  { bounds, properties }: Pick<Scenario, 'bounds' | 'properties'>,
  { rule }: Design,
): SettleOptions {
  return { bounds, rule, keepsDead: properties.some(({ needsDeadTokens }) => needsDeadTokens) }
}

interface Origin {
  /** The number of the world that a world was first reached from. */
  readonly from: number
  /** The number of the step that led to it. */
  readonly choice: number
}

function findBroken(
  properties: readonly Property[],
  observation: Observation,
): { readonly property: string; readonly reason: string } | null {
  for (const { name, findViolation } of properties) {
    const reason = findViolation(observation)
    if (reason !== null) return { property: name, reason }
  }
  return null
}

/** Whether the session ends with a step. */
export function isEnd({ refresh }: Step): boolean {
  return refresh?.outcome === 'reuse' || refresh?.outcome === 'end'
}

function listChoices(origins: readonly Origin[], last: Origin): readonly number[] {
  const choices: number[] = []
  for (let origin: Origin | undefined = last; origin && origin.from >= 0; origin = origins[origin.from])
    choices.push(origin.choice)
  return choices.toReversed()
}

// Worlds number their tokens again after every step. This follows each token, so that it has one name in a history.
function tellHistory(design: Design, options: SettleOptions, choices: readonly number[]): readonly Event[] {
  const { bounds } = options
  const history: Event[] = [{ at: 0, text: 'A user logs in. The jar has R1.' }]
  let at = 0
  let { world, names } = settle(createWorld(bounds), options)
  let labels = relabel(
    new Map([
      [0, 'the login'],
      [1, 'R1'],
    ]),
    names,
  )
  let issued = 1
  for (const choice of choices) {
    const step = listSteps(world, bounds, design)[choice]
    if (step === undefined)
      throw new Error('A history cannot be told: its steps are not listed in the same order')
    if (step.world.nextId > world.nextId) labels.set(world.nextId, `R${++issued}`)
    if (step.tell === null) at++
    else history.push({ at, text: step.tell((id) => labels.get(id) ?? 'an older token') })
    ;({ world, names } = settle(step.world, options))
    labels = relabel(labels, names)
  }
  return history
}

function relabel(
  labels: ReadonlyMap<number, string>,
  names: ReadonlyMap<number, number>,
): Map<number, string> {
  return new Map([...names].map(([id, name]) => [name, labels.get(id) ?? 'an older token']))
}
