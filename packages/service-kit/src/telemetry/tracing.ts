/**
 * Traces over OTLP/HTTP, configured by OpenTelemetry's standard environment variables. Without an endpoint tracing is off
 * and OpenTelemetry is not loaded. Spans contain ids, methods, codes and times, but never values, texts, hosts or users.
 */

import type { Attributes, SpanContext } from '@opentelemetry/api';
import type { Sampler } from '@opentelemetry/sdk-trace';
import { type Environment, SettingsError } from '../settings/settings.ts';

export interface SpanOptions {
  /** W3C `traceparent` of the parent span; a new trace without it. */
  parent?: string | undefined;
  kind: 'server' | 'client' | 'internal';
  attributes?: Attributes;
  /** In milliseconds of `performance.now()`; now by default. */
  startAt?: number;
}

export interface Span {
  /** For child spans. */
  readonly traceparent: string;
  /** `error` is an error code of the hub; `endAt` is in milliseconds of `performance.now()`. */
  end(outcome?: { attributes?: Attributes; error?: string | undefined; endAt?: number }): void;
}

export interface Tracing {
  start(name: string, options: SpanOptions): Span;
  /** Exports the remaining spans, for at most 5 s. */
  close(): Promise<void>;
}

const closeTimeoutMs = 5_000;

/** Undefined if tracing is off. */
export async function openTracing(env: Environment, service: string): Promise<Tracing | undefined> {
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const off = env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none';
  if (!endpoint || off) return undefined;
  requireValid(env, endpoint);
  const [api, sdk, { OTLPTraceExporter }, resources] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  const provider = new sdk.TracerProvider({
    sampler: samplerOf(env, sdk),
    resource: resources
      .resourceFromAttributes({ 'service.name': `data-hub-${service}` })
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    // The queue is bounded: spans that do not fit while the collector is down are dropped.
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: new OTLPTraceExporter(),
        scheduledDelayMillis: Number(env.OTEL_BSP_SCHEDULE_DELAY ?? 5_000),
      }),
    ],
  });
  const tracer = provider.getTracer('data-hub');
  const kinds = {
    server: api.SpanKind.SERVER,
    client: api.SpanKind.CLIENT,
    internal: api.SpanKind.INTERNAL,
  };

  return {
    // All times come from one clock, also those that callers measured earlier.
    start: (name, { parent, kind, attributes = {}, startAt = performance.now() }) => {
      const parentContext = parent === undefined ? undefined : toSpanContext(parent);
      const context =
        parentContext === undefined
          ? api.ROOT_CONTEXT
          : api.trace.setSpanContext(api.ROOT_CONTEXT, parentContext);
      const options = { kind: kinds[kind], attributes, startTime: startAt };
      const span = tracer.startSpan(name, options, context);
      return {
        traceparent: toTraceparent(span.spanContext()),
        end: ({ attributes: more = {}, error, endAt = performance.now() } = {}) => {
          span.setAttributes(more);
          if (error !== undefined) {
            span.setAttribute('error.type', error);
            span.setStatus({ code: api.SpanStatusCode.ERROR });
          }
          span.end(endAt);
        },
      };
    },
    close: async () => {
      const timeout = new Promise<void>((resolve) => setTimeout(resolve, closeTimeoutMs).unref());
      await Promise.race([provider.shutdown().catch(() => {}), timeout]);
    },
  };
}

const samplers = ['always_on', 'always_off', 'traceidratio'];

/** The exporter would drop all spans without a word. Throws SettingsError. */
function requireValid(env: Environment, endpoint: string): void {
  const { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio } = env;
  const faults: string[] = [];
  if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
    faults.push('OTEL_EXPORTER_OTLP_ENDPOINT must be a URL, such as http://collector:4318.');
  if (sampler && !samplers.includes(sampler.replace(/^parentbased_/, '')))
    faults.push(
      `OTEL_TRACES_SAMPLER must be one of ${samplers.join(', ')}, or one of them behind parentbased_.`,
    );
  if (ratio && !(Number(ratio) >= 0 && Number(ratio) <= 1))
    faults.push('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1.');
  if (faults.length > 0) throw new SettingsError(faults);
}

/** From `OTEL_TRACES_SAMPLER` and its argument. By default the caller's decision applies. */
function samplerOf(env: Environment, sdk: typeof import('@opentelemetry/sdk-trace')): Sampler {
  const ratio = Number(env.OTEL_TRACES_SAMPLER_ARG || 1);
  const name = env.OTEL_TRACES_SAMPLER || 'parentbased_always_on';
  const root = name.endsWith('always_off')
    ? new sdk.AlwaysOffSampler()
    : name.endsWith('traceidratio')
      ? new sdk.TraceIdRatioBasedSampler(ratio)
      : new sdk.AlwaysOnSampler();
  return name.startsWith('parentbased_') ? new sdk.ParentBasedSampler({ root }) : root;
}

function toSpanContext(traceparent: string): SpanContext | undefined {
  const [, traceId, spanId, flags] =
    /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || /^0+$/.test(traceId) || /^0+$/.test(spanId))
    return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags as string, 16), isRemote: true };
}

function toTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
