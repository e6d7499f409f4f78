/** Stored documents and state → messages. */

import type { Classifier } from '@datahub/proto/ml/v1/ml';
import type { ClassState } from '../classifiers/classifier-state.ts';
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
