import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A metric as it arrived, with the points of its last export. */
export interface ReceivedMetric {
  readonly name: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly unit: string
  readonly points: readonly ReceivedPoint[]
}

export interface ReceivedPoint {
  readonly attributes: Readonly<Record<string, unknown>>
  /** The value of a counter or gauge; how many were recorded of a histogram. */
  readonly value: number
}

export interface ReceivedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | null
  readonly kind: 'internal' | 'server' | 'client' | 'other'
  readonly isError: boolean
  readonly attributes: Readonly<Record<string, unknown>>
}

/** A server that receives OTLP as JSON over HTTP, and decodes it. */
export interface Collector {
  readonly url: string
  /** Every body that arrived, as text. */
  readonly texts: readonly string[]
  readonly spans: readonly ReceivedSpan[]
  readMetrics(): readonly ReceivedMetric[]
  close(): Promise<void>
}

// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
interface KeyValue {
  readonly key: string
  readonly value: { readonly [type: string]: unknown }
}
interface Point {
  readonly attributes?: readonly KeyValue[]
  readonly asDouble?: number
  readonly asInt?: number | string
  readonly count?: number | string
}
interface Points {
  readonly dataPoints: readonly Point[]
}
interface Metric {
  readonly name: string
  readonly unit?: string
  readonly sum?: Points & { readonly isMonotonic?: boolean }
  readonly gauge?: Points
  readonly histogram?: Points
}
interface Span {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly kind: number
  readonly status?: { readonly code?: number }
  readonly attributes?: readonly KeyValue[]
}
interface Body {
  readonly resourceMetrics?: readonly { scopeMetrics: readonly { metrics: readonly Metric[] }[] }[]
  readonly resourceSpans?: readonly { scopeSpans: readonly { spans: readonly Span[] }[] }[]
}

export async function startCollector(): Promise<Collector> {
  const texts: string[] = []
  const spans: ReceivedSpan[] = []
  const metrics = new Map<string, ReceivedMetric>()

  const take = (body: Body): void => {
    for (const { scopeMetrics } of body.resourceMetrics ?? []) {
      for (const metric of scopeMetrics.flatMap((scope) => scope.metrics))
        metrics.set(metric.name, decodeMetric(metric))
    }
    for (const { scopeSpans } of body.resourceSpans ?? []) {
      spans.push(...scopeSpans.flatMap((scope) => scope.spans.map(decodeSpan)))
    }
  }

  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const text = Buffer.concat(parts).toString()
      texts.push(text)
      take(JSON.parse(text) as Body)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    texts,
    spans,
    readMetrics: () => [...metrics.values()],
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

function decodeMetric({ name, unit = '', sum, gauge, histogram }: Metric): ReceivedMetric {
  const kind = histogram === undefined ? (gauge === undefined ? 'counter' : 'gauge') : 'histogram'
  if (kind === 'counter' && sum?.isMonotonic !== true) throw new Error(`${name} is no monotonic sum`)
  const points = (sum ?? gauge ?? histogram)?.dataPoints ?? []
  return {
    name,
    kind,
    unit,
    points: points.map((point) => ({
      attributes: decodeAttributes(point.attributes),
      value: Number(point.count ?? point.asInt ?? point.asDouble),
    })),
  }
}

const SPAN_KINDS = ['other', 'internal', 'server', 'client'] as const

function decodeSpan(span: Span): ReceivedSpan {
  const { name, traceId, spanId, parentSpanId, kind, status, attributes } = span
  return {
    name,
    traceId,
    spanId,
    parentSpanId: parentSpanId === undefined || parentSpanId === '' ? null : parentSpanId,
    kind: SPAN_KINDS[kind] ?? 'other',
    isError: status?.code === 2,
    attributes: decodeAttributes(attributes),
  }
}

function decodeAttributes(given: readonly KeyValue[] = []): Readonly<Record<string, unknown>> {
  return Object.fromEntries(given.map(({ key, value }) => [key, Object.values(value)[0]]))
}
