/** Lists the keys of the console. */

import { Dialog } from '../ui/dialog.tsx';
import { modifier } from '../ui/keyboard.ts';

const groups: [string, [string, string][]][] = [
  [
    'Everywhere',
    [
      [`${modifier}K`, 'search queries, sources, hubs and tables'],
      ['?', 'this list'],
    ],
  ],
  [
    'Query',
    [
      [`${modifier}⏎`, 'run'],
      ['⏎ in a variable', 'run'],
      [`${modifier}S`, 'publish, or create a new query'],
      [
        `${modifier}F, ${modifier}D, Alt+drag`,
        'find and replace, select the next occurrence too, select a rectangle',
      ],
    ],
  ],
  [
    'Rows',
    [
      ['arrows, Home, End, Page Up, Page Down', 'move; with Shift, select'],
      [`${modifier}C`, 'copy the exact values'],
      ['⏎, S, M', 'show the whole cell, sort by its column, open the menu of its column'],
    ],
  ],
  [
    'Tree',
    [
      ['arrows, ⏎', 'move, open'],
      ['F2, M, Delete', 'rename, move, delete'],
    ],
  ],
];

export function KeysHelp({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      {groups.map(([name, keys]) => (
        <section key={name}>
          <h3>{name}</h3>
          <dl class="keys-help">
            {keys.map(([key, words]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{words}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
