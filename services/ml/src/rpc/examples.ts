/** The RPCs of single examples. */

import type { TrainedExample } from '@datahub/proto/ml/v1/ml';
import { turnFor } from '@datahub/service-kit/yield-to-loop';
import type { ClassifierState } from '../classifiers/classifier-state.ts';
import { changeExample } from '../classifiers/example-changes.ts';
import { type LoggedExample, readExamples, type StoredExample, toPlace } from '../classifiers/examples.ts';
import type { Place } from '../classifiers/known-examples.ts';
import {
  type ClassifierCallDeps,
  createScheduler,
  type MlCalls,
  ofLog,
  openToTrain,
  versionOf,
} from './classifier-access.ts';
import { checkCorrection, checkLabel, checkPageLimit } from './validate.ts';

const pageDefault = 100;

export function createExampleCalls(deps: ClassifierCallDeps) {
  const schedule = createScheduler(deps);
  const changes = {
    store: deps.store,
    createClassId: () => deps.createId('clfc', deps.nowMs()),
    nowMs: deps.nowMs,
  };
  return {
    listExamples: async ({ classifierId, after, limit = pageDefault, label }, ctx) => {
      checkPageLimit(limit);
      const wanted = label === undefined ? undefined : checkLabel(label);
      const { accountId, log } = await openToTrain(deps, ctx, classifierId);
      await turnFor(limit + (await log.read(({ classes }) => classes.size)));
      const { state, applied, labels, total } = await log.read((state) => {
        const classes = [...state.classes].filter(
          ([, one]) => wanted === undefined || state.composedLabelOf(one) === wanted,
        );
        const total = classes.reduce((sum, [, { observations }]) => sum + observations, 0);
        return { state, applied: state.applied, labels: new Map(classes), total };
      });
      if (total === 0) return { examples: [], more: false, total, nextAfter: '' };
      const { examples, next } = await readExamples(
        deps.store,
        { accountId, classifierId },
        {
          after: after === '' ? undefined : toPlace(after, classifierId),
          limit,
          // A row that was learnt meanwhile has another place.
          isWhole: (listed) => listed === total && state.applied === applied,
          isListed: (one, place) => labels.has(one.classId) && isLatest(state, one, place),
        },
      );
      return {
        examples: examples.map((one) => toMessage(one, labels.get(one.classId)?.label)),
        more: next !== undefined,
        total,
        nextAfter: next ?? '',
      };
    },

    updateExample: async ({ classifierId, exampleId, label, context, ...expected }, ctx) => {
      const correction = checkCorrection({ label, context });
      const { accountId, doc, log } = await openToTrain(deps, ctx, classifierId);
      const request = {
        classifier: { accountId, classifierId },
        place: toPlace(exampleId, classifierId),
        correction,
        expected: ofLog(expected, doc),
      };
      const changed = await schedule(accountId, [context ?? ''], () => changeExample(log, changes, request));
      const { version, label: known } = await log.read((state) => ({
        version: versionOf(doc, state),
        label: state.classes.get(changed?.classId ?? '')?.label,
      }));
      return { example: changed && toMessage({ exampleId, ...changed }, known), version };
    },

    deleteExample: async ({ classifierId, exampleId, ...expected }, ctx) => {
      const { accountId, doc, log } = await openToTrain(deps, ctx, classifierId);
      await changeExample(log, changes, {
        classifier: { accountId, classifierId },
        place: toPlace(exampleId, classifierId),
        correction: undefined,
        expected: ofLog(expected, doc),
      });
      return { version: await log.read((state) => versionOf(doc, state)) };
    },
  } satisfies Partial<MlCalls>;
}

/** True unless a row of a query was learnt again after this place. */
const isLatest = (state: ClassifierState, { row, ...one }: LoggedExample, place: Place): boolean =>
  row === undefined || state.isLatest(row, one, place);

/** `label` is missing if the class was deleted meanwhile. */
function toMessage({ exampleId, classId, text, at }: StoredExample, label = ''): TrainedExample {
  return { exampleId, classId, label, context: text, trainedAt: new Date(at) };
}
