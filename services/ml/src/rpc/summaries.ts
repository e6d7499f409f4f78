/** Summaries of one or several documents. */

import type { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call';
import { toAbortSignal } from '@datahub/service-kit/call-signal';
import type { Summarizer } from '../summarizer.ts';

type SummaryCalls = Pick<Calls<typeof MlServiceService>, 'summarize'>;

export function createSummaryCalls(summarizer: Summarizer): SummaryCalls {
  return {
    summarize: async ({ documents, sentences, maxWords, language }, ctx) => {
      requirePrincipal(ctx);
      const request = { documents: documents.map(({ passages }) => passages), sentences, maxWords, language };
      return summarizer.summarize(request, toAbortSignal(ctx.signal));
    },
  };
}
