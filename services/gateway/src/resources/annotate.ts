/** Executes a query and classifies its rows as they stream. */

import { classifierLimits } from '@datahub/contract/limits';
import type { ExecutionReply } from '@datahub/executor-session/executor';
import { fromProtoCsv } from '@datahub/executor-session/formats';
import type { ExecuteRequest } from '@datahub/proto/executor/v1/executor';
import type { CallContext } from '@datahub/service-kit/call/call';
import type { FastifyRequest } from 'fastify';
import { type FromSchema, id, object } from '../http/json-schema.ts';
import { type Fault, validationError } from '../http/request-error.ts';
import { requireGranted } from '../http/route.ts';
import { AnnotatedResponse } from '../response/annotated-response.ts';
import type { Label } from '../response/arrow-labels.ts';
import { repeated } from '../rows/repeated.ts';
import { executeInto, stoppable } from '../rows/stoppable.ts';
import type { Upstreams } from '../upstreams.ts';

const { min, max } = classifierLimits.annotations;
const name = { type: 'string', minLength: 1, maxLength: 128 } as const;
export const annotateOption = {
  type: 'array',
  minItems: min,
  maxItems: max,
  items: object({ classifier: id, text: name, as: name }, ['classifier', 'text', 'as']),
} as const;

type Annotate = FromSchema<typeof annotateOption>;

export interface AnnotateOptions {
  annotate: Annotate;
  request: FastifyRequest;
  response: ExecutionReply;
  upstreams: Upstreams;
}

export async function executeAnnotated(
  execution: ExecuteRequest,
  { annotate, request, response, upstreams: { executor, ml } }: AnnotateOptions,
): Promise<void> {
  requireGranted(request, 'classifiers:predict');
  requireDistinct(annotate);
  const { ctx, stop } = stoppable(request.context);
  await nameByIds(annotate, ml, ctx);
  const predict = async (index: number, contexts: string[]): Promise<Label[]> => {
    const classifierId = annotate[index]?.classifier ?? '';
    const call = () => ml.predict({ classifierId, contexts, top: 1 }, ctx);
    const { predictions } = await repeated(call, stop);
    return predictions.map(({ scores: [best] }) => ({
      label: best?.label ?? '',
      confidence: best?.confidence ?? 0,
    }));
  };
  // This refuses classifiers that do not exist or were never trained before the query runs.
  await Promise.all(annotate.map((_, i) => predict(i, ['a text'])));
  const { format, options } = execution;
  const csv = options?.csv && fromProtoCsv(options.csv);
  const reply = new AnnotatedResponse(response, { format, csv, members: annotate, predict, stop });
  const members = annotate.map(({ text, as }) => ({ text, as }));
  await executeInto(reply, { executor, execution: { ...execution, annotate: { members } }, ctx });
}

const idPattern = /^[a-z][a-z0-9-]*\.clfr\.[\w-]+$/;

/**
 * Replaces the names of classifiers, which serve a program in several environments, by their ids, which are counted. A
 * text that is neither is left to the ML service, which does not find it.
 */
async function nameByIds(annotate: Annotate, ml: Upstreams['ml'], ctx: CallContext): Promise<void> {
  const faults: Fault[] = [];
  for (const [i, one] of annotate.entries()) {
    if (idPattern.test(one.classifier)) continue;
    const named = { name: one.classifier, offset: 0, limit: 2 };
    const [found, other] = (await ml.listClassifiers(named, ctx)).classifiers;
    const detail = 'is the name of several classifiers; send an id';
    if (other !== undefined) faults.push({ pointer: `/options/annotate/${i}/classifier`, detail });
    else if (found !== undefined) one.classifier = found.classifierId;
  }
  if (faults.length > 0) throw validationError(faults);
}

function requireDistinct(annotate: Annotate): void {
  const seen = new Set<string>();
  const faults = annotate.flatMap(({ as }, i) => {
    const names = [as, `${as}Confidence`];
    const isTaken = names.some((name) => seen.has(name));
    for (const name of names) seen.add(name);
    return isTaken
      ? [{ pointer: `/options/annotate/${i}/as`, detail: 'names the same column as another annotation' }]
      : [];
  });
  if (faults.length > 0) throw validationError(faults);
}
