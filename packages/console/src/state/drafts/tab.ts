/** Which tabs of this browser are open, so that each keeps drafts of its own. */

import { randomId } from '../../api/random-id.ts';

const storedAs = 'datahub.tab';
/** Another tab answers within milliseconds. */
const answerTimeoutMs = 150;

type Message = { ask: true } | { tab: string };

// Only pages of the same origin hear each other; a hub below another path is another hub.
const channel = new BroadcastChannel(`datahub drafts ${new URL('.', document.baseURI).pathname}`);
const answers = new Set<(tab: string) => void>();
let own: string | undefined;

channel.onmessage = ({ data }: MessageEvent<Message>) => {
  if ('tab' in data) for (const answer of answers) answer(data.tab);
  else if (own !== undefined) channel.postMessage({ tab: own });
};

/** The ids of the other tabs that answer. A tab that the browser has frozen does not. */
export async function otherTabs(): Promise<Set<string>> {
  const found = new Set<string>();
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
    const stored = sessionStorage.getItem(storedAs);
    own = stored === null || (await otherTabs()).has(stored) ? randomId() : stored;
    return own;
  };
  return () => {
    found ??= find();
    return found;
  };
})();

/** Keeps the id over a reload and a crash. Only a tab with drafts needs that. */
export const rememberTab = (tab: string): void => sessionStorage.setItem(storedAs, tab);
