/** Which tabs of this browser are open, so that each keeps drafts of its own. */

import { randomId } from '../../api/random-id.ts';
import { ofTab, openChannel } from '../../api/storage.ts';

const storedAs = 'datahub.tab';
/** Another tab answers within milliseconds. */
const answerTimeoutMs = 150;

type Message = { ask: true } | { tab: string };

const channel = openChannel('datahub drafts');
/** False if nobody can know whether a tab that began a draft is still open. */
export const hearsTabs = channel !== undefined;
const answers = new Set<(tab: string) => void>();
let own: string | undefined;

channel?.addEventListener('message', ({ data }: MessageEvent<Message>) => {
  if ('tab' in data) for (const answer of answers) answer(data.tab);
  else if (own !== undefined) channel.postMessage({ tab: own });
});

/** The ids of the other tabs that answer. A tab that the browser has frozen does not. */
export async function otherTabs(): Promise<Set<string>> {
  const found = new Set<string>();
  if (channel === undefined) return found;
  const answer = (tab: string) => void found.add(tab);
  answers.add(answer);
  channel.postMessage({ ask: true });
  await new Promise((resolve) => setTimeout(resolve, answerTimeoutMs));
  answers.delete(answer);
  return found;
}

/** The id of this tab. A tab that was duplicated gets another one. */
export const ownTab: () => Promise<string> = (() => {
  let found: Promise<string> | undefined;
  const find = async () => {
    const stored = ofTab.get(storedAs);
    own = stored === null || (await otherTabs()).has(stored) ? randomId() : stored;
    return own;
  };
  return () => {
    found ??= find();
    return found;
  };
})();

/** Keeps the id over a reload and a crash. Only a tab with drafts needs that. */
export const rememberTab = (tab: string): void => void ofTab.set(storedAs, tab);
