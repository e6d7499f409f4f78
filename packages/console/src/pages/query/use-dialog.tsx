/** The dialog “Use it”: the same call from a shell, a program and a page. */

import { useState } from 'preact/hooks';
import { addressOf } from '../../api/client.ts';
import { may } from '../../state/permissions.ts';
import type { QueryWork } from '../../state/query-work.ts';
import { linkTo } from '../../state/route.ts';
import { hubId } from '../../state/workspace.ts';
import { CopyBlock } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Tabs } from '../../ui/page.tsx';
import { snippetsOf } from './snippets.ts';

export function UseDialog({ work, onClose }: { work: QueryWork; onClose(): void }) {
  const { context, faults } = work.sent.value;
  const columns = work.signature.value?.columns ?? [];
  const snippets = snippetsOf({
    url: addressOf('v1/queries/execute'),
    queryId: work.queryId,
    context,
    columns,
  });
  const [name, setName] = useState('curl');
  const shown = snippets.find((one) => one.name === name) ?? snippets[0];
  const missing = Object.keys(faults);
  return (
    <Dialog title={`Use “${work.stored.value?.meta.label ?? 'it'}”`} onClose={onClose} wide>
      <Tabs
        label="Language"
        tabs={snippets.map((one) => [one.name, one.name] as const)}
        value={name}
        onChange={setName}
      />
      {missing.length > 0 && (
        <p class="banner">These variables have no valid value yet: {missing.join(', ')}.</p>
      )}
      {work.dirty.value && (
        <p class="banner">Your draft is not published. These calls run what is published.</p>
      )}
      {shown !== undefined && <CopyBlock text={shown.text} label={`${shown.name} snippet`} />}
      <p class="hint">
        The calls use the values of the variables panel. Set <code>DATAHUB_KEY</code> to a key that may run
        this query
        {may('keys:admin') && (
          <>
            ; for a web page,{' '}
            <a href={linkTo('hub', hubId.value ?? '', 'keys', 'new', work.queryId)} onClick={onClose}>
              create a browser key
            </a>{' '}
            that may do nothing else
          </>
        )}
        .
      </p>
    </Dialog>
  );
}
