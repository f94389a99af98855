// A test runner of one page: it needs nothing but JavaScript, so it runs in every runtime.

/** How long one step may take, in milliseconds: one that takes longer hangs. */
const STEP_LIMIT = 20_000

/**
 * Collects the steps of a contract; it has the four functions that a contract needs.
 *
 * A hook of a `describe` runs before its first step, or after its last one.
 */
export function createRunner() {
  const root = { name: '', before: [], after: [], children: [] }
  let group = root
  return {
    describe(name, run) {
      const parent = group
      group = { name, before: [], after: [], children: [] }
      parent.children.push(group)
      run()
      group = parent
    },
    test: (name, run) => void group.children.push({ name, run }),
    beforeAll: (run) => void group.before.push(run),
    afterAll: (run) => void group.after.push(run),
    /** Runs every step in order; `report` gets the result of each. */
    run: (report) => runGroup(root, [], report),
  }
}

async function runGroup(group, path, report) {
  const names = group.name === '' ? path : [...path, group.name]
  const started = await runStep([...names, 'before all'].join(' > '), () => runAll(group.before))
  if (started.outcome === 'fails') report(started)
  else {
    for (const child of group.children) {
      if (child.run === undefined) await runGroup(child, names, report)
      else report(await runStep([...names, child.name].join(' > '), child.run))
    }
  }
  const ended = await runStep([...names, 'after all'].join(' > '), () => runAll(group.after))
  if (ended.outcome === 'fails' && started.outcome !== 'fails') report(ended)
}

async function runAll(hooks) {
  for (const hook of hooks) await hook()
}

/** Runs one step: it works, fails with the error, or returns a text that says why the runtime cannot offer it. */
export async function runStep(name, run) {
  let timer
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The step did not end within ${STEP_LIMIT} ms`)), STEP_LIMIT)
  })
  try {
    const reason = await Promise.race([Promise.resolve().then(run), limit])
    return typeof reason === 'string' ? { name, outcome: 'not offered', reason } : { name, outcome: 'works' }
  } catch (error) {
    return { name, outcome: 'fails', reason: describeError(error) }
  } finally {
    clearTimeout(timer)
  }
}

/** What went wrong, with its causes, in one line. */
function describeError(error) {
  const parts = []
  for (let each = error; each !== undefined && each !== null && parts.length < 5; each = each.cause) {
    const code = typeof each.code === 'string' ? ` [${each.code}]` : ''
    parts.push(each instanceof Error ? `${each.name}${code}: ${each.message}` : String(each))
  }
  const place = /tokenlib\/dist\/([^\s():]+:\d+)/.exec(error?.stack ?? '')?.[1]
  const text = parts.join('; caused by ').replaceAll(/\s*\n\s*/g, ' ')
  return place === undefined ? text : `${text} (${place})`
}
