/** The examples that a classifier was trained with: their list, export, correction and deletion. */

import { Readable } from 'node:stream';
import { classifierLimits } from '@datahub/contract/limits';
import { Format } from '@datahub/proto/executor/v1/executor';
import type { ListExamplesResponse, TrainedExample } from '@datahub/proto/ml/v1/ml';
import { onAbort } from '@datahub/service-kit/call/abort';
import { toHubError } from '@datahub/service-kit/call/error';
import { createLoopYield, turnFor } from '@datahub/service-kit/yield-to-loop';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { expectedVersions } from '../../http/if-match.ts';
import {
  type FromSchema,
  label,
  list,
  nothing,
  object,
  readOnly,
  record,
  text,
  time,
  toTimestamp,
} from '../../http/json-schema.ts';
import { readPage, toLink } from '../../http/pagination.ts';
import { createPlaces } from '../../http/places.ts';
import { readChoice, readText } from '../../http/query-params.ts';
import { setVersion } from '../../http/request-context.ts';
import type { FieldPointers } from '../../http/request-error.ts';
import { type Handler, type Route, required } from '../../http/route.ts';
import { chooseTextFormat } from '../../response/format.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import { readUncertain, uncertainParameters, uncertainText } from './uncertain-texts.ts';

export function trainedExampleRoutes(deps: ResourceDeps): Route[] {
  const handlers = createTrainedExampleHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'GET', path: '/v1/classifiers/:classifierId/examples', scope: 'classifiers:read', summary: 'List the examples of a classifier', query: listParameters, pointers: listPointers, response: trainedExamples, handler: handlers.list },
    { method: 'PUT', path: '/v1/classifiers/:classifierId/examples/:exampleId', scope: 'classifiers:train', summary: 'Correct an example', audit: 'example.update', body: updateExampleBody, versioned: true, response: trainedExample, handler: handlers.update },
    { method: 'DELETE', path: '/v1/classifiers/:classifierId/examples/:exampleId', scope: 'classifiers:train', summary: 'Delete an example', audit: 'example.delete', versioned: true, response: nothing, handler: handlers.remove },
  ];
}

const { examplesPage } = classifierLimits;
const paging = { limitDefault: 100, limitMax: examplesPage.max };

export const trainedExample = record({
  exampleId: text,
  classId: text,
  label: text,
  context: text,
  trainedAt: time,
});
/** Or, with `sort=uncertain`, texts of a query that have no label yet. */
export const trainedExamples = list({ oneOf: [trainedExample, uncertainText] } as const);
const listParameters = ['after', 'limit', 'label', ...uncertainParameters];
export const updateExampleBody = object({
  label,
  context: text,
  ...readOnly('exampleId', 'classId', 'trainedAt'),
});

export const listPointers = (): FieldPointers => ({ limit: 'query/limit', label: 'query/label' });

type ExampleJson = FromSchema<typeof trainedExample>;

const idsOf = (request: FastifyRequest) => request.params as { classifierId: string; exampleId: string };

/** Reads the page that follows an example. */
type ReadPage = (after: string, limit: number) => Promise<ListExamplesResponse>;

/** Queries whose texts are sorted at the same time in a gateway. Each keeps some megabytes. */
const sortsMax = { allMax: 32, accountMax: 4, waitingMax: 32 };
/** What a page of an export takes in memory, at most. Of a short list it is less. */
const exportedPageBytes = 8_388_608;

function createTrainedExampleHandlers({ upstreams, settings }: ResourceDeps) {
  const { ml } = upstreams;
  const takeSort = createPlaces(
    sortsMax,
    `This account sorts the texts of ${sortsMax.accountMax} queries, and ${sortsMax.waitingMax} more wait. Try again later.`,
  );
  return {
    /** Returns a page as JSON, or all examples after `after` as NDJSON or CSV; with `label` only those with this label. */
    list: async (request, reply) => {
      const { classifierId } = idsOf(request);
      if (readChoice(request, 'sort', ['uncertain']) !== undefined) {
        // Lists do not wait for queries.
        request.context.leavePlace();
        using _sort = await takeSort(request.context);
        return await readUncertain(request, reply, { classifierId, upstreams });
      }
      const { format, contentType } = chooseTextFormat(request.headers.accept);
      const isPage = format === Format.FORMAT_JSON;
      const limit = isPage ? (readPage(request, paging).limit ?? paging.limitDefault) : paging.limitMax;
      const label = readText(request, 'label');
      const read: ReadPage = (after, limit) =>
        ml.listExamples({ classifierId, after, limit, label }, request.context);
      const page = await read(readText(request, 'after') ?? '', limit);
      await turnFor(page.examples.length);
      reply.header('x-total-count', String(page.total)).type(contentType);
      if (isPage) {
        if (page.more) setNextLink(reply, { after: page.nextAfter, limit });
        return page.examples.map(toJson);
      }
      if (request.method === 'HEAD') return '';
      settings.responseBudget.reserve(request, page.more ? exportedPageBytes : bytesOf(page));
      return reply.send(exportAll(request, { page, read, isCsv: format === Format.FORMAT_CSV }));
    },

    update: async (request, reply) => {
      const { label, context } = request.body as FromSchema<typeof updateExampleBody>;
      const { example, version } = await ml.updateExample(
        { ...idsOf(request), label, context, ...expectedVersions(request) },
        request.context,
      );
      setVersion(reply, version);
      return toJson(required(example));
    },

    remove: async (request) => {
      await ml.deleteExample({ ...idsOf(request), ...expectedVersions(request) }, request.context);
      return {};
    },
  } satisfies Record<string, Handler>;
}

function setNextLink(reply: FastifyReply, { after, limit }: { after: string; limit: number }): void {
  const parameters = { after, limit: String(limit) };
  reply.header('link', toLink(reply.request, { parameters, rel: 'next' }));
}

const bytesOf = ({ examples }: ListExamplesResponse): number =>
  examples.reduce((sum, { context }) => sum + context.length, 0);

interface Export {
  page: ListExamplesResponse;
  read: ReadPage;
  isCsv: boolean;
}

/** Streams all pages, one page in memory at a time. Each page has a deadline, the whole export has none. */
function exportAll(request: FastifyRequest, options: Export): Readable {
  const { context } = request;
  const stream = Readable.from(writePages(request, options), { objectMode: false, highWaterMark: 65_536 });
  onAbort(context.signal, () => stream.destroy(toHubError(context.signal.reason)));
  return stream;
}

async function* writePages(request: FastifyRequest, { page, read, isCsv }: Export): AsyncGenerator<string> {
  const write = isCsv ? toCsv : toNdjson;
  const endOfTurn = createLoopYield();
  try {
    if (isCsv) yield `${columns.join(',')}\r\n`;
    for (let next = page; ; next = await read(next.nextAfter, paging.limitMax)) {
      for (const example of next.examples) {
        await endOfTurn();
        yield write(toJson(example));
      }
      if (!next.more) return;
      await request.context.requireCaller();
      request.context.renewDeadline();
    }
  } catch (err) {
    request.failedWith = toHubError(err).code;
    throw err;
  }
}

const columns = ['exampleId', 'classId', 'label', 'context', 'trainedAt'] as const;

const toNdjson = (example: ExampleJson): string => `${JSON.stringify(example)}\n`;

/** One line of CSV (RFC 4180). */
function toCsv(example: ExampleJson): string {
  const fields = columns.map((name) => {
    const value = example[name];
    return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  });
  return `${fields.join(',')}\r\n`;
}

function toJson({ exampleId, classId, label, context, trainedAt }: TrainedExample): ExampleJson {
  return { exampleId, classId, label, context, trainedAt: toTimestamp(trainedAt) as string };
}
