/** The drafts that this browser keeps of the hub's queries. */

import { draftChanges, listDrafts } from '../../state/drafts/draft-store.ts';
import { currentKey } from '../../state/permissions.ts';
import { linkTo } from '../../state/route.ts';
import { moment } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';

export function Drafts({ hubId }: { hubId: string }) {
  const keyId = currentKey.value?.keyId ?? '';
  const { value: drafts = [] } = useLoad(
    () => listDrafts({ keyId, hubId }),
    [keyId, hubId, draftChanges.value],
  );
  if (drafts.length === 0) return null;
  return (
    <section class="drafts" aria-label="Drafts">
      <div class="list-head">
        <h2>Drafts</h2>
        <span class="note">not published, only in this browser</span>
      </div>
      <ul class="items">
        {drafts.map(({ page, tab, label, at, isElsewhere }) => (
          <li key={`${page} ${tab}`} class="item">
            {isElsewhere ? label : <a href={linkTo('hub', hubId, ...page.split('/'))}>{label}</a>}
            <span class="note">
              edited {moment(new Date(at).toISOString())}
              {isElsewhere && ', open in another tab'}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
