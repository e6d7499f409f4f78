/** Summaries of one or several documents. */

import type { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call';
import { toAbortSignal } from '@datahub/service-kit/call-signal';
import { countCharacters } from '../summarize/request.ts';
import type { Summarizer } from '../summarizer.ts';
import type { TextBudget } from '../text-budget.ts';

type SummaryCalls = Pick<Calls<typeof MlServiceService>, 'summarize'>;

export function createSummaryCalls(summarizer: Summarizer, budget: TextBudget): SummaryCalls {
  return {
    summarize: async ({ documents, sentences, maxWords, language }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const request = { documents: documents.map(({ passages }) => passages), sentences, maxWords, language };
      const characters = countCharacters(request.documents);
      const caller = { accountId, signal: toAbortSignal(ctx.signal) };
      return budget.hold(accountId, characters, () => summarizer.summarize(request, caller));
    },
  };
}
