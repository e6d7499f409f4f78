/** Ctrl+K: finds hubs, folders, queries, sources, classifiers and tables by name. */

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { linkTo } from '../state/route.ts';
import { searchLoaded, type TableHit } from '../state/schema/schema-index.ts';
import { classifiers, hubId, hubs, tree, walk } from '../state/workspace.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon, type IconName } from '../ui/icons.tsx';

interface Hit {
  label: string;
  where: string;
  icon: IconName;
  href: string;
}

const shownMax = 50;
const pages: [string, IconName, string][] = [
  ['Summaries', 'summary', 'summary'],
  ['Statistics', 'statistics', 'statistics'],
  ['Keys', 'key', 'keys'],
  ['Audit', 'audit', 'audit'],
  ['New query', 'plus', 'new-query'],
  ['New source', 'plus', 'new-source'],
  ['New classifier', 'plus', 'new-classifier'],
];

function everything(): Hit[] {
  const id = hubId.value ?? '';
  const nodes = [...walk(tree.value)].filter(
    ({ node }) => node.nodeType === 'query' || node.nodeType === 'source',
  );
  return [
    ...nodes.map(({ node, path }) => ({
      label: node.label,
      where: path.map(({ label }) => label).join(' / '),
      icon: (node.nodeType === 'query' ? 'query' : 'source') as IconName,
      href: linkTo('hub', id, node.nodeType, node.nodeId),
    })),
    ...classifiers.value.map(({ classifierId, name }) => ({
      label: name,
      where: 'Classifiers',
      icon: 'classifier' as const,
      href: linkTo('hub', id, 'classifier', classifierId),
    })),
    ...(id === ''
      ? []
      : pages.map(([label, icon, to]) => ({ label, where: '', icon, href: linkTo('hub', id, to) }))),
    ...(hubs.value ?? []).map((one) => ({
      label: one.label,
      where: 'Hubs',
      icon: 'hub' as const,
      href: linkTo('hub', one.hubId),
    })),
  ];
}

const toHit = ({ sourceId, schema, name }: TableHit): Hit => ({
  label: name,
  where: `Table in ${schema}`,
  icon: 'table',
  href: linkTo('hub', hubId.value ?? '', 'source', sourceId, 'schema', name),
});

/** Every word must be in the label or its place; labels that begin with the text come first. */
export function matching(hits: Hit[], text: string): Hit[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = text.trim().toLowerCase();
  const score = ({ label }: Hit) => {
    const at = label.toLowerCase().indexOf(wanted);
    return at < 0 ? 2 : at === 0 ? 0 : 1;
  };
  return hits
    .filter(({ label, where }) => words.every((word) => `${label} ${where}`.toLowerCase().includes(word)))
    .sort((a, b) => score(a) - score(b))
    .slice(0, shownMax);
}

function useTables(text: string): Hit[] {
  const [tables, setTables] = useState<Hit[]>([]);
  useEffect(() => {
    let current = true;
    void searchLoaded(text).then((found) => current && setTables(found.map(toHit)));
    return () => {
      current = false;
    };
  }, [text]);
  return tables;
}

export function Search({ onClose }: { onClose(): void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const tables = useTables(text);
  const hits = [...matching(everything(), text), ...tables].slice(0, shownMax);
  const chosen = Math.min(at, hits.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  });
  const open = (hit: Hit | undefined) => {
    if (hit === undefined) return;
    onClose();
    location.hash = hit.href;
  };
  const keydown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(chosen + 1, hits.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(0, chosen - 1));
    else if (event.key === 'Enter') open(hits[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Search" onClose={onClose}>
      <input
        class="search-input"
        autofocus
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={hits.length > 0 ? `${id}-${chosen}` : undefined}
        aria-label="Search"
        placeholder="Queries, sources, tables, hubs …"
        value={text}
        onKeyDown={keydown}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setAt(0);
        }}
      />
      <div class="hits" role="listbox" id={id} aria-label="Results" ref={list}>
        {hits.map((hit, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled in the input.
          <div
            key={hit.href + hit.label}
            id={`${id}-${i}`}
            class="hit"
            role="option"
            tabIndex={-1}
            aria-selected={i === chosen}
            onClick={() => open(hit)}
          >
            <Icon name={hit.icon} />
            <span class="row-label">{hit.label}</span>
            <span class="row-note">{hit.where}</span>
          </div>
        ))}
      </div>
      {hits.length === 0 && (
        <p class="hint">Nothing has that name. Tables are found once their source was opened.</p>
      )}
    </Dialog>
  );
}
