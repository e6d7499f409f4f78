/** Converts stored documents and state to messages. */

import type { Classifier, Figures as FiguresMessage, GetEvaluationResponse } from '@datahub/proto/ml/v1/ml';
import { turnFor } from '@datahub/service-kit/yield-to-loop';
import type { ClassifierState, ClassState } from '../classifiers/classifier-state.ts';
import type { Figures } from '../classifiers/evaluation.ts';
import type { ClassifierDoc } from '../documents.ts';

export function toClassifier(
  doc: ClassifierDoc,
  state: { updatedAt: number | null; classes: ClassState[]; version?: number },
): Classifier {
  return {
    classifierId: doc.id,
    name: doc.name,
    createdAt: new Date(doc.createdAt),
    updatedAt: state.updatedAt === null ? undefined : new Date(state.updatedAt),
    classes: state.classes,
    version: state.version ?? 0,
  };
}

/** The figures of many classes are computed and converted in turns of their own. The state must not change meanwhile. */
export async function toEvaluation({
  evaluation,
  classes,
}: Pick<ClassifierState, 'evaluation' | 'classes'>): Promise<GetEvaluationResponse> {
  await turnFor(classes.size);
  const { figures } = evaluation;
  await turnFor(classes.size);
  const all = toFigures(figures, classes);
  await turnFor(classes.size);
  return { ...all, recent: toFigures(evaluation.recentFigures, classes), curve: evaluation.curve };
}

/**
 * Returns the figures of existing classes only, because an example may have been predicted as a class that is now
 * deleted.
 */
function toFigures(
  { confusion, classes, ...figures }: Figures,
  known: ReadonlyMap<string, ClassState>,
): FiguresMessage {
  const labelOf = (classId: string) => known.get(classId)?.label ?? '';
  return {
    ...figures,
    classes: classes
      .filter(({ classId }) => known.has(classId))
      .map((one) => ({ ...one, label: labelOf(one.classId) })),
    confusion: {
      classes: confusion.classIds.map((classId) => ({ classId, label: labelOf(classId) })),
      rows: confusion.counts.map((counts) => ({ counts })),
    },
  };
}
