/** The versions of a query: what each change was, how it differs from the present query, and the way back. */

import { useState } from 'preact/hooks';
import { call, callList, part } from '../../../api/client.ts';
import type { QueryVersion } from '../../../api/types.ts';
import { keyNames } from '../../../state/key-names.ts';
import { needs } from '../../../state/permissions.ts';
import { goInstead } from '../../../state/route.ts';
import type { StoredQueryEditor } from '../../../state/stored-query-editor.ts';
import { hubId, loadTree } from '../../../state/workspace.ts';
import { FormDialog } from '../../../ui/dialog.tsx';
import { moment } from '../../../ui/format.ts';
import { useLoad } from '../../../ui/load.tsx';
import { notify } from '../../../ui/notice.tsx';
import { Loading } from '../../../ui/page.tsx';
import { ProblemBox } from '../../../ui/problem.tsx';
import { Comparison } from './comparison.tsx';
import { changeWords, partsThatDiffer } from './differences.ts';

interface Versions {
  /** The ETag of the query before the versions were read, so that restoring fails if they are outdated. */
  etag: string;
  list: QueryVersion[];
  keys: Map<string, string>;
}

async function readVersions(queryId: string, signal: AbortSignal): Promise<Versions> {
  const path = `v1/queries/${part(queryId)}`;
  const names = keyNames(signal);
  const etag = (await call(path, { signal })).headers.get('etag') ?? '*';
  const list = await callList<QueryVersion>(`${path}/versions`, { signal, pageSize: 100 });
  return { etag, list, keys: await names };
}

interface VersionsViewProps {
  editor: StoredQueryEditor;
  /** The number of the version to show, from the address. */
  chosen: string | undefined;
}

export function VersionsView({ editor, chosen }: VersionsViewProps) {
  const { queryId } = editor;
  // Saving changes the stored query.
  const loaded = useLoad((signal) => readVersions(queryId, signal), [queryId, editor.stored.value]);
  if (loaded.problem !== undefined) return <ProblemBox problem={loaded.problem} />;
  if (loaded.value === undefined) return <Loading what="the versions" />;
  const { list, keys } = loaded.value;
  const found = list.findIndex(({ number }) => String(number) === chosen);
  const at = found < 0 ? Math.min(1, list.length - 1) : found;
  return (
    <div class="versions">
      <ol class="version-list" aria-label="Versions, newest first">
        {list.map((version, i) => (
          <li key={version.number}>
            <VersionButton
              version={version}
              changed={changeWords(version, list[i + 1])}
              keyName={keyNameOf(version, keys)}
              isPresent={i === 0}
              isShown={i === at}
              onShow={() =>
                goInstead('hub', hubId.value ?? '', 'query', queryId, 'versions', String(version.number))
              }
            />
          </li>
        ))}
      </ol>
      <VersionDetails
        key={list[at]?.number}
        editor={editor}
        versions={loaded.value}
        at={at}
        onRefresh={loaded.refresh}
      />
    </div>
  );
}

/** A key has no name here if it was revoked, or if the key of this tab may not list keys. */
function keyNameOf({ keyId }: QueryVersion, keys: Map<string, string>): string {
  if (keyId === null) return 'unknown key';
  return keys.get(keyId) ?? keyId;
}

interface VersionButtonProps {
  version: QueryVersion;
  changed: string;
  keyName: string;
  isPresent: boolean;
  isShown: boolean;
  onShow(): void;
}

function VersionButton({ version, changed, keyName, isPresent, isShown, onShow }: VersionButtonProps) {
  return (
    <button type="button" class="version" aria-current={isShown} onClick={onShow}>
      <span class="version-number">{version.number}</span>
      <span class="version-words">
        <span class="version-changed">{changed}</span>
        {isPresent && <span class="tag">present</span>}
        <span class="hint cut-text" title={version.keyId ?? undefined}>
          {moment(version.at)} · {keyName}
        </span>
      </span>
    </button>
  );
}

interface VersionDetailsProps {
  editor: StoredQueryEditor;
  versions: Versions;
  at: number;
  onRefresh(): void;
}

function VersionDetails({ editor, versions, at, onRefresh }: VersionDetailsProps) {
  const { list, etag } = versions;
  const [toPrevious, setToPrevious] = useState(at === 0);
  const [restoring, setRestoring] = useState(false);
  const [present, version, previous] = [list[0], list[at], list[at + 1]];
  if (present === undefined || version === undefined) return null;
  const other = toPrevious ? previous : present;
  const parts = partsThatDiffer(present, version);
  return (
    <section class="version-details" aria-label={`Version ${version.number}`}>
      <div class="version-bar">
        <h2>Version {version.number}</h2>
        {at > 0 && previous !== undefined && (
          <div class="segments" role="group" aria-label="Compare with">
            <button type="button" aria-pressed={!toPrevious} onClick={() => setToPrevious(false)}>
              Against the present
            </button>
            <button type="button" aria-pressed={toPrevious} onClick={() => setToPrevious(true)}>
              What it changed
            </button>
          </div>
        )}
        <span class="spring" />
        {at > 0 && (
          <button
            type="button"
            onClick={() => setRestoring(true)}
            {...needs('queries:write', parts.length === 0)}
          >
            Restore …
          </button>
        )}
      </div>
      {other === undefined ? (
        <p class="empty">There is no earlier version to compare with.</p>
      ) : (
        <Comparison version={version} other={other} isPresent={other === present} />
      )}
      {restoring && (
        <RestoreDialog
          editor={editor}
          version={version.number}
          parts={parts}
          etag={etag}
          onClose={() => {
            setRestoring(false);
            onRefresh();
          }}
        />
      )}
    </section>
  );
}

interface RestoreDialogProps {
  editor: StoredQueryEditor;
  version: number;
  /** The parts of the query that change. */
  parts: string[];
  etag: string;
  onClose(): void;
}

function RestoreDialog({ editor, version, parts, etag, onClose }: RestoreDialogProps) {
  const restore = async () => {
    await editor.restore(version, etag);
    await loadTree();
    notify(`Restored version ${version}.`);
  };
  return (
    <FormDialog
      title={`Restore version ${version}?`}
      action={`Restore version ${version}`}
      onClose={onClose}
      onSubmit={restore}
    >
      <p>
        This becomes what it was in version {version}: {parts.join(', ')}. Callers of the query get it at
        once. The present version stays in the list.
      </p>
      {editor.dirty.value && <p class="bad-text">Your draft is lost.</p>}
    </FormDialog>
  );
}
