import { context, propagation, trace } from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { type Collector, type ReceivedMetric, startCollector } from './collector.js'

/** The SDK of OpenTelemetry as an application sets it up, with a collector in this process. */
export interface Telemetry {
  readonly meterProvider: MeterProvider
  readonly tracerProvider: NodeTracerProvider
  readonly collector: Collector
  /** Exports everything so far; returns the metrics. */
  flush(): Promise<readonly ReceivedMetric[]>
  close(): Promise<void>
}

// Exported when a test says so.
const NEVER_MS = 3_600_000

export async function startTelemetry(): Promise<Telemetry> {
  const collector = await startCollector()
  const metricReader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ url: `${collector.url}/v1/metrics` }),
    exportIntervalMillis: NEVER_MS,
  })
  const meterProvider = new MeterProvider({ readers: [metricReader] })
  const processor = new BatchSpanProcessor(new OTLPTraceExporter({ url: `${collector.url}/v1/traces` }))
  const tracerProvider = new NodeTracerProvider({ spanProcessors: [processor] })
  // For the active span, which is kept by the context manager that this registers.
  tracerProvider.register()
  return {
    meterProvider,
    tracerProvider,
    collector,
    async flush() {
      await meterProvider.forceFlush()
      await tracerProvider.forceFlush()
      return collector.readMetrics()
    },
    async close() {
      await meterProvider.shutdown()
      await tracerProvider.shutdown()
      await collector.close()
      // Files share a thread.
      context.disable()
      propagation.disable()
      trace.disable()
    },
  }
}

/** How often each set of attributes was counted, as `key=value` in order of the keys. */
export function readPoints(metrics: readonly ReceivedMetric[], name: string): Record<string, number> {
  const points = metrics.find((metric) => metric.name === name)?.points ?? []
  return Object.fromEntries(points.map(({ attributes, value }) => [toText(attributes), value]))
}

function toText(attributes: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(attributes).map(([key, value]) => `${key}=${String(value)}`)
  return pairs.toSorted().join(' ')
}
