/** The schema and the JSON of an evaluation, which says how well a classifier predicted its examples. */

import type { Figures, GetEvaluationResponse } from '@datahub/proto/ml/v1/ml';
import { count, type FromSchema, list, record, text } from '../../http/json-schema.ts';

export const share = { type: 'number', minimum: 0, maximum: 1 } as const;
const shareOrNull = { ...share, type: ['number', 'null'] } as const;
const figures = {
  examples: count,
  accuracy: shareOrNull,
  calibrationError: shareOrNull,
  classes: list(
    record({ classId: text, label: text, support: count, precision: shareOrNull, recall: shareOrNull }),
  ),
  confusion: record({ classes: list(record({ classId: text, label: text })), counts: list(list(count)) }),
} as const;
const point = record({ examples: count, window: count, accuracy: share, meanConfidence: share });
export const evaluation = record({ ...figures, recent: record(figures), curve: list(point) });

export function toEvaluationJson({
  recent,
  curve,
  ...all
}: GetEvaluationResponse): FromSchema<typeof evaluation> {
  return { ...toFiguresJson(all), recent: toFiguresJson(recent), curve };
}

/** During a rolling update, an old ml service returns only the first three figures, for all examples. */
function toFiguresJson(figures: Figures | undefined) {
  const { examples, accuracy, calibrationError, classes, confusion } = figures ?? {
    examples: 0,
    classes: [],
  };
  return {
    examples,
    accuracy: accuracy ?? null,
    calibrationError: calibrationError ?? null,
    classes: classes.map((one) => ({
      ...one,
      precision: one.precision ?? null,
      recall: one.recall ?? null,
    })),
    confusion: {
      classes: confusion?.classes ?? [],
      counts: (confusion?.rows ?? []).map(({ counts }) => counts),
    },
  };
}
