/** Which hub is shown. */

import { go, linkTo } from '../state/route.ts';
import { hub, hubId, hubs } from '../state/workspace.ts';
import { Icon } from '../ui/icons.tsx';
import { Menu } from '../ui/menu.tsx';

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
