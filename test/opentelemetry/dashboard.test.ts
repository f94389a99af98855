import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly datasource?: { readonly type: string; readonly uid: string }
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly {
    readonly refId: string
    readonly expr: string
    readonly legendFormat: string
  }[]
}
interface Dashboard {
  readonly title: string
  readonly uid: string
  readonly schemaVersion: number
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: unknown }[] }
  readonly panels: readonly Panel[]
}

const read = (path: string): string => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8')
const page = read('opentelemetry.md')
const dashboard = JSON.parse(read('dashboards/tokenlib.json')) as Dashboard
const panels = dashboard.panels.filter(({ type }) => type !== 'row')

/** The table of metrics, which another test compares with what is exported. */
const metrics = (page.split('\n## Metrics\n')[1]?.split('\n#')[0] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => {
    const [name = '', kind = '', unit = '', attributes = ''] = line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim())
    return {
      name: name.replaceAll('`', ''),
      kind,
      unit: unit.replaceAll('`', ''),
      labels: Array.from(attributes.matchAll(/`([^`]+)`/g), ([, label]) => toUnderscores(label as string)),
    }
  })

// https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/: the unit in braces is left out.
function toPrometheus({ name, kind, unit }: (typeof metrics)[number]): string[] {
  const base = `${toUnderscores(name)}${unit === 's' ? '_seconds' : ''}`
  if (kind === 'counter') return [`${base}_total`]
  return kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => base + suffix) : [base]
}

function toUnderscores(name: string): string {
  return name.replaceAll('.', '_')
}

const labelsOf = new Map(
  metrics.flatMap((metric) => toPrometheus(metric).map((name) => [name, metric.labels] as const)),
)

/** The names of metrics in a query, each with the labels that its selector names. */
function readSelectors(query: string): { readonly name: string; readonly labels: string[] }[] {
  // What is grouped by is no metric.
  const selectors = query.replaceAll(/by \([^)]*\)/g, '')
  return Array.from(
    selectors.matchAll(/\b(tokenlib_[a-z_]+)(?:\{([^}]*)\})?(?=[[)\s>]|$)/g),
    ([, name, labels = '']) => ({
      name: name as string,
      labels: Array.from(labels.matchAll(/(\w+)(?:=~|!=|!~|=)"/g), ([, label]) => label as string),
    }),
  )
}

// Of every series: the scrape adds the first, `name` of `instrument` the second.
const COMMON = ['job', 'tokenlib_manager_name', 'le']

describe('the dashboard', () => {
  test('has what Grafana needs', () => {
    expect([dashboard.title, dashboard.uid]).toEqual(['tokenlib', 'tokenlib'])
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(36)
    expect(dashboard.templating.list.map(({ name }) => name)).toEqual(['datasource', 'job', 'manager'])
    const ids = dashboard.panels.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { title, description, datasource, targets = [] } of panels) {
      expect(datasource, title).toEqual({ type: 'prometheus', uid: '${datasource}' })
      expect(description, title).toMatch(/\.$/)
      expect(targets.length, title).toBeGreaterThan(0)
      expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length)
    }
  })

  test('has no panels that overlap, or are wider than the grid', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)}:${y + Math.floor(at / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(Math.max(...dashboard.panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24)
  })

  const queries = panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ refId, expr, legendFormat }) => [`${title} ${refId}`, expr, legendFormat] as const),
  )

  test.each(queries)('%s asks for metrics and labels that are exported', (_title, query, legend) => {
    const selectors = readSelectors(query)
    expect(selectors.length).toBeGreaterThan(0)
    for (const { name, labels } of selectors) {
      expect([...labelsOf.keys()]).toContain(name)
      const grouped = Array.from(query.matchAll(/by \(([^)]*)\)/g), ([, names]) =>
        (names as string).split(', '),
      ).flat()
      const shown = Array.from(legend.matchAll(/\{\{(\w+)\}\}/g), ([, label]) => label as string)
      expect([...COMMON, ...(labelsOf.get(name) ?? [])]).toEqual(
        expect.arrayContaining([...labels, ...grouped]),
      )
      expect(grouped).toEqual(expect.arrayContaining(shown))
    }
  })

  test('shows every metric', () => {
    const asked = new Set(queries.flatMap(([, query]) => readSelectors(query).map(({ name }) => name)))
    expect(metrics.length).toBeGreaterThan(10)
    for (const metric of metrics)
      expect(
        toPrometheus(metric).some((name) => asked.has(name)),
        metric.name,
      ).toBe(true)
  })

  test('variables and alerts of the page ask for metrics that are exported', () => {
    const alerts = Array.from(page.matchAll(/^- `([^`]*tokenlib_[^`]*)`: /gm), ([, query]) => query as string)
    expect(alerts.length).toBeGreaterThan(4)
    const variables = dashboard.templating.list.map(({ query }) => JSON.stringify(query)).join(' ')
    const names = alerts.flatMap((query) => readSelectors(query).map(({ name }) => name))
    names.push(...Array.from(variables.matchAll(/label_values\((\w+)/g), ([, name]) => name as string))
    for (const name of names) expect([...labelsOf.keys()]).toContain(name)
  })
})
