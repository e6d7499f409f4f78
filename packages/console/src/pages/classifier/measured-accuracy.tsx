/** How often a classifier was right when it predicted examples that it had not learned yet. */

import { callJson, part } from '../../api/client.ts';
import type { Answer } from '../../api/types.ts';
import { shareOf } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';

type Evaluation = Answer<'GET /v1/classifiers/{classifierId}/evaluation'>;

interface MeasuredAccuracyProps {
  classifierId: string;
  /** Another number reads it again. */
  revision: number;
}

export function MeasuredAccuracy({ classifierId, revision }: MeasuredAccuracyProps) {
  const path = `v1/classifiers/${part(classifierId)}/evaluation`;
  const loaded = useLoad((signal) => callJson<Evaluation>(path, { signal }), [classifierId, revision]);
  const { examples = 0, accuracy = null } = loaded.value?.recent ?? {};
  if (accuracy === null || examples === 0) return null;
  return (
    <span>
      Before it learned its last examples, it predicted {shareOf(accuracy, examples)} of them correctly.
    </span>
  );
}
