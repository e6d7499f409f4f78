/** The RPC that summarizes documents. */

import { requirePrincipal, toAbortSignal } from '@datahub/service-kit/call/call';
import type { TextBudget } from '../scheduling/text-budget.ts';
import { countCharacters } from '../summaries/extractive/validate.ts';
import type { Summarizer } from '../summaries/summarizer.ts';
import type { MlCalls } from './classifier-access.ts';

export function createSummaryCalls(summarizer: Summarizer, budget: TextBudget) {
  return {
    summarize: async ({ documents, sentences, maxWords, language }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const request = { documents: documents.map(({ passages }) => passages), sentences, maxWords, language };
      const characters = countCharacters(request.documents);
      const caller = { accountId, signal: toAbortSignal(ctx.signal) };
      return budget.run(accountId, characters, () => summarizer.summarize(request, caller));
    },
  } satisfies Partial<MlCalls>;
}
