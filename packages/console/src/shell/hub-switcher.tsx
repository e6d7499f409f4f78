/** Which hub is shown. */

import { Icon } from '../parts/icons.tsx';
import { Menu } from '../parts/menu.tsx';
import { go, linkTo } from './route.ts';
import { hub, hubId, hubs } from './workspace.ts';

export function HubSwitcher() {
  const active = (hubs.value ?? []).filter(({ archived }) => !archived);
  const items = active.map(({ hubId: id, label }) => ({ label, run: () => go('hub', id) }));
  return (
    <div class="hub-switcher">
      <a
        class="hub-name"
        href={hubId.value === undefined ? linkTo('hubs') : linkTo('hub', hubId.value)}
        title="Overview of this hub"
      >
        <Icon name="hub" />
        <span class="row-label">
          {hub.value?.label ?? (hubId.value === undefined ? 'All hubs' : hubId.value)}
        </span>
      </a>
      <Menu
        label="Switch hub"
        icon="down"
        items={[...items.slice(0, 30), { label: 'All hubs …', run: () => go('hubs') }]}
      />
    </div>
  );
}
