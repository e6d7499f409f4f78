/** A collector of traces that speaks OTLP over HTTP with JSON, and keeps what it was sent. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CollectedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  kind: number;
  /** In milliseconds since 1970. */
  startMs: number;
  endMs: number;
  attributes: Record<string, unknown>;
  failed: boolean;
}

export interface Collector {
  url: string;
  spans: CollectedSpan[];
  /** Everything that came, as text. */
  texts: string[];
  close(): void;
}

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const texts: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    texts.push(text);
    if (request.url === '/v1/traces') spans.push(...read(JSON.parse(text)));
    response.setHeader('content-type', 'application/json').end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, spans, texts, close: () => void server.close() };
}

function read({ resourceSpans }: any): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }: any) => {
    const service = String(attributesOf(resource)['service.name']);
    return scopeSpans.flatMap(({ spans }: any) =>
      spans.map((span: any) => ({
        service,
        name: span.name,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        kind: span.kind,
        startMs: Number(span.startTimeUnixNano) / 1e6,
        endMs: Number(span.endTimeUnixNano) / 1e6,
        attributes: attributesOf(span),
        failed: span.status?.code === 2,
      })),
    );
  });
}

function attributesOf({ attributes = [] }: any): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }: any) => [key, Object.values(value)[0]]));
}
