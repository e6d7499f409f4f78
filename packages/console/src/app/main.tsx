/** The console: a client of the public API, with the key that the person gives it. */

import { render } from 'preact';
import { joinTabs } from '../api/session.ts';
import { signInByLink } from '../state/sign-in-link.ts';
import { applyStyles } from '../ui/styles.ts';
import { App } from './app.tsx';

applyStyles(FIRST_STYLES);
await signInByLink();
await joinTabs();

render(<App />, document.getElementById('app') as HTMLElement);
