/** Classifiers: create, list, rename, delete, train, predict and evaluate. */

import { hash } from 'node:crypto';
import type { Complete } from '@datahub/contract/complete';
import { classifierLimits, pageItemsMax, untrimmedLabelCharacters } from '@datahub/contract/limits';
import type { Classifier, Prediction } from '@datahub/proto/ml/v1/ml';
import { IncomingMessage } from '@datahub/service-kit/node-http';
import { turnFor } from '@datahub/service-kit/yield-to-loop';
import type { FastifyRequest } from 'fastify';
import { expectedVersions } from '../../http/if-match.ts';
import {
  count,
  createdAtOf,
  type FromSchema,
  label,
  list,
  nothing,
  object,
  readOnly,
  record,
  text,
  time,
  timeOrNull,
  toTimestamp,
} from '../../http/json-schema.ts';
import { readPage } from '../../http/pagination.ts';
import { setVersion } from '../../http/request-context.ts';
import { type FieldPointers, validationError } from '../../http/request-error.ts';
import { type Handler, paged, type Route, required } from '../../http/route.ts';
import { requireItems, unknownMembers } from '../../http/validation.ts';
import { sendList } from '../../response/list-response.ts';
import type { Upstreams } from '../../upstreams.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import { evaluation, share, toEvaluationJson } from './evaluation.ts';
import { contextRule, exampleRule, faultsOfExample } from './examples.ts';
import { answerImport, imported, importParameters } from './import.ts';
import { type JobStartDeps, startedJob, startJob, trainFromQuery } from './jobs.ts';

export function classifierRoutes(deps: ResourceDeps): Route[] {
  const handlers = createClassifierHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/classifiers', reference: true, scope: 'classifiers:write', summary: 'Create a classifier', audit: 'classifier.create', body: createClassifierBody, bodyOptional: true, settledBy: 'repeat', response: createdClassifier, handler: handlers.create },
    { method: 'GET', path: '/v1/classifiers', reference: true, scope: 'classifiers:read', summary: 'List classifiers', query: paged, response: classifiers, handler: handlers.list },
    { method: 'GET', path: '/v1/classifiers/:classifierId', reference: true, scope: 'classifiers:read', summary: 'Get a classifier', response: classifier, handler: handlers.get },
    { method: 'PUT', path: '/v1/classifiers/:classifierId', scope: 'classifiers:write', summary: 'Rename a classifier', audit: 'classifier.update', body: updateClassifierBody, versioned: true, response: nothing, handler: handlers.update },
    { method: 'DELETE', path: '/v1/classifiers/:classifierId', reference: true, scope: 'classifiers:write', summary: 'Delete a classifier', audit: 'classifier.delete', versioned: true, response: nothing, handler: handlers.remove },
    { method: 'POST', path: '/v1/classifiers/:classifierId/train', reference: true, scope: 'classifiers:train', summary: 'Train with examples', audit: 'classifier.train', query: importParameters, imports: 'also', body: trainBody, documented: trainDocumented, pointers: trainPointers, largeBody: true, settledBy: 'repeat', response: training, handler: handlers.train },
    { method: 'POST', path: '/v1/classifiers/:classifierId/predict', reference: true, scope: 'classifiers:predict', summary: 'Predict a label', audit: 'classifier.predict', body: predictBody, documented: predictDocumented, pointers: predictPointers, largeBody: true, reads: true, response: predictions, handler: handlers.predict },
    { method: 'DELETE', path: '/v1/classifiers/:classifierId/classes/:classId', reference: true, scope: 'classifiers:write', summary: 'Delete a class', audit: 'class.delete', body: deleteClassBody, bodyOptional: true, versioned: true, response: nothing, handler: handlers.removeClass },
    { method: 'GET', path: '/v1/classifiers/:classifierId/evaluation', scope: 'classifiers:read', summary: 'Accuracy and calibration, in total and by class', response: evaluation, handler: handlers.evaluation },
  ];
}

const paging = { limitMax: pageItemsMax };
const { batch: batchCount, top } = classifierLimits;
const labelCharactersMax = untrimmedLabelCharacters.max;

export const createClassifierBody = object({
  name: { type: ['string', 'null'], maxLength: labelCharactersMax },
  ...readOnly('classifierId', 'createdAt', 'updatedAt', 'classes'),
});

export const updateClassifierBody = object(
  { name: label, ...readOnly('classifierId', 'createdAt', 'updatedAt', 'classes') },
  ['name'],
);

const batch = { type: 'array', minItems: batchCount.min, maxItems: batchCount.max } as const;
const example = object({ label, context: text }, ['label', 'context']);
const predictOptions = object({ top: { type: 'integer', minimum: top.min, maximum: top.max } });
const trainExamples = object({ label, context: text, examples: { ...batch, items: example } });
export const trainDocumented = { oneOf: [trainExamples, trainFromQuery] };
export const predictDocumented = object({
  context: text,
  contexts: { ...batch, items: text },
  options: predictOptions,
});

/**
 * The handler validates the elements of the lists, because Ajv would collect every fault of a long list. It also
 * reports unknown members, so that one answer names them together with missing ones.
 */
const inHandler = { additionalProperties: true } as const;
export const trainBody = { ...trainExamples, properties: { examples: batch }, ...inHandler };
export const predictBody = {
  ...predictDocumented,
  properties: { ...predictDocumented.properties, contexts: batch },
  ...inHandler,
};

/** Ignores `context`, a text that clients of the reference API send. */
export const deleteClassBody = object({ context: {} });

export const createdClassifier = record({ id: text });
const members = { classifierId: text, name: text, createdAt: time, updatedAt: timeOrNull } as const;
const listedClassifier = record(members);
export const classifiers = list(listedClassifier);
export const classifier = record({
  ...members,
  classes: list(record({ classId: text, label: text, observations: count })),
});
const observed = record({ classId: text, observations: count });
export const training = {
  oneOf: [observed, record({ results: list(observed) }), imported, startedJob],
} as const;
const prediction = record({
  classId: text,
  label: text,
  confidence: share,
  scores: list(record({ classId: text, label: text, confidence: share })),
  otherScore: share,
});
export const predictions = { oneOf: [prediction, record({ predictions: list(prediction) })] } as const;
type TrainBody = FromSchema<typeof trainExamples>;
type PredictBody = FromSchema<typeof predictDocumented>;
type ClassifierJson = FromSchema<typeof classifier>;

/** The ml service accepts lists only, so a single example is sent as a list of one. */
export const trainPointers = (body: unknown): FieldPointers =>
  Object.hasOwn(body as object, 'examples') ? {} : { 'examples.0': '' };

export const predictPointers = (body: unknown): FieldPointers => ({
  top: '/options/top',
  ...(Object.hasOwn(body as object, 'contexts') ? {} : { 'contexts.0': '/context' }),
});

const classifierIdOf = (request: FastifyRequest) => (request.params as { classifierId: string }).classifierId;

/**
 * The id of a training event. With an idempotency key, a repeat has the same id as an interrupted call, so examples
 * that were learnt are not learnt again.
 */
function eventIdOf({ operationId, body }: FastifyRequest): string {
  if (operationId === undefined) return '';
  return hash('sha256', JSON.stringify([operationId, body]), 'base64url');
}

export function createClassifierHandlers({ upstreams: { ml, executor }, settings, onWork }: ResourceDeps) {
  return {
    create: async (request, reply) => {
      const { name } = request.body as FromSchema<typeof createClassifierBody>;
      const { classifier } = await ml.createClassifier({ name: name ?? '' }, request.context);
      request.createdId = classifier?.classifierId;
      setVersion(reply, classifier?.version);
      return { id: classifier?.classifierId };
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const { classifiers, total } = await ml.listClassifiers(page, request.context);
      return sendList(reply, { items: classifiers, toJson: toListedClassifierJson, page, total }, settings);
    },

    get: async (request, reply) => {
      const { classifier } = await ml.getClassifier(
        { classifierId: classifierIdOf(request) },
        request.context,
      );
      setVersion(reply, classifier?.version);
      await turnFor(required(classifier).classes.length);
      return toClassifierJson(required(classifier));
    },

    update: async (request, reply) => {
      const { name } = request.body as FromSchema<typeof updateClassifierBody>;
      const classifierId = classifierIdOf(request);
      const { version } = await ml.updateClassifier(
        { classifierId, name, ...expectedVersions(request) },
        request.context,
      );
      setVersion(reply, version);
      return {};
    },

    remove: async (request) => {
      const classifierId = classifierIdOf(request);
      await ml.deleteClassifier({ classifierId, ...expectedVersions(request) }, request.context);
      return {};
    },

    train: async (request, reply) => {
      if (!(request.body instanceof IncomingMessage)) return train(request, { ml, executor, onWork });
      return answerImport(request, reply, { classifierId: classifierIdOf(request), ml, settings });
    },
    predict: (request) => predict(request, ml),

    removeClass: async (request) => {
      const { classId } = request.params as { classId: string };
      await ml.deleteClass(
        { classifierId: classifierIdOf(request), classId, ...expectedVersions(request) },
        request.context,
      );
      return {};
    },

    evaluation: async (request) => {
      const found = await ml.getEvaluation({ classifierId: classifierIdOf(request) }, request.context);
      await turnFor(found.classes.length);
      return toEvaluationJson(found);
    },
  } satisfies Record<string, Handler>;
}

async function train(request: FastifyRequest, deps: JobStartDeps) {
  const classifierId = classifierIdOf(request);
  const { ml } = deps;
  if (Object.hasOwn(request.body as object, 'queryId')) return startJob(request, deps);
  const body = request.body as TrainBody;
  const eventId = eventIdOf(request);
  if (body.examples !== undefined) {
    requireAlone(body, 'examples', ['label', 'context']);
    requireItems(body.examples, '/examples', exampleRule);
    const { classes } = await ml.train({ classifierId, examples: body.examples, eventId }, request.context);
    return { results: classes.map(({ classId, observations }) => ({ classId, observations })) };
  }
  const faults = [...faultsOfExample(body, ''), ...unknownMembers(body, ['label', 'context', 'examples'])];
  if (faults.length > 0) throw validationError(faults);
  const { label = '', context = '' } = body;
  const { classes } = await ml.train(
    { classifierId, examples: [{ label, context }], eventId },
    request.context,
  );
  return { classId: classes[0]?.classId, observations: classes[0]?.observations };
}

async function predict(request: FastifyRequest, ml: Upstreams['ml']) {
  const { options, ...body } = request.body as PredictBody;
  const top = options?.top;
  const classifierId = classifierIdOf(request);
  if (body.contexts !== undefined) {
    requireAlone(body, 'contexts', ['context']);
    requireItems(body.contexts, '/contexts', contextRule);
    const { predictions } = await ml.predict({ classifierId, contexts: body.contexts, top }, request.context);
    return { predictions: predictions.map(toPredictionJson) };
  }
  const { context } = body;
  const faults = contextRule.isValid(context) ? [] : contextRule.faultsOf(context, '/context');
  faults.push(...unknownMembers(body, ['context', 'contexts']));
  if (faults.length > 0) throw validationError(faults);
  const contexts = [context ?? ''];
  const { predictions } = await ml.predict({ classifierId, contexts, top }, request.context);
  return predictions[0] === undefined ? {} : toPredictionJson(predictions[0]);
}

function toListedClassifierJson(classifier: Classifier): Complete<FromSchema<typeof listedClassifier>> {
  return {
    classifierId: classifier.classifierId,
    name: classifier.name,
    createdAt: createdAtOf(classifier),
    updatedAt: toTimestamp(classifier.updatedAt),
  };
}

function toClassifierJson(classifier: Classifier): Complete<ClassifierJson> {
  return { ...toListedClassifierJson(classifier), classes: classifier.classes };
}

/** The ml service returns at least one score. */
function toPredictionJson({ scores, otherScore }: Prediction): Partial<FromSchema<typeof prediction>> {
  const [best] = scores;
  return { classId: best?.classId, label: best?.label, confidence: best?.confidence, scores, otherScore };
}

function requireAlone(body: object, name: string, others: string[]): void {
  const besides = others
    .filter((other) => Object.hasOwn(body, other))
    .map((other) => ({ pointer: `/${other}`, detail: `cannot be sent together with ${name}` }));
  const errors = [...besides, ...unknownMembers(body, [name, ...others])];
  if (errors.length > 0) throw validationError(errors);
}
